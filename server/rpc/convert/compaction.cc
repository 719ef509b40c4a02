#include "server/rpc/convert/compaction.h"

#include "platform/status_macros.h"
#include "server/rpc/convert/fields.h"

namespace holdfast {

absl::StatusOr<Compaction> ReadCompactionFacts(pb::Compaction&& from) {
  Compaction compaction{.size_before = static_cast<uint64_t>(from.size_before()),
                        .size_after = static_cast<uint64_t>(from.size_after())};
  ASSIGN_OR_RETURN(compaction.trigger, ReadCompactionTrigger("compaction.trigger", from.trigger()));
  for (pb::ItemRef& item : *from.mutable_survived()) {
    compaction.survived.push_back({.collection = std::move(*item.mutable_collection()),
                                   .key = std::move(*item.mutable_key())});
  }
  return compaction;
}

}  // namespace holdfast

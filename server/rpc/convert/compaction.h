// Compactions from the wire.
#ifndef HOLDFAST_SERVER_RPC_CONVERT_COMPACTION_H_
#define HOLDFAST_SERVER_RPC_CONVERT_COMPACTION_H_

#include "holdfast/v1/compaction.pb.h"
#include "session/commands.h"

#include "absl/status/statusor.h"

#include <optional>
#include <utility>

namespace holdfast {

namespace pb = ::holdfast::v1;

// INVALID_FIELD for a trigger that is missing or that this server does not know, and for a size
// below 0.
absl::StatusOr<Compaction> ReadCompactionFacts(pb::Compaction&& from);

// The compaction that a request says its snapshot is the result of, with the same errors.
template <typename Request>
absl::StatusOr<std::optional<Compaction>> ReadCompaction(Request& request) {
  if (!request.has_compaction()) return std::optional<Compaction>();
  absl::StatusOr<Compaction> facts = ReadCompactionFacts(std::move(*request.mutable_compaction()));
  if (!facts.ok()) return facts.status();
  return std::optional<Compaction>(*std::move(facts));
}

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_CONVERT_COMPACTION_H_

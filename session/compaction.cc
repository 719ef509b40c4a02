#include "session/compaction.h"

#include "platform/status_macros.h"
#include "session/limits.h"
#include "session/names.h"
#include "session/refusal.h"
#include "session/validate.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace holdfast {
namespace {

// The name of an item as text; bytes of its key that are no ASCII text are escaped.
std::string ItemNameText(const ItemName& name) {
  return absl::StrCat(name.collection, "/", absl::CHexEscape(name.key));
}

// The length of the history that `change` leaves.
uint64_t MessagesLeft(const Head& head, const Change& change) {
  const uint64_t kept = change.replaces_history ? 0 : head.messages.value();
  return kept + change.messages.size();
}

}  // namespace

absl::Status ValidateCompaction(const Compaction& compaction) {
  const size_t survived = compaction.survived.size();
  if (survived > kSurvivedItems) return TooLarge("compaction.survived", kSurvivedItems, survived);
  for (size_t i = 0; i < survived; ++i) {
    RETURN_IF_ERROR(
        ValidateItemName(absl::StrCat("compaction.survived[", i, "]"), compaction.survived[i]));
  }
  return absl::OkStatus();
}

void AddCompaction(const Head& head, const Compaction& compaction, Change& change) {
  change.compacts = true;
  change.pins_previous = CheckpointKind::kPreCompaction;
  const std::string before = std::to_string(compaction.size_before);
  const std::string after = std::to_string(compaction.size_after);
  change.events.push_back({.name = kSessionCompacted,
                           .payload = {{"before", before}, {"after", after}},
                           .given = {Given::kCompactions}});
  AuditDraft& audit = *change.audit;
  audit.audit_class = kCompactionClass;
  audit.data["trigger"] = Name(compaction.trigger);
  audit.data["size_before"] = before;
  audit.data["size_after"] = after;
  audit.data["messages_before"] = std::to_string(head.messages.value());
  audit.data["messages_after"] = std::to_string(MessagesLeft(head, change));
  for (size_t i = 0; i < compaction.survived.size(); ++i) {
    audit.data[absl::StrCat("survived.", i + 1)] = ItemNameText(compaction.survived[i]);
  }
}

}  // namespace holdfast

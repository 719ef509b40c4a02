#include "platform/status_macros.h"
#include "session/audit_facts.h"
#include "session/change_start.h"
#include "session/decide.h"
#include "session/guard.h"
#include "session/history_base.h"
#include "session/kept.h"
#include "session/limits.h"
#include "session/names.h"
#include "session/refusal.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <string>
#include <utility>

namespace holdfast {
namespace {

// Whether the command only takes messages from the end of the history as it is.
bool OnlyCuts(const RestoreCommand& command) {
  const RestorePoint& point = command.point;
  const bool cuts = point.messages ? *point.messages == MessageSeq() : point.drop_last > 0;
  return cuts && !point.revision && point.checkpoint.empty() && command.messages.empty() &&
         command.slots.empty();
}

// The last ones of `removed` that a stored reply has room for.
std::vector<Message> StoredRemoved(const std::vector<Message>& removed) {
  size_t bytes = 0;
  auto first = removed.rbegin();
  for (; first != removed.rend(); ++first) {
    bytes += DataSize(*first);
    if (bytes > kReturnedBytesStored) break;
  }
  return {first.base(), removed.end()};
}

std::string TextOf(Revision revision) { return std::to_string(revision.value()); }

// The length of the history that the restore leaves.
uint64_t MessagesAfter(const RestoreCommand& command, const RestoredState& restored) {
  return restored.cut.messages.value() + restored.copied.size() + command.messages.size();
}

std::map<std::string, std::string> RestoreFacts(const RestoreCommand& command,
                                                const RestoredState& restored) {
  return {{"to", TextOf(restored.to)},
          {"messages", std::to_string(MessagesAfter(command, restored))},
          {"removed", std::to_string(restored.removed_messages)},
          {"slots", std::to_string(restored.slots.size() + restored.deleted_slots.size())}};
}

EventDraft Restored(const Head& head, Revision to, uint64_t messages) {
  return {.name = kSessionRestored,
          .payload = {{"to", TextOf(to)},
                      {"generation", std::to_string(head.generation.Next().value())},
                      {"messages", std::to_string(messages)}},
          .given = {}};
}

template <typename Item>
void Append(std::vector<Item> items, std::vector<Item>& to) {
  to.insert(to.end(), std::make_move_iterator(items.begin()), std::make_move_iterator(items.end()));
}

}  // namespace

Guard GuardOf(const RestoreCommand& command) {
  Guard guard;
  guard.trigger = Trigger::kRestore;
  guard.lease = LeaseRule::kMustHold;
  guard.token = command.token;
  guard.uid = command.uid;
  guard.expected_revision = command.expected_revision;
  return guard;
}

absl::StatusOr<Decision> Decide(const Head& head, const Caller& caller,
                                const RestoreCommand& command, RestoredState restored) {
  if (restored.is_current && command.messages.empty() && command.slots.empty()) return Decision();
  Change change = StartChangeOf(caller, command, GuardOf(command));
  change.premise = PremiseOf(head);
  change.premise->at = PositionOf(head);
  change.moves_revision = true;
  change.renews_lease = true;
  change.to = Lifecycle::kPersisted;
  change.snapshot = true;
  change.audit = AuditDraft{kLifecycleClass, "restore", RestoreFacts(command, restored)};
  if (head.lifecycle == Lifecycle::kResumed) {
    change.events.push_back({.name = kSessionResumed, .payload = {}, .given = {}});
  }
  change.events.push_back(Restored(head, restored.to, MessagesAfter(command, restored)));
  change.events.push_back({.name = kSessionPersisted, .payload = {}, .given = {}});
  change.restores = restored.cut;
  change.messages = std::move(restored.copied);
  Append(command.messages, change.messages);
  change.slots = std::move(restored.slots);
  Append(command.slots, change.slots);
  change.deleted_slots = std::move(restored.deleted_slots);
  change.sm = restored.sm;
  change.removed_messages = restored.removed_messages;
  change.removed = StoredRemoved(restored.removed);
  if (command.pin_previous) change.pins_previous = CheckpointKind::kBeforeRestore;
  return Decision{.change = std::move(change)};
}

absl::Status CheckRestore(const Head& head, const RestoreCommand& command) {
  if (auto refusal = CheckGuard(head, GuardOf(command), {})) return refusal->ToStatus();
  const bool says = command.base || command.expected_revision;
  if (head.kind == SessionKind::kLeased && !command.expected_revision) {
    return InvalidField("expected_revision", "must be set in a session of kind LEASED");
  }
  RETURN_IF_ERROR(CheckBuildsOn(head, says, OnlyCuts(command)));
  return command.base ? CheckBase(head, *command.base) : absl::OkStatus();
}

}  // namespace holdfast

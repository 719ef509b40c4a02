#include "session/validate.h"

#include "platform/status_macros.h"
#include "session/audit_facts.h"
#include "session/compaction.h"
#include "session/grant_correlation.h"
#include "session/limits.h"
#include "session/names.h"
#include "session/refusal.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>

namespace holdfast {
namespace {

std::string At(std::string_view list, size_t index, std::string_view field) {
  return std::string(list) + "[" + std::to_string(index) + "]." + std::string(field);
}

bool IsPrintable(std::string_view text) {
  return std::ranges::none_of(
      text, [](char c) { return absl::ascii_iscntrl(static_cast<unsigned char>(c)); });
}

absl::Status CheckName(std::string_view field, std::string_view text, size_t most) {
  if (absl::StripAsciiWhitespace(std::string(text)).empty()) {
    return InvalidField(field, "must not be blank");
  }
  return ValidateText(field, text, most);
}

absl::Status CheckCount(std::string_view field, size_t count, size_t most) {
  if (count > most) return TooLarge(field, most, count);
  return absl::OkStatus();
}

// MAJOR.MINOR.PATCH without leading zeros.
bool IsVersion(std::string_view text) {
  for (int part = 0; part < 3; ++part) {
    const size_t end = part < 2 ? text.find('.') : text.size();
    if (end == std::string_view::npos || end == 0) return false;
    const std::string_view number = text.substr(0, end);
    if (number.size() > 1 && number.front() == '0') return false;
    if (!std::ranges::all_of(number, [](char c) { return c >= '0' && c <= '9'; })) return false;
    text.remove_prefix(part < 2 ? end + 1 : end);
  }
  return true;
}

absl::Status CheckVersion(const std::string& field, const Slot& slot) {
  if (slot.version.empty()) {
    return Refusal(Reason::kSlotVersionMissing, "a slot needs a version")
        .With("field", field)
        .With("owner", slot.owner);
  }
  if (slot.version.size() > kSlotVersionBytes || !IsVersion(slot.version)) {
    return InvalidField(field, "must be MAJOR.MINOR.PATCH without leading zeros");
  }
  return absl::OkStatus();
}

absl::Status CheckAccess(const std::string& owner, const std::string& acting) {
  const bool own = acting.empty() || acting == owner;
  if (own && owner != kStoreSlotOwner) return absl::OkStatus();
  return Refusal(Reason::kSlotAccessDenied, "this slot belongs to another owner")
      .With("owner", owner)
      .With("acting_owner", acting);
}

absl::Status CheckSlot(const std::string& path, const Slot& slot, const std::string& acting) {
  RETURN_IF_ERROR(CheckName(path + ".owner", slot.owner, kSlotOwnerBytes));
  RETURN_IF_ERROR(CheckVersion(path + ".version", slot));
  return CheckAccess(slot.owner, acting);
}

// The slots of one change: each owner at most once, written or deleted.
absl::Status CheckSlots(const SnapshotContent& content, const std::string& acting) {
  RETURN_IF_ERROR(CheckCount("slots", content.slots.size(), kSlotsPerChange));
  RETURN_IF_ERROR(CheckCount("deleted_slots", content.deleted_slots.size(), kSlotsPerChange));
  std::set<std::string_view> seen;
  for (size_t i = 0; i < content.slots.size(); ++i) {
    const std::string path = "slots[" + std::to_string(i) + "]";
    RETURN_IF_ERROR(CheckSlot(path, content.slots[i], acting));
    if (!seen.insert(content.slots[i].owner).second) {
      return InvalidField(path + ".owner", "is given twice");
    }
  }
  for (size_t i = 0; i < content.deleted_slots.size(); ++i) {
    const std::string& owner = content.deleted_slots[i];
    const std::string path = "deleted_slots[" + std::to_string(i) + "]";
    RETURN_IF_ERROR(CheckName(path, owner, kSlotOwnerBytes));
    RETURN_IF_ERROR(CheckAccess(owner, acting));
    if (!seen.insert(owner).second) return InvalidField(path, "is given twice");
  }
  return absl::OkStatus();
}

absl::Status CheckMessages(const std::vector<Message>& messages) {
  RETURN_IF_ERROR(CheckCount("messages", messages.size(), kMessagesPerChange));
  for (size_t i = 0; i < messages.size(); ++i) {
    RETURN_IF_ERROR(ValidateText(At("messages", i, "role"), messages[i].role, kRoleBytes));
    RETURN_IF_ERROR(ValidateText(At("messages", i, "content_type"), messages[i].content_type,
                                 kContentTypeBytes));
  }
  return absl::OkStatus();
}

absl::Status CheckBytes(const SnapshotContent& content) {
  size_t bytes = 0;
  for (const Message& message : content.messages) bytes += message.data.size();
  for (const Slot& slot : content.slots) bytes += slot.data.size();
  if (bytes > kChangeBytes) return TooLarge("request", kChangeBytes, bytes);
  return absl::OkStatus();
}

absl::Status CheckContent(const SnapshotContent& content, const std::string& acting) {
  RETURN_IF_ERROR(CheckMessages(content.messages));
  RETURN_IF_ERROR(CheckSlots(content, acting));
  return CheckBytes(content);
}

absl::Status CheckStateMachine(const std::optional<StateMachineRef>& sm) {
  if (!sm) return absl::OkStatus();
  RETURN_IF_ERROR(CheckName("state_machine.extension_id", sm->ext_id, kSlotOwnerBytes));
  return CheckName("state_machine.slot_ref", sm->slot_ref, kSlotOwnerBytes);
}

// An entry of the map `field`.
absl::Status CheckAttribute(const std::string& field, const std::string& key, size_t value_bytes) {
  RETURN_IF_ERROR(CheckName(field, key, kAttributeKeyBytes));
  if (value_bytes > kAttributeValueBytes) {
    return TooLarge(field + "." + key, kAttributeValueBytes, value_bytes);
  }
  return absl::OkStatus();
}

// What others read of a session must not carry the id of the request that grants its lease.
absl::Status CheckHidden(const std::string& field, std::string_view text,
                         const RequestId& request) {
  if (!Mentions(text, request)) return absl::OkStatus();
  return InvalidField(field,
                      "must not contain the request id, by which others could get the token");
}

absl::Status CheckHolderAndTtl(const std::string& holder, absl::Duration ttl) {
  RETURN_IF_ERROR(ValidateText("holder", holder, kHolderBytes));
  if (ttl < kLeaseTtlLeast || ttl > kLeaseTtlMost) {
    return InvalidField("lease_ttl", "must be between 5s and 1h");
  }
  return absl::OkStatus();
}

// The lease that a new session of this kind begins with.
absl::Status CheckKind(const CreateCommand& command) {
  if (command.kind == SessionKind::kLeased) {
    return CheckHolderAndTtl(command.holder, command.lease_ttl);
  }
  if (!command.holder.empty()) {
    return InvalidField("holder", "must be left out: a session of kind OPEN has no lease");
  }
  if (command.lease_ttl != absl::ZeroDuration()) {
    return InvalidField("lease_ttl", "must be left out: a session of kind OPEN has no lease");
  }
  return absl::OkStatus();
}

absl::Status CheckEntry(const std::string& path, const JournalEntry& entry,
                        const std::string& acting) {
  RETURN_IF_ERROR(ValidateText(path + ".ref", entry.ref, kEntryRefBytes));
  const bool update = entry.kind == JournalKind::kSlotUpdate;
  if (update != entry.slot.has_value()) {
    return InvalidField(path + ".slot", "belongs to a slot update, and only to that");
  }
  if (update && !entry.data.empty()) {
    return InvalidField(path + ".data", "a slot update's bytes are its slot's");
  }
  const bool tool =
      entry.kind == JournalKind::kToolIntent || entry.kind == JournalKind::kToolOutcome;
  if (tool && entry.ref.empty()) return InvalidField(path + ".ref", "must name the tool use");
  return update ? CheckSlot(path + ".slot", *entry.slot, acting) : absl::OkStatus();
}

// What only acts of the store itself are recorded as.
constexpr std::array<std::string_view, 4> kOwnAuditClasses = {kLifecycleClass, kTurnClass,
                                                              kItemsClass, kCompactionClass};

bool IsOwnAuditClass(const std::string& name) {
  return std::ranges::any_of(kOwnAuditClasses, [&](std::string_view own) {
    return absl::EqualsIgnoreCase(name, std::string(own));
  });
}

// A name of an audit record: letters of one alphabet, so that no two of them look alike.
absl::Status CheckAuditName(std::string_view field, std::string_view name, size_t most) {
  if (name.size() > most) return TooLarge(field, most, name.size());
  const bool plain = !name.empty() && std::ranges::all_of(name, [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '/' ||
           c == '-';
  });
  return plain ? absl::OkStatus()
               : InvalidField(field, "must be one or more of A-Z a-z 0-9 . _ / -");
}

// The texts of a new session that every reader sees.
absl::Status CheckHidden(const CreateCommand& command) {
  const RequestId& request = command.request;
  if (command.session) {
    RETURN_IF_ERROR(CheckHidden("session_id", command.session->value(), request));
  }
  RETURN_IF_ERROR(CheckHidden("manifest.project_root", command.project_root, request));
  RETURN_IF_ERROR(CheckHidden("holder", command.holder, request));
  RETURN_IF_ERROR(CheckHidden("group", command.group, request));
  for (const auto& [key, value] : command.attributes) {
    RETURN_IF_ERROR(CheckHidden("attributes", key, request));
    RETURN_IF_ERROR(CheckHidden("attributes." + key, value, request));
  }
  return absl::OkStatus();
}

// What a commit and a write without a turn have in common.
template <typename Command>
absl::Status CheckSnapshot(const Command& command) {
  if (command.checkpoint) {
    RETURN_IF_ERROR(ValidateMark(*command.checkpoint));
  }
  if (command.compaction) {
    RETURN_IF_ERROR(ValidateCompaction(*command.compaction));
  }
  if (command.sm) {
    RETURN_IF_ERROR(CheckStateMachine(*command.sm));
  }
  return CheckContent({.messages = command.messages,
                       .slots = command.slots,
                       .deleted_slots = command.deleted_slots},
                      command.acting_owner);
}

}  // namespace

absl::Status ValidateText(std::string_view field, std::string_view text, size_t most) {
  if (text.size() > most) return TooLarge(field, most, text.size());
  if (!IsPrintable(text)) return InvalidField(field, "must not have control characters");
  return absl::OkStatus();
}

absl::Status Validate(const CreateCommand& command) {
  if (command.project_root.empty() || command.project_root.front() != '/') {
    return InvalidField("manifest.project_root", "must be an absolute path");
  }
  RETURN_IF_ERROR(ValidateText("manifest.project_root", command.project_root, kProjectRootBytes));
  RETURN_IF_ERROR(CheckStateMachine(command.sm));
  RETURN_IF_ERROR(CheckKind(command));
  RETURN_IF_ERROR(ValidateGroup("group", command.group));
  RETURN_IF_ERROR(CheckCount("attributes", command.attributes.size(), kAttributesPerSession));
  for (const auto& [key, value] : command.attributes) {
    RETURN_IF_ERROR(CheckAttribute("attributes", key, value.size()));
  }
  RETURN_IF_ERROR(CheckHidden(command));
  return CheckContent({.messages = command.messages, .slots = command.slots, .deleted_slots = {}},
                      "");
}

absl::Status Validate(const UpdateCommand& command) {
  if (command.attributes.empty()) return InvalidField("update_mask", "must name what to change");
  RETURN_IF_ERROR(CheckCount("attributes", command.attributes.size(), kAttributesPerSession));
  for (const auto& [key, value] : command.attributes) {
    RETURN_IF_ERROR(CheckAttribute("attributes", key, value.value_or("").size()));
  }
  RETURN_IF_ERROR(
      CheckCount("expected_attributes", command.expected.size(), kAttributesPerSession));
  for (const auto& [key, value] : command.expected) {
    RETURN_IF_ERROR(CheckAttribute("expected_attributes", key, value.size()));
  }
  return absl::OkStatus();
}

absl::Status Validate(const ResumeCommand& command) {
  RETURN_IF_ERROR(CheckHolderAndTtl(command.holder, command.lease_ttl));
  if (command.force_reason) {
    RETURN_IF_ERROR(CheckName("force.reason", *command.force_reason, kReasonTextBytes));
    RETURN_IF_ERROR(CheckHidden("force.reason", *command.force_reason, command.request));
  }
  RETURN_IF_ERROR(CheckHidden("holder", command.holder, command.request));
  RETURN_IF_ERROR(CheckHidden("session_id", command.session.value(), command.request));
  if (command.tail_messages > kPageMost) {
    return TooLarge("tail_messages", kPageMost, command.tail_messages);
  }
  if (command.wait < absl::ZeroDuration() || command.wait > kWaitMost) {
    return InvalidField("wait", "must be between 0s and 30s");
  }
  if (command.wait > absl::ZeroDuration() && command.force_reason) {
    return InvalidField("wait", "does not go with force, which waits for no lease");
  }
  if (command.create_if_missing) {
    if (command.create_if_missing->kind != SessionKind::kLeased) {
      return InvalidField("create_if_missing.kind", "must be LEASED: no other kind is resumed");
    }
    RETURN_IF_ERROR(Validate(*command.create_if_missing));
  }
  return ValidateExpected(command.expected_slots);
}

absl::Status Validate(const AppendJournalCommand& command) {
  if (command.entries.empty()) return InvalidField("entries", "must not be empty");
  RETURN_IF_ERROR(CheckCount("entries", command.entries.size(), kEntriesPerChange));
  size_t bytes = 0;
  for (size_t i = 0; i < command.entries.size(); ++i) {
    const JournalEntry& entry = command.entries[i];
    const std::string path = "entries[" + std::to_string(i) + "]";
    if (entry.number == EntryNumber()) return InvalidField(path + ".number", "must be 1 or more");
    if (entry.turn != command.entries.front().turn) {
      return InvalidField(path + ".turn", "must be the same in all entries of a call");
    }
    if (i > 0 && entry.number != command.entries[i - 1].number.Next()) {
      return InvalidField(path + ".number", "must follow the one before without a gap");
    }
    RETURN_IF_ERROR(CheckEntry(path, entry, command.acting_owner));
    bytes += entry.data.size() + (entry.slot ? entry.slot->data.size() : 0);
  }
  if (bytes > kChangeBytes) return TooLarge("request", kChangeBytes, bytes);
  return absl::OkStatus();
}

absl::Status Validate(const CommitTurnCommand& command) {
  if (command.turn == TurnNumber()) return InvalidField("turn", "must be 1 or more");
  if (command.outcome != TurnOutcome::kOk && command.outcome != TurnOutcome::kError &&
      command.outcome != TurnOutcome::kCancelled) {
    return InvalidField("outcome", "must be OK, ERROR or CANCELLED");
  }
  if (command.keep_open && command.begin_next) {
    return InvalidField("keep_open", "does not go with begin_next");
  }
  if (command.keep_open && command.outcome != TurnOutcome::kOk) {
    return InvalidField("outcome", "a turn that stays open has none yet: leave it out");
  }
  return CheckSnapshot(command);
}

absl::Status ValidateMissing(const CreateCommand& command) {
  if (command.kind != SessionKind::kOpen) {
    return InvalidField("create_if_missing.kind", "must be OPEN: this call grants no lease");
  }
  return Validate(command);
}

absl::Status Validate(const WriteCommand& command) {
  if (command.base && command.replace_history) {
    return InvalidField("base", "must be left out where the history is replaced");
  }
  if (command.create_if_missing) {
    const CreateCommand& create = *command.create_if_missing;
    RETURN_IF_ERROR(ValidateMissing(create));
    if (!create.messages.empty() || !create.slots.empty()) {
      return InvalidField("create_if_missing",
                          "must have no messages and slots: the write has them");
    }
  }
  return CheckSnapshot(command);
}

absl::Status Validate(const RestoreCommand& command) {
  const RestorePoint& point = command.point;
  if (point.revision && !point.checkpoint.empty()) {
    return InvalidField("point.checkpoint", "must be left out beside a revision");
  }
  RETURN_IF_ERROR(ValidateText("point.checkpoint", point.checkpoint, kCheckpointNameBytes));
  if (command.return_messages > kReturnedMessages) {
    return TooLarge("return_messages", kReturnedMessages, command.return_messages);
  }
  return CheckContent({.messages = command.messages, .slots = command.slots, .deleted_slots = {}},
                      "");
}

absl::Status Validate(const AbandonTurnCommand& command) {
  if (command.turn == TurnNumber()) return InvalidField("turn", "must be 1 or more");
  if (command.outcome == TurnOutcome::kOk || command.outcome == TurnOutcome::kRecovered) {
    return InvalidField("outcome", "must be ERROR, CANCELLED or ABANDONED");
  }
  return absl::OkStatus();
}

absl::Status Validate(const CloseCommand& command) {
  constexpr std::array kOwn = {CloseReason::kExplicit, CloseReason::kSigterm,
                               CloseReason::kParentCancel, CloseReason::kHalted};
  if (std::ranges::find(kOwn, command.reason) == kOwn.end()) {
    return InvalidField("reason", "must be EXPLICIT, SIGTERM, PARENT_CANCEL or HALTED");
  }
  if (command.drain < absl::ZeroDuration() || command.drain > kWaitMost) {
    return InvalidField("drain", "must be between 0s and 30s");
  }
  if (command.drain > absl::ZeroDuration() && command.expected_revision) {
    return InvalidField("expected_revision", "does not go with drain: what it waits for moves it");
  }
  return command.final_snapshot ? CheckContent(*command.final_snapshot, "") : absl::OkStatus();
}

absl::Status Validate(const CancelCommand& command) {
  const bool whole = command.scope == CancelScope::kSession;
  const bool named = command.scope == CancelScope::kStage || command.scope == CancelScope::kTool;
  if (whole && command.turn != TurnNumber()) {
    return InvalidField("turn", "goes with the scopes TURN, STAGE and TOOL alone");
  }
  if (!whole && command.turn == TurnNumber()) return InvalidField("turn", "must be 1 or more");
  if (!named && !command.name.empty()) {
    return InvalidField("name", "goes with the scopes STAGE and TOOL alone");
  }
  return named ? CheckName("name", command.name, kCancelNameBytes) : absl::OkStatus();
}

absl::Status Validate(const AppendAuditCommand& command) {
  RETURN_IF_ERROR(CheckAuditName("audit_class", command.audit_class, kAuditClassBytes));
  if (IsOwnAuditClass(command.audit_class)) {
    return InvalidField("audit_class", "is the store's own");
  }
  RETURN_IF_ERROR(CheckAuditName("code", command.code, kAuditCodeBytes));
  RETURN_IF_ERROR(CheckName("correlation_id", command.correlation_id, kCorrelationIdBytes));
  RETURN_IF_ERROR(CheckCount("data", command.data.size(), kAuditFacts));
  for (const auto& [key, value] : command.data) {
    RETURN_IF_ERROR(CheckName("data", key, kAuditKeyBytes));
    if (key.starts_with(kOwnFactPrefix)) {
      return InvalidField("data", "names that begin with `holdfast.` are the server's own");
    }
  }
  size_t bytes = 0;
  for (const auto& [key, value] : CutLongFacts(command.data)) bytes += key.size() + value.size();
  if (bytes > kAuditBytes) return TooLarge("data", kAuditBytes, bytes);
  return absl::OkStatus();
}

absl::Status ValidateGroup(std::string_view field, const std::string& group) {
  if (group.size() > kGroupBytes) return TooLarge(field, kGroupBytes, group.size());
  const bool plain = std::ranges::all_of(group, [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '/' ||
           c == '%' || c == '-';
  });
  return plain ? absl::OkStatus() : InvalidField(field, "must be of A-Z a-z 0-9 . _ / % -");
}

absl::Status ValidateExpected(const std::vector<ExpectedSlot>& expected) {
  RETURN_IF_ERROR(CheckCount("expected_slots", expected.size(), kSlotsPerChange));
  for (size_t i = 0; i < expected.size(); ++i) {
    RETURN_IF_ERROR(
        CheckName(At("expected_slots", i, "owner"), expected[i].owner, kSlotOwnerBytes));
    if (!IsVersion(expected[i].version)) {
      return InvalidField(At("expected_slots", i, "version"), "must be MAJOR.MINOR.PATCH");
    }
  }
  return absl::OkStatus();
}

}  // namespace holdfast

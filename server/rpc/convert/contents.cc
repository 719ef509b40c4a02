#include "server/rpc/convert/contents.h"

#include "platform/status_macros.h"
#include "server/rpc/convert/fields.h"
#include "session/refusal.h"

#include <google/protobuf/util/field_mask_util.h>

#include <utility>

namespace holdfast {
namespace {

constexpr std::string_view kAttributePath = "attributes.";

std::string At(std::string_view list, int index) {
  return std::string(list) + "[" + std::to_string(index) + "]";
}

absl::Status CheckNoUnknownIn(std::string_view field, const google::protobuf::Message& message) {
  const auto& unknown = message.GetReflection()->GetUnknownFields(message);
  if (unknown.empty()) return absl::OkStatus();
  return InvalidField(field, "has a field that this server does not know: number " +
                                 std::to_string(unknown.field(0).number()));
}

absl::StatusOr<JournalEntry> ReadEntry(const std::string& path, pb::JournalEntry& entry) {
  JournalEntry out{.turn = TurnNumber(entry.turn()),
                   .number = EntryNumber(entry.number()),
                   .ref = std::move(*entry.mutable_ref()),
                   .data = std::move(*entry.mutable_data())};
  ASSIGN_OR_RETURN(out.kind, ReadJournalKind(path + ".kind", entry.kind()));
  if (entry.has_slot()) {
    ASSIGN_OR_RETURN(out.slot, ReadSlot(path + ".slot", *entry.mutable_slot()));
  }
  return out;
}

absl::StatusOr<std::string> AttributeKey(const std::string& path) {
  if (path.starts_with(kAttributePath)) return path.substr(kAttributePath.size());
  const bool known = google::protobuf::util::FieldMaskUtil::IsValidPath<pb::Session>(path);
  if (known && path != "attributes") {
    return Refusal(Reason::kImmutableField, path + ": never changes, or only by its own call")
        .With("field", path)
        .With("why", "never changes, or only by its own call");
  }
  return InvalidField("update_mask", "paths must be attributes.KEY");
}

}  // namespace

absl::Status CheckNoUnknown(const pb::Manifest& manifest) {
  RETURN_IF_ERROR(CheckNoUnknownIn("manifest", manifest));
  return CheckNoUnknownIn("manifest.state_machine", manifest.state_machine());
}

StateMachineRef ReadStateMachine(const pb::StateMachine& sm) {
  return {.ext_id = sm.extension_id(), .slot_ref = sm.slot_ref()};
}

absl::StatusOr<Message> ReadMessage(const std::string& path, pb::Message& message) {
  if (message.seq() != 0) {
    return InvalidField(path + ".seq", "is given by the store: leave it out");
  }
  return Message{.seq = {},
                 .role = std::move(*message.mutable_role()),
                 .content_type = std::move(*message.mutable_content_type()),
                 .data = std::move(*message.mutable_data())};
}

absl::StatusOr<Slot> ReadSlot(const std::string& path, pb::Slot& slot) {
  ASSIGN_OR_RETURN(const DriftPolicy policy,
                   ReadDriftPolicy(path + ".drift_policy", slot.drift_policy()));
  // `revision` is the store's to give; a slot that was read and is written back carries an old one.
  return Slot{.owner = std::move(*slot.mutable_owner()),
              .version = std::move(*slot.mutable_version()),
              .policy = policy,
              .data = std::move(*slot.mutable_data()),
              .revision = {}};
}

absl::StatusOr<std::vector<Message>> ReadMessages(Repeated<pb::Message>& messages) {
  std::vector<Message> out;
  out.reserve(static_cast<size_t>(messages.size()));
  for (int i = 0; i < messages.size(); ++i) {
    ASSIGN_OR_RETURN(Message message, ReadMessage(At("messages", i), messages[i]));
    out.push_back(std::move(message));
  }
  return out;
}

absl::StatusOr<std::vector<Slot>> ReadSlots(std::string_view field, Repeated<pb::Slot>& slots) {
  std::vector<Slot> out;
  out.reserve(static_cast<size_t>(slots.size()));
  for (int i = 0; i < slots.size(); ++i) {
    ASSIGN_OR_RETURN(Slot slot, ReadSlot(At(field, i), slots[i]));
    out.push_back(std::move(slot));
  }
  return out;
}

absl::StatusOr<std::vector<JournalEntry>> ReadEntries(Repeated<pb::JournalEntry>& entries) {
  std::vector<JournalEntry> out;
  out.reserve(static_cast<size_t>(entries.size()));
  for (int i = 0; i < entries.size(); ++i) {
    ASSIGN_OR_RETURN(JournalEntry entry, ReadEntry(At("entries", i), entries[i]));
    out.push_back(std::move(entry));
  }
  return out;
}

absl::StatusOr<std::vector<ExpectedSlot>> ReadExpectedSlots(
    const Repeated<pb::ExpectedSlot>& slots) {
  std::vector<ExpectedSlot> out;
  for (int i = 0; i < slots.size(); ++i) {
    ASSIGN_OR_RETURN(
        const DriftPolicy policy,
        ReadDriftPolicy(At("expected_slots", i) + ".drift_policy", slots[i].drift_policy()));
    out.push_back({.owner = slots[i].owner(), .version = slots[i].version(), .policy = policy});
  }
  return out;
}

std::vector<std::string> ReadTexts(const Repeated<std::string>& texts) {
  return {texts.begin(), texts.end()};
}

absl::StatusOr<AttributePatch> ReadAttributePatch(
    const google::protobuf::Map<std::string, std::string>& given,
    const Repeated<std::string>& paths) {
  AttributePatch patch;
  if (paths.empty()) {
    if (given.empty()) return InvalidField("attributes", "must hold what to change");
    for (const auto& [key, value] : given) patch[key] = value;
    return patch;
  }
  for (const std::string& path : paths) {
    ASSIGN_OR_RETURN(const std::string key, AttributeKey(path));
    const auto found = given.find(key);
    patch[key] = found == given.end() ? std::nullopt : std::optional(found->second);
  }
  return patch;
}

}  // namespace holdfast

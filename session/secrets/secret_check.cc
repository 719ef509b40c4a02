#include "session/secrets/secret_check.h"

#include "platform/thread_check.h"
#include "session/limits.h"
#include "session/refusal.h"
#include "session/secrets/secret_reference.h"

#include "absl/strings/str_cat.h"

namespace holdfast {
namespace {

void LookAtId(SecretCheck& check, std::string_view parent, std::string_view name,
              const std::string& id) {
  check.Look({.parent = parent, .name = name}, id);
}

template <typename Command>
void LookAtIds(SecretCheck& check, const Command& command) {
  LookAtId(check, "", "request_id", command.request.value());
  LookAtId(check, "", "session_id", command.session.value());
  if (command.uid) LookAtId(check, "", "session_uid", command.uid->value());
}

void LookAtSlot(SecretCheck& check, const FieldPath& path, const Slot& slot) {
  const std::string parent = path.Text() + ".";
  check.Look({.parent = parent, .name = "owner"}, slot.owner);
  check.Look({.parent = parent, .name = "version"}, slot.version);
  check.LookWithReferences({.parent = parent, .name = "data"}, slot.data);
}

void LookAtMessages(SecretCheck& check, std::string_view parent,
                    const std::vector<Message>& messages) {
  const auto at = [&](size_t i, std::string_view part) {
    return FieldPath{.parent = parent, .name = "messages", .index = i, .part = part};
  };
  for (size_t i = 0; i < messages.size(); ++i) {
    check.Look(at(i, "role"), messages[i].role);
    check.Look(at(i, "content_type"), messages[i].content_type);
    check.Look(at(i, "data"), messages[i].data);
  }
}

void LookAtSlots(SecretCheck& check, std::string_view parent, const std::vector<Slot>& slots) {
  for (size_t i = 0; i < slots.size(); ++i) {
    LookAtSlot(check, {.parent = parent, .name = "slots", .index = i}, slots[i]);
  }
}

void LookAtOwners(SecretCheck& check, std::string_view parent,
                  const std::vector<std::string>& owners) {
  for (size_t i = 0; i < owners.size(); ++i) {
    check.Look({.parent = parent, .name = "deleted_slots", .index = i}, owners[i]);
  }
}

void LookAtStateMachine(SecretCheck& check, std::string_view parent, const StateMachineRef& sm) {
  const std::string path = absl::StrCat(std::string(parent), "state_machine.");
  check.Look({.parent = path, .name = "extension_id"}, sm.ext_id);
  check.Look({.parent = path, .name = "slot_ref"}, sm.slot_ref);
}

// An entry of the map `map`. The path of a value holds its key, so a key that is a secret is not
// made part of one.
void LookAtAttribute(SecretCheck& check, const FieldPath& map, const std::string& key,
                     const std::string& value) {
  const bool clean = check.Look(map, key);
  const std::string path = map.Text() + ".";
  check.LookWithReferences(clean ? FieldPath{.parent = path, .name = key} : map, value);
}

void LookAtCreate(SecretCheck& check, std::string_view parent, const CreateCommand& command) {
  LookAtId(check, parent, "request_id", command.request.value());
  if (command.session) LookAtId(check, parent, "session_id", command.session->value());
  if (command.reuse_deleted) {
    LookAtId(check, parent, "reuse_deleted", command.reuse_deleted->value());
  }
  const std::string manifest = absl::StrCat(std::string(parent), "manifest.");
  check.Look({.parent = manifest, .name = "project_root"}, command.project_root);
  if (command.sm) LookAtStateMachine(check, manifest, *command.sm);
  LookAtMessages(check, parent, command.messages);
  LookAtSlots(check, parent, command.slots);
  for (const auto& [key, value] : command.attributes) {
    LookAtAttribute(check, {.parent = parent, .name = "attributes"}, key, value);
  }
  check.Look({.parent = parent, .name = "group"}, command.group);
  check.Look({.parent = parent, .name = "holder"}, command.holder);
}

void LookAtLabels(SecretCheck& check, std::string_view parent, const ItemLabels& labels) {
  const FieldPath path{.parent = parent, .name = "labels"};
  for (const auto& [name, value] : labels) {
    const auto* text = std::get_if<std::string>(&value);
    LookAtAttribute(check, path, name, text == nullptr ? "" : *text);
  }
}

void LookAtItem(SecretCheck& check, std::string_view parent, const Item& item) {
  check.Look({.parent = parent, .name = "key"}, item.name.key);
  check.Look({.parent = parent, .name = "content_type"}, item.content_type);
  check.Look({.parent = parent, .name = "parent_key"}, item.parent_key);
  LookAtLabels(check, parent, item.labels);
  for (size_t i = 0; i < item.refs.size(); ++i) {
    check.Look({.parent = parent, .name = "refs", .index = i, .part = "key"}, item.refs[i].key);
  }
  check.LookWithReferences({.parent = parent, .name = "data"}, item.data);
}

void LookAtCompaction(SecretCheck& check, const Compaction& compaction) {
  for (size_t i = 0; i < compaction.survived.size(); ++i) {
    const auto at = [&](std::string_view part) {
      return FieldPath{.parent = "compaction.", .name = "survived", .index = i, .part = part};
    };
    check.Look(at("collection"), compaction.survived[i].collection);
    check.Look(at("key"), compaction.survived[i].key);
  }
}

// A commit, or a write without a turn.
template <typename Command>
void LookAtSnapshot(SecretCheck& check, const Command& command) {
  LookAtIds(check, command);
  check.Look({.name = "acting_owner"}, command.acting_owner);
  LookAtMessages(check, "", command.messages);
  LookAtSlots(check, "", command.slots);
  LookAtOwners(check, "", command.deleted_slots);
  if (command.sm && *command.sm) LookAtStateMachine(check, "", **command.sm);
  if (command.compaction) LookAtCompaction(check, *command.compaction);
  if (!command.checkpoint) return;
  check.Look({.name = "checkpoint.name"}, command.checkpoint->name);
  LookAtLabels(check, "checkpoint.", command.checkpoint->labels);
}

void LookAtMissing(SecretCheck& check, const std::optional<CreateCommand>& create) {
  if (create) LookAtCreate(check, "create_if_missing.", *create);
}

}  // namespace

std::string FieldPath::Text() const {
  std::string text = std::string(parent) + std::string(name);
  if (index) text += "[" + std::to_string(*index) + "]";
  if (!part.empty()) text += "." + std::string(part);
  return text;
}

bool SecretCheck::Look(const FieldPath& path, std::string_view bytes) {
  const std::optional<size_t> offset = scanner_.Find(bytes);
  if (!offset) return true;
  if (++leaks_seen_ <= kSecretPlacesShown) leaks_.push_back({path.Text(), *offset});
  return false;
}

void SecretCheck::LookWithReferences(const FieldPath& path, std::string_view bytes) {
  Look(path, bytes);
  if (malformed_) return;
  if (const auto offset = FindMalformedReference(bytes)) malformed_ = Place{path.Text(), *offset};
}

absl::Status SecretCheck::ToStatus() const {
  AssertOffTransport("a search for secrets");
  if (!leaks_.empty()) {
    std::string paths;
    for (const Place& place : leaks_) {
      absl::StrAppend(&paths, paths.empty() ? "" : " ", place.field, "@", place.offset);
    }
    return Refusal(Reason::kSecretLeak, "the request holds a secret: store a reference to it")
        .With("field", leaks_.front().field)
        .With("offset", leaks_.front().offset)
        .With("paths", paths)
        .With("count", leaks_seen_);
  }
  return malformed_ ? MalformedReference(malformed_->field, malformed_->offset) : absl::OkStatus();
}

absl::Status SecretLeak(std::string_view field, uint64_t offset) {
  return Refusal(Reason::kSecretLeak, "the request holds a secret: store a reference to it")
      .With("field", field)
      .With("offset", offset);
}

absl::Status MalformedReference(std::string_view field, uint64_t offset) {
  return Refusal(Reason::kMalformedSecretReference, "a reference to a secret needs a name")
      .With("field", field)
      .With("offset", offset);
}

absl::Status CheckSecrets(const SecretScanner& scanner, const CreateCommand& command) {
  SecretCheck check(scanner);
  LookAtCreate(check, "", command);
  return check.ToStatus();
}

absl::Status CheckSecrets(const SecretScanner& scanner, const UpdateCommand& command) {
  SecretCheck check(scanner);
  LookAtIds(check, command);
  for (const auto& [key, value] : command.attributes) {
    LookAtAttribute(check, {.name = "attributes"}, key, value.value_or(""));
  }
  for (const auto& [key, value] : command.expected) {
    LookAtAttribute(check, {.name = "expected_attributes"}, key, value);
  }
  return check.ToStatus();
}

absl::Status CheckSecrets(const SecretScanner& scanner, const ResumeCommand& command) {
  SecretCheck check(scanner);
  LookAtIds(check, command);
  check.Look({.name = "holder"}, command.holder);
  check.Look({.name = "force.reason"}, command.force_reason.value_or(""));
  if (command.expected_store) {
    LookAtId(check, "", "expected_store_id", command.expected_store->value());
  }
  for (size_t i = 0; i < command.expected_slots.size(); ++i) {
    const ExpectedSlot& slot = command.expected_slots[i];
    check.Look({.name = "expected_slots", .index = i, .part = "owner"}, slot.owner);
    check.Look({.name = "expected_slots", .index = i, .part = "version"}, slot.version);
  }
  LookAtMissing(check, command.create_if_missing);
  return check.ToStatus();
}

absl::Status CheckSecrets(const SecretScanner& scanner, const BeginTurnCommand& command) {
  SecretCheck check(scanner);
  LookAtIds(check, command);
  return check.ToStatus();
}

absl::Status CheckSecrets(const SecretScanner& scanner, const AppendJournalCommand& command) {
  SecretCheck check(scanner);
  LookAtId(check, "", "session_id", command.session.value());
  if (command.uid) LookAtId(check, "", "session_uid", command.uid->value());
  check.Look({.name = "acting_owner"}, command.acting_owner);
  for (size_t i = 0; i < command.entries.size(); ++i) {
    const JournalEntry& entry = command.entries[i];
    check.Look({.name = "entries", .index = i, .part = "ref"}, entry.ref);
    check.LookWithReferences({.name = "entries", .index = i, .part = "data"}, entry.data);
    if (!entry.slot) continue;
    LookAtSlot(check, {.name = "entries", .index = i, .part = "slot"}, *entry.slot);
  }
  return check.ToStatus();
}

absl::Status CheckSecrets(const SecretScanner& scanner, const CommitTurnCommand& command) {
  SecretCheck check(scanner);
  LookAtSnapshot(check, command);
  return check.ToStatus();
}

absl::Status CheckSecrets(const SecretScanner& scanner, const WriteCommand& command) {
  SecretCheck check(scanner);
  LookAtSnapshot(check, command);
  LookAtMissing(check, command.create_if_missing);
  return check.ToStatus();
}

absl::Status CheckSecrets(const SecretScanner& scanner, const RestoreCommand& command) {
  SecretCheck check(scanner);
  LookAtIds(check, command);
  check.Look({.name = "point.checkpoint"}, command.point.checkpoint);
  LookAtMessages(check, "", command.messages);
  LookAtSlots(check, "", command.slots);
  return check.ToStatus();
}

absl::Status CheckSecrets(const SecretScanner& scanner, const PutCheckpointCommand& command) {
  SecretCheck check(scanner);
  LookAtIds(check, command);
  check.Look({.name = "name"}, command.name.value_or(""));
  if (command.labels) LookAtLabels(check, "", *command.labels);
  return check.ToStatus();
}

absl::Status CheckSecrets(const SecretScanner& scanner, const DeleteCheckpointCommand& command) {
  SecretCheck check(scanner);
  LookAtIds(check, command);
  check.Look({.name = "name"}, command.name);
  return check.ToStatus();
}

absl::Status CheckSecrets(const SecretScanner& scanner, const AbandonTurnCommand& command) {
  SecretCheck check(scanner);
  LookAtIds(check, command);
  return check.ToStatus();
}

absl::Status CheckSecrets(const SecretScanner& scanner, const CloseCommand& command) {
  SecretCheck check(scanner);
  LookAtIds(check, command);
  if (command.final_snapshot) {
    constexpr std::string_view kParent = "final_snapshot.";
    LookAtMessages(check, kParent, command.final_snapshot->messages);
    LookAtSlots(check, kParent, command.final_snapshot->slots);
    LookAtOwners(check, kParent, command.final_snapshot->deleted_slots);
  }
  return check.ToStatus();
}

absl::Status CheckSecrets(const SecretScanner& scanner, const DeleteCommand& command) {
  SecretCheck check(scanner);
  LookAtIds(check, command);
  return check.ToStatus();
}

absl::Status CheckSecrets(const SecretScanner& scanner, const ReleaseCommand& command) {
  SecretCheck check(scanner);
  LookAtIds(check, command);
  return check.ToStatus();
}

absl::Status CheckSecrets(const SecretScanner& scanner, const CancelCommand& command) {
  SecretCheck check(scanner);
  LookAtIds(check, command);
  check.Look({.name = "name"}, command.name);
  return check.ToStatus();
}

absl::Status CheckSecrets(const SecretScanner& scanner, const PutItemsCommand& command) {
  SecretCheck check(scanner);
  LookAtIds(check, command);
  for (size_t i = 0; i < command.writes.puts.size(); ++i) {
    const std::string path = "puts[" + std::to_string(i) + "].";
    LookAtItem(check, path + "item.", command.writes.puts[i].item);
  }
  LookAtMissing(check, command.create_if_missing);
  return check.ToStatus();
}

absl::Status CheckSecrets(const SecretScanner& scanner, const AppendAuditCommand& command) {
  SecretCheck check(scanner);
  LookAtIds(check, command);
  check.Look({.name = "audit_class"}, command.audit_class);
  check.Look({.name = "code"}, command.code);
  check.Look({.name = "correlation_id"}, command.correlation_id);
  // The path of a value holds its key, so a key that is a secret is not made part of one.
  for (const auto& [key, value] : command.data) {
    const bool clean = check.Look({.name = "data"}, key);
    check.LookWithReferences(
        clean ? FieldPath{.parent = "data.", .name = key} : FieldPath{.name = "data"}, value);
  }
  return check.ToStatus();
}

}  // namespace holdfast

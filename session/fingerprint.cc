#include "session/fingerprint.h"

#include "platform/digest.h"
#include "platform/encoding.h"
#include "session/codec/item_facts.h"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace holdfast {
namespace {

// Writes fields in the order they are added; each list begins with its length, each optional with 0
// or 1.
class Meaning {
 public:
  template <typename E>
  Meaning& Enum(E value) {
    out_.Number(static_cast<uint64_t>(value));
    return *this;
  }
  Meaning& Number(uint64_t value) {
    out_.Number(value);
    return *this;
  }
  Meaning& Text(const std::string& text) {
    out_.Text(text);
    return *this;
  }
  Meaning& Raw(const Digest& digest) {
    out_.Raw(View(digest));
    return *this;
  }
  Meaning& Maybe(const std::optional<Revision>& number) {
    return Number(number ? 1 : 0).Number(number ? number->value() : 0);
  }
  Meaning& Maybe(const std::optional<EntryNumber>& number) {
    return Number(number ? 1 : 0).Number(number ? number->value() : 0);
  }
  Meaning& Maybe(const std::optional<StoreId>& store) {
    return Number(store ? 1 : 0).Text(store ? store->value() : "");
  }
  Meaning& MaybeText(const std::optional<std::string>& text) {
    return Number(text ? 1 : 0).Text(text.value_or(""));
  }
  Meaning& Machine(const std::optional<StateMachineRef>& sm) {
    Number(sm ? 1 : 0);
    return sm ? Text(sm->ext_id).Text(sm->slot_ref) : *this;
  }
  Meaning& Content(const std::vector<Message>& messages, const std::vector<Slot>& slots,
                   const std::vector<std::string>& deleted) {
    Number(messages.size());
    for (const Message& message : messages) {
      Text(message.role).Text(message.content_type).Raw(DataDigest(message));
    }
    Number(slots.size());
    for (const Slot& slot : slots) {
      Text(slot.owner).Text(slot.version).Enum(slot.policy).Raw(DataDigest(slot));
    }
    Number(deleted.size());
    for (const std::string& owner : deleted) Text(owner);
    return *this;
  }
  template <typename Map>
  Meaning& Attributes(const Map& attributes) {
    Number(attributes.size());
    for (const auto& [key, value] : attributes) Text(key).MaybeText(value);
    return *this;
  }
  Meaning& Labels(const ItemLabels& labels) {
    Number(labels.size());
    for (const auto& [name, value] : labels) Text(EncodeLabel(name, value));
    return *this;
  }
  // Absent in requests from before there were checkpoints.
  Meaning& Mark(const std::optional<CheckpointMark>& mark) {
    return mark ? Text(mark->name).Labels(mark->labels) : *this;
  }
  // Absent in requests from before there were compactions.
  Meaning& Compacts(const std::optional<Compaction>& compaction) {
    if (!compaction) return *this;
    Enum(compaction->trigger).Number(compaction->size_before).Number(compaction->size_after);
    Number(compaction->survived.size());
    for (const ItemName& name : compaction->survived) Text(name.collection).Text(name.key);
    return *this;
  }
  Meaning& Range(const KeyRange& range) { return Text(range.start).Text(range.end); }
  [[nodiscard]] RequestStamp Stamp(const RequestId& id, Method method) const {
    return {.id = id, .method = method, .fingerprint = Sha256(out_.bytes())};
  }

 private:
  Encoder out_;
};

Meaning MeaningOf(const CreateCommand& command) {
  Meaning meaning;
  meaning.Text(command.session ? command.session->value() : "")
      .Enum(command.mode)
      .Text(command.project_root)
      .Machine(command.sm)
      .Content(command.messages, command.slots, {})
      .Attributes(command.attributes)
      .Enum(command.kind)
      .Text(command.group)
      .Text(command.holder);
  if (command.reuse_deleted) meaning.Text(command.reuse_deleted->value());
  return meaning;
}

}  // namespace

RequestStamp StampOf(const CreateCommand& command) {
  return MeaningOf(command).Stamp(command.request, Method::kCreate);
}

RequestStamp StampOf(const UpdateCommand& command) {
  return Meaning()
      .Attributes(command.attributes)
      .Attributes(command.expected)
      .Stamp(command.request, Method::kUpdate);
}

RequestStamp StampOf(const ResumeCommand& command) {
  Meaning meaning;
  if (command.create_if_missing) meaning = MeaningOf(*command.create_if_missing);
  return meaning.Text(command.holder)
      .MaybeText(command.force_reason)
      .Maybe(command.expected_store)
      .Maybe(command.known_revision)
      .Stamp(command.request, Method::kResume);
}

RequestStamp StampOf(const BeginTurnCommand& command) {
  return Meaning()
      .Enum(command.source)
      .Maybe(command.expected_revision)
      .Stamp(command.request, Method::kBeginTurn);
}

RequestStamp StampOf(const CommitTurnCommand& command) {
  Meaning meaning;
  meaning.Number(command.turn.value())
      .Maybe(command.expected_revision)
      .Enum(command.outcome)
      .Content(command.messages, command.slots, command.deleted_slots)
      .Number(command.sm ? 1 : 0)
      .Machine(command.sm.value_or(std::nullopt))
      .Maybe(command.last_entry)
      .Number(command.begin_next ? 1 : 0)
      .Enum(command.begin_next.value_or(TurnSource::kUser))
      .Text(command.acting_owner);
  // Absent in requests from before there was such a field.
  if (command.keep_open) meaning.Number(1);
  meaning.Mark(command.checkpoint).Compacts(command.compaction);
  if (command.replace_history) meaning.Text("replace_history");
  return meaning.Stamp(command.request, Method::kCommitTurn);
}

RequestStamp StampOf(const WriteCommand& command) {
  Meaning meaning;
  if (command.create_if_missing) meaning = MeaningOf(*command.create_if_missing);
  meaning.Maybe(command.expected_revision).Number(command.base ? 1 : 0);
  if (command.base) meaning.Number(command.base->count.value()).Raw(command.base->digest);
  meaning.Number(command.replace_history ? 1 : 0)
      .Content(command.messages, command.slots, command.deleted_slots)
      .Number(command.sm ? 1 : 0)
      .Machine(command.sm.value_or(std::nullopt))
      .Text(command.acting_owner)
      .Mark(command.checkpoint)
      .Compacts(command.compaction);
  return meaning.Stamp(command.request, Method::kWrite);
}

RequestStamp StampOf(const RestoreCommand& command) {
  const RestorePoint& point = command.point;
  Meaning meaning;
  meaning.Maybe(command.expected_revision).Number(command.base ? 1 : 0);
  if (command.base) meaning.Number(command.base->count.value()).Raw(command.base->digest);
  if (!point.checkpoint.empty()) meaning.Text(point.checkpoint);
  if (command.pin_previous) meaning.Number(1);
  return meaning.Maybe(point.revision)
      .Number(point.messages ? 1 : 0)
      .Number(point.messages ? point.messages->value() : 0)
      .Number(point.drop_last)
      .Number(command.return_messages)
      .Content(command.messages, command.slots, {})
      .Stamp(command.request, Method::kRestore);
}

RequestStamp StampOf(const PutCheckpointCommand& command) {
  Meaning meaning;
  meaning.Maybe(command.revision).MaybeText(command.name).Number(command.status ? 1 : 0);
  meaning.Enum(command.status.value_or(CheckpointStatus::kValid));
  meaning.Number(command.labels ? 1 : 0).Labels(command.labels.value_or(ItemLabels()));
  return meaning.Number(command.must_exist ? 1 : 0).Stamp(command.request, Method::kPutCheckpoint);
}

RequestStamp StampOf(const DeleteCheckpointCommand& command) {
  return Meaning()
      .Maybe(command.revision)
      .Text(command.name)
      .Stamp(command.request, Method::kDeleteCheckpoint);
}

RequestStamp StampOf(const AbandonTurnCommand& command) {
  return Meaning()
      .Number(command.turn.value())
      .Maybe(command.expected_revision)
      .Enum(command.outcome)
      .Stamp(command.request, Method::kAbandonTurn);
}

RequestStamp StampOf(const CloseCommand& command) {
  Meaning meaning;
  meaning.Enum(command.reason).Maybe(command.expected_revision);
  meaning.Number(command.final_snapshot ? 1 : 0);
  if (command.final_snapshot) {
    const SnapshotContent& content = *command.final_snapshot;
    meaning.Content(content.messages, content.slots, content.deleted_slots);
  }
  return meaning.Stamp(command.request, Method::kClose);
}

RequestStamp StampOf(const DeleteCommand& command) {
  return Meaning().Stamp(command.request, Method::kDelete);
}

RequestStamp StampOf(const CancelCommand& command) {
  return Meaning()
      .Enum(command.scope)
      .Enum(command.reason)
      .Number(command.turn.value())
      .Text(command.name)
      .Stamp(command.request, Method::kCancel);
}

RequestStamp StampOf(const AppendAuditCommand& command) {
  Meaning meaning;
  meaning.Text(command.audit_class).Text(command.code).Text(command.correlation_id);
  meaning.Number(command.data.size());
  for (const auto& [name, value] : command.data) meaning.Text(name).Text(value);
  return meaning.Stamp(command.request, Method::kAppendAudit);
}

RequestStamp StampOf(const PutItemsCommand& command) {
  Meaning meaning;
  if (command.create_if_missing) meaning = MeaningOf(*command.create_if_missing);
  const ItemWrites& writes = command.writes;
  meaning.Number(writes.expected_last ? 1 : 0);
  if (writes.expected_last) {
    const ExpectedLast& expected = *writes.expected_last;
    meaning.Text(expected.collection).Range(expected.range).Text(expected.key);
  }
  meaning.Number(writes.deletes.size());
  for (const ItemDelete& wanted : writes.deletes) {
    meaning.Text(wanted.collection).Number(wanted.keys.index());
    const auto* key = std::get_if<std::string>(&wanted.keys);
    key != nullptr ? meaning.Text(*key) : meaning.Range(std::get<KeyRange>(wanted.keys));
  }
  meaning.Number(writes.puts.size());
  for (const ItemPut& put : writes.puts) {
    const Item& item = put.item;
    meaning.Enum(put.condition).Number(put.expected.value());
    meaning.Text(item.name.collection).Text(item.name.key).Text(EncodeItemFacts(item));
    meaning.Raw(item.data.digest());
  }
  return meaning.Stamp(command.request, Method::kPutItems);
}

RequestStamp StampOf(const ReleaseCommand& command) {
  return Meaning().Stamp(command.request, Method::kRelease);
}

}  // namespace holdfast

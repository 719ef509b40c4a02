#include "store-postgres/change_params.h"

#include "session/codec/records.h"
#include "session/digest.h"
#include "session/marks.h"

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::pg {
namespace {

int64_t Signed(uint64_t value) { return static_cast<int64_t>(value); }

template <typename N>
int64_t Signed(const Number<N>& number) {
  return Signed(number.value());
}

// What an item counts in a page: its own bytes, and none that lie in an upload.
int64_t SizeOf(const Message& message) { return Signed(message.data.size()); }
int64_t SizeOf(const JournalEntry& entry) {
  return Signed(entry.data.size() + (entry.slot ? entry.slot->data.size() : 0));
}
int64_t SizeOf(const std::map<std::string, std::string>& texts) {
  size_t bytes = 0;
  for (const auto& [name, value] : texts) bytes += name.size() + value.size();
  return Signed(bytes);
}

std::vector<std::string_view> Views(const std::vector<std::string>& texts) {
  return {texts.begin(), texts.end()};
}

// A group of slots, as holdfast.slot keeps them.
struct SlotColumns {
  std::vector<std::optional<std::string_view>> owners;
  std::vector<std::optional<int64_t>> sizes;
  std::vector<std::optional<std::string>> records;  // without the bytes
  std::vector<std::optional<std::string_view>> data;

  void Add(std::string_view owner, const Slot* slot) {
    owners.emplace_back(owner);
    if (slot == nullptr) {
      sizes.emplace_back(0);
      records.emplace_back();
      data.emplace_back();
      return;
    }
    Slot bare = *slot;
    bare.data.clear();
    sizes.emplace_back(Signed(DataSize(*slot)));
    records.emplace_back(EncodeSlot(bare));
    data.emplace_back(slot->data);
  }
  void AddNone() {
    owners.emplace_back();
    sizes.emplace_back();
    records.emplace_back();
    data.emplace_back();
  }
  void PutInto(Params& params) const {
    params.NullableTexts(owners).NullableInts(sizes);
    params.NullableBytesArray({records.begin(), records.end()});
    params.NullableBytesArray(data);
  }
};

void PutRequest(const Applied& applied, absl::Time kept_since, Params& params) {
  if (!applied.request) {
    params.Null().Null().Null().Null().Time(kept_since);
    return;
  }
  RequestRow row{.stamp = *applied.request, .receipt = applied.receipt, .at = applied.at};
  const std::string token = std::exchange(row.receipt.token, "");
  params.Text(row.stamp.id.value()).Bytes(EncodeRequest(row)).Text(token).Time(applied.at);
  params.Time(kept_since);
}

void PutHead(const Change& change, const Applied& applied, Params& params) {
  const Head& head = applied.head;
  const std::string bytes = applied.tombstone ? "" : EncodeHead(head);
  const Digest sum = Sha256(bytes);
  params.Bytes(bytes).Bytes(View(sum)).Int4(static_cast<int32_t>(head.lifecycle));
  params.Int(Signed(head.generation)).Int(Signed(head.messages));
  params.Text(head.project_root).Time(head.created_at).Text(head.uid.value());
  params.Int(Signed(head.lease.epoch)).Bool(head.lease.held);
  params.Bytes(View(head.lease.secret_hash)).Interval(head.lease.ttl);
  params.Bool(head.lease.held && (change.grant.has_value() || change.renews_lease));
  const bool marked = EndingMark(head) != nullptr;
  params.Bool(marked).Bool(marked || head.turn.has_value() || applied.tombstone);
  if (applied.tombstone) {
    params.Bytes(applied.events.empty() ? "" : EncodeEvent(applied.events.back()));
  } else {
    params.Null();
  }
}

void PutMessages(const Applied& applied, Params& params) {
  if (applied.upload) {
    params.Text(applied.upload->id.value()).Int(Signed(applied.upload->bytes));
  } else {
    params.Null().Null();
  }
  std::vector<int64_t> sizes;
  std::vector<std::string> records;
  for (const Message& message : applied.messages) {
    sizes.push_back(SizeOf(message));
    records.push_back(EncodeMessage(message));
  }
  params.Int(applied.messages.empty() ? 0 : Signed(applied.messages.front().seq));
  params.Ints(sizes).BytesArray(Views(records));
}

// The last word on each owner's slot: the change's own, deletions, then updates between turns.
std::map<std::string_view, const Slot*> SlotsOf(const Applied& applied) {
  std::map<std::string_view, const Slot*> slots;
  for (const Slot& slot : applied.slots) slots.insert_or_assign(slot.owner, &slot);
  for (const std::string& owner : applied.deleted_slots) slots.insert_or_assign(owner, nullptr);
  for (const JournalEntry& entry : applied.entries) {
    if (entry.turn == TurnNumber() && entry.slot) {
      slots.insert_or_assign(entry.slot->owner, &*entry.slot);
    }
  }
  return slots;
}

void PutSlots(const Applied& applied, JournalNumber turn_began_behind, Params& params) {
  params.Int(Signed(applied.head.revision));
  params.Int(applied.folded ? Signed(*applied.folded) : 0).Int(Signed(applied.folded_after));
  params.Int(Signed(turn_began_behind));
  SlotColumns columns;
  for (const auto& [owner, slot] : SlotsOf(applied)) columns.Add(owner, slot);
  columns.PutInto(params);
}

void PutEntries(const Applied& applied, Params& params) {
  const bool none = applied.entries.empty();
  params.Int(none ? 0 : Signed(applied.entries.front().journal_number));
  params.Int(none ? 0 : Signed(applied.entries.front().turn));
  std::vector<int64_t> numbers;
  std::vector<int64_t> sizes;
  std::vector<std::string> records;
  SlotColumns slots;
  for (const JournalEntry& entry : applied.entries) {
    JournalEntry bare = entry;
    bare.slot.reset();
    numbers.push_back(Signed(entry.number));
    sizes.push_back(SizeOf(entry));
    records.push_back(EncodeEntry(bare));
    entry.slot ? slots.Add(entry.slot->owner, &*entry.slot) : slots.AddNone();
  }
  params.Ints(numbers).Ints(sizes).BytesArray(Views(records));
  slots.PutInto(params);
}

void PutEvents(const Applied& applied, int64_t writer, Params& params) {
  std::vector<int64_t> sizes;
  std::vector<std::string> records;
  for (const Event& event : applied.events) {
    sizes.push_back(SizeOf(event.payload));
    records.push_back(EncodeEvent(event));
  }
  params.Int(writer).Int(applied.events.empty() ? 0 : Signed(applied.events.front().seq));
  params.Ints(sizes).BytesArray(Views(records));
}

void PutAudit(const Applied& applied, Params& params) {
  if (!applied.audit) {
    params.Int(0).Int(0).Null();
    return;
  }
  params.Int(Signed(applied.audit->seq)).Int(SizeOf(applied.audit->data));
  params.Bytes(EncodeAudit(*applied.audit));
}

}  // namespace

Params ParamsOf(const Change& change, const Applied& applied, const DecidedOn& on, int64_t writer,
                absl::Time kept_since) {
  Params params;
  params.Text(change.key.tenant.value()).Text(change.key.session.value());
  params.Int(on.version).Bool(on.needs_free);
  PutRequest(applied, kept_since, params);
  PutHead(change, applied, params);
  PutMessages(applied, params);
  PutSlots(applied, on.turn_began_behind, params);
  PutEntries(applied, params);
  PutEvents(applied, writer, params);
  PutAudit(applied, params);
  return params;
}

}  // namespace holdfast::pg

#include "store-postgres/change_rows.h"

#include "session/cancel_requests.h"
#include "session/codec/records.h"
#include "session/data_bytes.h"
#include "store-postgres/retention.h"

#include <utility>

namespace holdfast::pg {
namespace {

int64_t SizeOfTexts(const std::map<std::string, std::string>& texts) {
  size_t bytes = 0;
  for (const auto& [name, value] : texts) bytes += name.size() + value.size();
  return Signed(bytes);
}

FormerSession FormerOf(const Head& head) {
  return {.uid = head.uid, .generation = head.generation};
}

}  // namespace

int64_t SizeOf(const Message& message) { return Signed(message.data.size()); }
int64_t SizeOf(const JournalEntry& entry) { return Signed(DataBytes(entry)); }
int64_t SizeOf(const Event& event) { return SizeOfTexts(event.payload); }
int64_t SizeOf(const AuditRecord& record) { return SizeOfTexts(record.data); }

HeadRow::HeadRow(const Change& change, const Applied& applied)
    : record(applied.tombstone ? EncodeFormer(FormerOf(applied.head)) : EncodeHead(applied.head)),
      sum(Sha256(record)),
      raises(change.grant.has_value() || change.raises_epoch),
      renews(applied.head.lease.held && (change.grant.has_value() || change.renews_lease)),
      cancelling(EndingCancelRequest(applied.head) != nullptr),
      sweep(cancelling || applied.head.turn.has_value() || applied.tombstone ||
            NeedsPrune(change, applied.head)) {}

size_t BytesOf(const DecidedChange& change) {
  const Applied& applied = *change.applied;
  size_t bytes = change.row->record.size() + DataBytes(applied);
  for (const Event& event : applied.events) bytes += static_cast<size_t>(SizeOf(event));
  for (const ItemPut& put : applied.items.puts) bytes += put.item.data.size();
  if (applied.audit) bytes += static_cast<size_t>(SizeOf(*applied.audit));
  return bytes;
}

int64_t AppliedTurn(const Applied& applied) {
  const bool any = applied.applied_turn && applied.receipt.last_entry > applied.applied_after;
  return any ? Signed(*applied.applied_turn) : 0;
}

int64_t AppliedBehind(const DecidedChange& decided) {
  return Signed(decided.turn_began_behind) + Signed(decided.applied->applied_after);
}

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

void SlotColumns::Add(std::string_view owner, const Slot* slot) {
  owners_.emplace_back(owner);
  if (slot == nullptr) {
    sizes_.emplace_back(0);
    records_.emplace_back();
    data_.emplace_back();
    return;
  }
  Slot bare = *slot;
  bare.data.clear();
  sizes_.emplace_back(Signed(DataSize(*slot)));
  records_.emplace_back(EncodeSlot(bare));
  data_.emplace_back(slot->data);
}

void SlotColumns::AddNone() {
  owners_.emplace_back();
  sizes_.emplace_back();
  records_.emplace_back();
  data_.emplace_back();
}

void SlotColumns::PutInto(const SlotParameters& names, Params& params) const {
  params.Named(names.owners).NullableTexts(owners_).Named(names.sizes).NullableInts(sizes_);
  params.Named(names.records).NullableBytesArray({records_.begin(), records_.end()});
  params.Named(names.data).NullableBytesArray(data_);
}

std::vector<std::string_view> Views(const std::vector<std::string>& texts) {
  return {texts.begin(), texts.end()};
}

}  // namespace holdfast::pg

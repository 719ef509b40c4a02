#include "store-postgres/change_params.h"

#include "session/codec/records.h"
#include "store-postgres/event_row.h"
#include "store-postgres/standing.h"

#include <algorithm>
#include <string>
#include <vector>

namespace holdfast::pg {
namespace {

void PutRequest(const Applied& applied, absl::Time now, Params& params) {
  if (applied.request) {
    const RequestColumns request(applied);
    params.Text(request.id).Bytes(request.record).Text(request.token).Time(now);
  } else {
    params.Null().Null().Null().Null();
  }
  params.Time(RepliesSince(now));
}

void PutHead(const DecidedChange& decided, Params& params) {
  const Head& head = decided.applied->head;
  const HeadRow& row = *decided.row;
  params.Bytes(row.record).Bytes(View(row.sum)).Int4(static_cast<int32_t>(head.lifecycle));
  params.Int(Signed(head.generation)).Int(Signed(head.messages));
  params.Text(head.project_root).Time(head.created_at).Text(head.uid.value());
  params.Int(Signed(head.lease.epoch)).Bool(row.raises).Bool(head.lease.held);
  params.Bytes(View(head.lease.secret_hash)).Interval(head.lease.ttl);
  params.Bool(row.renews).Bool(row.marked).Bool(row.sweep);
  if (decided.applied->tombstone) {
    const std::vector<Event>& events = decided.applied->events;
    params.Bytes(events.empty() ? "" : EncodeEvent(events.back()));
  } else {
    params.Null();
  }
}

// The upload that the change takes over, and what of the change lies in it.
void PutUpload(const Applied& applied, Params& params) {
  std::vector<std::string> owners;
  for (const Slot& slot : applied.slots) {
    if (slot.staged) owners.push_back(slot.owner);
  }
  const bool messages = std::ranges::any_of(
      applied.messages, [](const Message& message) { return message.staged.has_value(); });
  if (applied.upload) {
    params.Text(applied.upload->id.value()).Int(Signed(applied.upload->bytes));
  } else {
    params.Null().Null();
  }
  params.Bool(messages).Texts(owners);
}

void PutMessages(const Applied& applied, Params& params) {
  PutUpload(applied, params);
  std::vector<int64_t> sizes;
  std::vector<std::string> records;
  for (const Message& message : applied.messages) {
    sizes.push_back(SizeOf(message));
    records.push_back(EncodeMessage(message));
  }
  params.Int(applied.messages.empty() ? 0 : Signed(applied.messages.front().seq));
  params.Ints(sizes).BytesArray(Views(records));
}

void PutSlots(const DecidedChange& decided, Params& params) {
  const Applied& applied = *decided.applied;
  params.Int(Signed(applied.head.revision)).Bool(decided.change->moves_revision);
  params.Int(FoldedTurn(applied)).Int(Signed(applied.folded_after));
  params.Int(FoldedBehind(decided));
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
  params.Int(writer);
  if (applied.events.empty()) {
    params.Int(0).Int(0).Null();
    return;
  }
  const EventRow row(applied.events);
  params.Int(row.last).Int(row.size).Bytes(row.records);
}

void PutAudit(const Applied& applied, Params& params) {
  if (!applied.audit) {
    params.Int(0).Int(0).Null();
    return;
  }
  params.Int(Signed(applied.audit->seq)).Int(SizeOf(*applied.audit));
  params.Bytes(EncodeAudit(*applied.audit));
}

}  // namespace

Params ParamsOf(const DecidedChange& decided, WhenLocked when_locked, const WriterFacts& facts) {
  const SessionKey& key = decided.change->key;
  const Applied& applied = *decided.applied;
  Params params;
  params.Text(key.tenant.value()).Text(key.session.value());
  params.Int(decided.version)
      .Bytes(View(decided.was))
      .Bool(decided.needs_free)
      .Bool(when_locked == WhenLocked::kWait);
  PutRequest(applied, facts.now, params);
  PutHead(decided, params);
  PutMessages(applied, params);
  PutSlots(decided, params);
  PutEntries(applied, params);
  PutEvents(applied, facts.writer, params);
  PutAudit(applied, params);
  return params;
}

}  // namespace holdfast::pg

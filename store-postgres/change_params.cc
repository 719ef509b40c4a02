// A column of all members after the other, in the order of the functions' parameters.
#include "store-postgres/change_params.h"

#include "session/codec/records.h"
#include "store-postgres/log_rows.h"
#include "store-postgres/standing.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace holdfast::pg {
namespace {

using Members = std::vector<const DecidedChange*>;

// What `of` says of each member.
template <typename Of>
auto Each(const Members& members, Of of) {
  std::vector<decltype(of(*members.front()))> column;
  column.reserve(members.size());
  for (const DecidedChange* member : members) column.push_back(of(*member));
  return column;
}

// A number of each member's head.
template <typename Of>
std::vector<int64_t> EachNumber(const Members& members, Of of) {
  return Each(members, [&](const DecidedChange& member) { return Signed(of(member)); });
}

const Head& HeadOf(const DecidedChange& member) { return member.applied->head; }

// Calls `take` with each member's place, from 1, and what it adds.
template <typename Take>
void ForEach(const Members& members, Take take) {
  for (size_t i = 0; i < members.size(); ++i) take(static_cast<int32_t>(i + 1), *members[i]);
}

void PutKeys(const Members& members, Params& params) {
  params.Texts(Each(members, [](const auto& m) { return m.change->key.tenant.value(); }));
  params.Texts(Each(members, [](const auto& m) { return m.change->key.session.value(); }));
  params.Ints(Each(members, [](const auto& m) { return m.version; }));
  params.BytesArray(Each(members, [](const auto& m) { return View(m.was); }));
  params.Bools(Each(members, [](const auto& m) { return m.needs_free; }));
}

void PutRequests(const Members& members, absl::Time now, Params& params) {
  params.NullableTexts(Each(members, [](const auto& m) -> std::optional<std::string_view> {
    if (!m.applied->request) return std::nullopt;
    return m.applied->request->id.value();
  }));
  params.Time(now).Time(RepliesSince(now));
}

void PutHeads(const Members& members, Params& params) {
  params.BytesArray(Each(members, [](const auto& m) { return std::string_view(m.row->record); }));
  params.BytesArray(Each(members, [](const auto& m) { return View(m.row->sum); }));
  params.Int4s(
      Each(members, [](const auto& m) { return static_cast<int32_t>(HeadOf(m).lifecycle); }));
  params.Ints(EachNumber(members, [](const auto& m) { return HeadOf(m).generation; }));
  params.Ints(EachNumber(members, [](const auto& m) { return HeadOf(m).messages; }));
  params.Ints(EachNumber(members, [](const auto& m) { return HeadOf(m).lease.epoch; }));
  params.Bools(Each(members, [](const auto& m) { return m.row->raises; }));
  params.Texts(Each(members, [](const auto& m) { return m.applied->receipt.token; }));
  params.Bools(Each(members, [](const auto& m) { return HeadOf(m).lease.held; }));
  params.BytesArray(Each(members, [](const auto& m) { return View(HeadOf(m).lease.secret_hash); }));
  params.Ints(
      Each(members, [](const auto& m) { return absl::ToInt64Microseconds(HeadOf(m).lease.ttl); }));
  params.Bools(Each(members, [](const auto& m) { return m.row->renews; }));
  params.Bools(Each(members, [](const auto& m) { return m.row->marked; }));
  params.Bools(Each(members, [](const auto& m) { return m.row->sweep; }));
}

void PutLogRows(const Members& members, Params& params) {
  params.Ints(Each(members, [](const auto& m) {
    return Signed(HeadOf(m).last_event) - Signed(m.applied->events.size());
  }));
  params.Ints(Each(members, [](const auto& m) {
    return Signed(HeadOf(m).last_audit) - (m.applied->audit ? 1 : 0);
  }));
  std::vector<std::vector<LogRow>> rows;
  std::vector<int32_t> places;
  std::vector<int32_t> parts;
  std::vector<int64_t> messages;
  std::vector<std::optional<std::string_view>> acts;
  std::vector<std::optional<std::string_view>> data;
  const auto piece = [](const std::string& bytes) {
    return bytes.empty() ? std::optional<std::string_view>() : bytes;
  };
  rows.reserve(members.size());
  ForEach(members, [&](int32_t at, const DecidedChange& member) {
    rows.push_back(LogRowsOf(member.change->key, *member.applied));
    int32_t part = 0;
    for (const LogRow& row : rows.back()) {
      places.push_back(at);
      parts.push_back(part++);
      messages.push_back(Signed(row.messages));
      acts.push_back(piece(row.acts));
      data.push_back(piece(row.message_data));
    }
  });
  params.Int4s(places).Int4s(parts).Ints(messages);
  params.NullableBytesArray(acts).NullableBytesArray(data);
}

void PutSlots(const Members& members, Params& params) {
  params.Ints(EachNumber(members, [](const auto& m) { return HeadOf(m).revision; }));
  params.Bools(Each(members, [](const auto& m) { return m.change->moves_revision; }));
  params.Ints(Each(members, [](const auto& m) { return FoldedTurn(*m.applied); }));
  params.Ints(EachNumber(members, [](const auto& m) { return m.applied->folded_after; }));
  params.Ints(Each(members, [](const auto& m) { return FoldedBehind(m); }));
  std::vector<int32_t> places;
  SlotColumns columns;
  ForEach(members, [&](int32_t at, const DecidedChange& member) {
    for (const auto& [owner, slot] : SlotsOf(*member.applied)) {
      places.push_back(at);
      columns.Add(owner, slot);
    }
  });
  params.Int4s(places);
  columns.PutInto(params);
}

void PutEntries(const Members& members, Params& params) {
  std::vector<int32_t> places;
  std::vector<int64_t> numbers;
  std::vector<int64_t> turns;
  std::vector<int64_t> entries;
  std::vector<int64_t> sizes;
  std::vector<std::string> records;
  SlotColumns slots;
  ForEach(members, [&](int32_t at, const DecidedChange& member) {
    for (const JournalEntry& entry : member.applied->entries) {
      JournalEntry bare = entry;
      bare.slot.reset();
      places.push_back(at);
      numbers.push_back(Signed(entry.journal_number));
      turns.push_back(Signed(entry.turn));
      entries.push_back(Signed(entry.number));
      sizes.push_back(SizeOf(entry));
      records.push_back(EncodeEntry(bare));
      entry.slot ? slots.Add(entry.slot->owner, &*entry.slot) : slots.AddNone();
    }
  });
  params.Int4s(places).Ints(numbers).Ints(turns).Ints(entries).Ints(sizes);
  params.BytesArray(Views(records));
  slots.PutInto(params);
}

void PutFeed(const Members& members, Params& params) {
  std::vector<std::string> tenants;
  std::vector<std::string> sessions;
  ForEach(members, [&](int32_t /*at*/, const DecidedChange& member) {
    if (member.applied->events.empty()) return;
    tenants.push_back(member.change->key.tenant.value());
    sessions.push_back(member.change->key.session.value());
  });
  params.Texts(tenants).Texts(sessions);
}

void PutMembers(const Members& members, const WriterFacts& facts, Params& params) {
  PutKeys(members, params);
  PutRequests(members, facts.now, params);
  PutHeads(members, params);
  PutLogRows(members, params);
  PutSlots(members, params);
  PutEntries(members, params);
  params.Int(facts.writer);
  PutFeed(members, params);
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

}  // namespace

Params ParamsOf(const Members& changes, const WriterFacts& facts) {
  Params params;
  PutMembers(changes, facts, params);
  return params;
}

Params ParamsOfAlone(const DecidedChange& change, const WriterFacts& facts) {
  const Applied& applied = *change.applied;
  Params params;
  params.Text(applied.head.project_root).Time(applied.head.created_at);
  params.Text(applied.head.uid.value());
  if (applied.tombstone) {
    params.Bytes(applied.events.empty() ? "" : EncodeEvent(applied.events.back()));
  } else {
    params.Null();
  }
  PutUpload(applied, params);
  PutMembers({&change}, facts, params);
  return params;
}

}  // namespace holdfast::pg

// The parameters of holdfast.change_many: a column of all members after the other.
#include "session/codec/records.h"
#include "store-postgres/change_params.h"
#include "store-postgres/event_row.h"
#include "store-postgres/standing.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

// Records that have a number within their session.
struct ItemColumns {
  std::vector<int32_t> members;
  std::vector<int64_t> numbers;
  std::vector<int64_t> sizes;
  std::vector<std::string> records;

  // NOLINTNEXTLINE(bugprone-easily-swappable-parameters): the columns' order, as PutInto has it
  void Add(int32_t member, int64_t number, int64_t size, std::string record) {
    members.push_back(member);
    numbers.push_back(number);
    sizes.push_back(size);
    records.push_back(std::move(record));
  }
  void PutInto(Params& params) const {
    params.Int4s(members).Ints(numbers).Ints(sizes).BytesArray(Views(records));
  }
};

void PutKeys(const Members& members, Params& params) {
  params.Texts(Each(members, [](const auto& m) { return m.change->key.tenant.value(); }));
  params.Texts(Each(members, [](const auto& m) { return m.change->key.session.value(); }));
  params.Ints(Each(members, [](const auto& m) { return m.version; }));
  params.BytesArray(Each(members, [](const auto& m) { return View(m.was); }));
  params.Bools(Each(members, [](const auto& m) { return m.needs_free; }));
}

void PutRequests(const Members& members, absl::Time now, Params& params) {
  std::vector<std::optional<RequestColumns>> requests;
  for (const DecidedChange* member : members) {
    requests.push_back(member->applied->request ? std::optional<RequestColumns>(*member->applied)
                                                : std::nullopt);
  }
  std::vector<std::optional<std::string_view>> ids;
  std::vector<std::optional<std::string_view>> records;
  std::vector<std::optional<std::string_view>> tokens;
  for (const auto& request : requests) {
    ids.push_back(request ? std::optional<std::string_view>(request->id) : std::nullopt);
    records.push_back(request ? std::optional<std::string_view>(request->record) : std::nullopt);
    tokens.push_back(request ? std::optional<std::string_view>(request->token) : std::nullopt);
  }
  params.NullableTexts(ids).NullableBytesArray(records).NullableTexts(tokens);
  params.Time(now).Time(RepliesSince(now));
}

void PutHeads(const Members& members, Params& params) {
  std::vector<std::string_view> records;
  std::vector<std::string_view> sums;
  std::vector<std::string_view> hashes;
  std::vector<bool> raises;
  std::vector<bool> renews;
  std::vector<bool> marked;
  std::vector<bool> sweep;
  for (const DecidedChange* member : members) {
    const HeadRow& row = *member->row;
    records.emplace_back(row.record);
    sums.push_back(View(row.sum));
    hashes.push_back(View(HeadOf(*member).lease.secret_hash));
    raises.push_back(row.raises);
    renews.push_back(row.renews);
    marked.push_back(row.marked);
    sweep.push_back(row.sweep);
  }
  params.BytesArray(records).BytesArray(sums);
  params.Int4s(
      Each(members, [](const auto& m) { return static_cast<int32_t>(HeadOf(m).lifecycle); }));
  params.Ints(EachNumber(members, [](const auto& m) { return HeadOf(m).generation; }));
  params.Ints(EachNumber(members, [](const auto& m) { return HeadOf(m).messages; }));
  params.Ints(EachNumber(members, [](const auto& m) { return HeadOf(m).lease.epoch; }));
  params.Bools(raises);
  params.Bools(Each(members, [](const auto& m) { return HeadOf(m).lease.held; }));
  params.BytesArray(hashes);
  params.Ints(
      Each(members, [](const auto& m) { return absl::ToInt64Microseconds(HeadOf(m).lease.ttl); }));
  params.Bools(renews).Bools(marked).Bools(sweep);
  params.Ints(EachNumber(members, [](const auto& m) { return HeadOf(m).revision; }));
  params.Bools(Each(members, [](const auto& m) { return m.change->moves_revision; }));
  params.Ints(Each(members, [](const auto& m) { return FoldedTurn(*m.applied); }));
  params.Ints(EachNumber(members, [](const auto& m) { return m.applied->folded_after; }));
  params.Ints(Each(members, [](const auto& m) { return FoldedBehind(m); }));
}

void PutMessages(const Members& members, Params& params) {
  ItemColumns columns;
  ForEach(members, [&](int32_t at, const DecidedChange& member) {
    for (const Message& message : member.applied->messages) {
      columns.Add(at, Signed(message.seq), SizeOf(message), EncodeMessage(message));
    }
  });
  columns.PutInto(params);
}

void PutSlots(const Members& members, Params& params) {
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

void PutEvents(const Members& members, Params& params) {
  ItemColumns columns;
  ForEach(members, [&](int32_t at, const DecidedChange& member) {
    if (member.applied->events.empty()) return;
    EventRow row(member.applied->events);
    columns.Add(at, row.last, row.size, std::move(row.records));
  });
  columns.PutInto(params);
}

void PutAudits(const Members& members, Params& params) {
  ItemColumns columns;
  ForEach(members, [&](int32_t at, const DecidedChange& member) {
    const auto& record = member.applied->audit;
    if (record) columns.Add(at, Signed(record->seq), SizeOf(*record), EncodeAudit(*record));
  });
  columns.PutInto(params);
}

}  // namespace

Params ParamsOfMany(const Members& changes, const WriterFacts& facts) {
  Params params;
  PutKeys(changes, params);
  PutRequests(changes, facts.now, params);
  PutHeads(changes, params);
  PutMessages(changes, params);
  PutSlots(changes, params);
  PutEntries(changes, params);
  params.Int(facts.writer);
  PutEvents(changes, params);
  PutAudits(changes, params);
  return params;
}

}  // namespace holdfast::pg

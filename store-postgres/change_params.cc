#include "store-postgres/change_params.h"

#include "session/codec/records.h"
#include "session/limits.h"
#include "store-postgres/item_params.h"
#include "store-postgres/log_rows.h"
#include "store-postgres/stored_head.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace holdfast::pg {
namespace {

using Members = std::vector<const DecidedChange*>;

// What a change's keys, checksums and numbers take beside its bytes, mostly.
constexpr size_t kBesideBytes = 2 * kKiB;

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
  params.Named("p_tenants").Texts(Each(members, [](const auto& m) {
    return m.change->key.tenant.value();
  }));
  params.Named("p_sessions").Texts(Each(members, [](const auto& m) {
    return m.change->key.session.value();
  }));
  params.Named("p_versions").Ints(Each(members, [](const auto& m) { return m.version; }));
  params.Named("p_was").BytesArray(Each(members, [](const auto& m) { return View(m.was); }));
  params.Named("p_needs_free").Bools(Each(members, [](const auto& m) { return m.needs_free; }));
}

void PutRequests(const Members& members, absl::Time now, Params& params) {
  params.Named("p_requests")
      .NullableTexts(Each(members, [](const auto& m) -> std::optional<std::string_view> {
        if (!m.applied->request) return std::nullopt;
        return m.applied->request->id.value();
      }));
  params.Named("p_at").Time(now).Named("p_kept_since").Time(RepliesSince(now));
}

void PutHeads(const Members& members, Params& params) {
  params.Named("p_heads").BytesArray(
      Each(members, [](const auto& m) { return std::string_view(m.row->record); }));
  params.Named("p_head_sums").BytesArray(Each(members, [](const auto& m) {
    return View(m.row->sum);
  }));
  params.Named("p_lifecycles").Int4s(Each(members, [](const auto& m) {
    return static_cast<int32_t>(HeadOf(m).lifecycle);
  }));
  params.Named("p_generations").Ints(EachNumber(members, [](const auto& m) {
    return HeadOf(m).generation;
  }));
  params.Named("p_messages").Ints(EachNumber(members, [](const auto& m) {
    return HeadOf(m).messages;
  }));
  params.Named("p_epochs").Ints(EachNumber(members, [](const auto& m) {
    return HeadOf(m).lease.epoch;
  }));
  params.Named("p_raises").Bools(Each(members, [](const auto& m) { return m.row->raises; }));
  params.Named("p_tokens").Texts(Each(members, [](const auto& m) {
    return m.applied->receipt.token;
  }));
  params.Named("p_held").Bools(Each(members, [](const auto& m) { return HeadOf(m).lease.held; }));
  params.Named("p_secret_hashes").BytesArray(Each(members, [](const auto& m) {
    return View(HeadOf(m).lease.secret_hash);
  }));
  params.Named("p_ttls").Ints(
      Each(members, [](const auto& m) { return absl::ToInt64Microseconds(HeadOf(m).lease.ttl); }));
  params.Named("p_renews").Bools(Each(members, [](const auto& m) { return m.row->renews; }));
  params.Named("p_cancelling").Bools(Each(members, [](const auto& m) {
    return m.row->cancelling;
  }));
  params.Named("p_sweep").Bools(Each(members, [](const auto& m) { return m.row->sweep; }));
}

void PutLogRows(const Members& members, Params& params) {
  params.Named("p_events").Ints(Each(members, [](const auto& m) {
    return Signed(HeadOf(m).last_event) - Signed(m.applied->events.size());
  }));
  params.Named("p_audits").Ints(Each(members, [](const auto& m) {
    return Signed(HeadOf(m).last_audit) - (m.applied->audit ? 1 : 0);
  }));
  std::vector<LogRows> rows;
  std::vector<int32_t> places;
  std::vector<int32_t> parts;
  std::vector<int64_t> messages;
  std::vector<std::optional<std::string_view>> acts;
  std::vector<absl::Span<const std::string_view>> messages_of_rows;
  rows.reserve(members.size());
  ForEach(members, [&](int32_t at, const DecidedChange& member) {
    rows.emplace_back(member.change->key, *member.applied);
    int32_t part = 0;
    for (const LogRow& row : rows.back().rows()) {
      places.push_back(at);
      parts.push_back(part++);
      messages.push_back(Signed(row.messages));
      acts.push_back(row.acts.empty() ? std::optional<std::string_view>() : row.acts);
      messages_of_rows.emplace_back(row.msgs);
    }
  });
  params.Named("p_row_members").Int4s(places).Named("p_row_parts").Int4s(parts);
  params.Named("p_row_messages").Ints(messages);
  params.Named("p_row_acts").NullableBytesArray(acts);
  params.Named("p_row_msgs").PiecesArray(messages_of_rows);
}

void PutSlots(const Members& members, Params& params) {
  params.Named("p_revisions").Ints(EachNumber(members, [](const auto& m) {
    return HeadOf(m).revision;
  }));
  params.Named("p_fresh").Bools(
      Each(members, [](const auto& m) { return m.change->moves_revision; }));
  params.Named("p_applied_turns").Ints(Each(members, [](const auto& m) {
    return AppliedTurn(*m.applied);
  }));
  params.Named("p_applied_afters").Ints(EachNumber(members, [](const auto& m) {
    return m.applied->applied_after;
  }));
  params.Named("p_applied_froms").Ints(Each(members, [](const auto& m) {
    return AppliedBehind(m);
  }));
  std::vector<int32_t> places;
  SlotColumns columns;
  ForEach(members, [&](int32_t at, const DecidedChange& member) {
    for (const auto& [owner, slot] : SlotsOf(*member.applied)) {
      places.push_back(at);
      columns.Add(owner, slot);
    }
  });
  params.Named("p_slot_members").Int4s(places);
  columns.PutInto({"p_slot_owners", "p_slot_sizes", "p_slot_recs", "p_slot_data"}, params);
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
  params.Named("p_entry_members").Int4s(places).Named("p_entry_numbers").Ints(numbers);
  params.Named("p_entry_turns").Ints(turns).Named("p_entries").Ints(entries);
  params.Named("p_entry_sizes").Ints(sizes).Named("p_entry_recs").BytesArray(Views(records));
  slots.PutInto({"p_entry_owners", "p_entry_slot_sizes", "p_entry_slot_recs", "p_entry_slot_data"},
                params);
}

void PutFeed(const Members& members, Params& params) {
  std::vector<std::string> tenants;
  std::vector<std::string> sessions;
  ForEach(members, [&](int32_t /*at*/, const DecidedChange& member) {
    if (member.applied->events.empty()) return;
    tenants.push_back(member.change->key.tenant.value());
    sessions.push_back(member.change->key.session.value());
  });
  params.Named("p_feed_tenants").Texts(tenants).Named("p_feed_sessions").Texts(sessions);
}

void PutMembers(const Members& members, const WriterFacts& facts, Params& params) {
  size_t bytes = 0;
  for (const DecidedChange* member : members) bytes += BytesOf(*member) + kBesideBytes;
  params.Reserve(bytes);
  PutKeys(members, params);
  PutRequests(members, facts.now, params);
  PutHeads(members, params);
  PutLogRows(members, params);
  PutSlots(members, params);
  PutEntries(members, params);
  params.Named("p_writer").Int(facts.writer);
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
  params.Named("p_upload", "text::uuid");
  applied.upload ? params.Text(applied.upload->id.value()) : params.Null();
  params.Named("p_upload_bytes", "bigint");
  applied.upload ? params.Int(Signed(applied.upload->bytes)) : params.Null();
  params.Named("p_upload_messages").Bool(messages).Named("p_upload_owners").Texts(owners);
}

// A session that the change creates or deletes.
void PutLife(const DecidedChange& change, Params& params) {
  const Applied& applied = *change.applied;
  params.Named("p_creates").Bool(change.version == 0);
  params.Named("p_replaces").Bool(change.change->create && change.version != 0);
  params.Named("p_kind").Int4(static_cast<int32_t>(applied.head.kind));
  params.Named("p_group").Text(applied.head.group);
  params.Named("p_project_root").Text(applied.head.project_root);
  params.Named("p_created_at").Time(applied.head.created_at);
  params.Named("p_uid").Text(applied.head.uid.value());
  params.Named("p_last_event", "bytea");
  if (!applied.tombstone) {
    params.Null();
  } else {
    params.Bytes(applied.events.empty() ? "" : EncodeEvent(applied.events.back()));
  }
}

}  // namespace

Params ParamsOfMany(const Members& changes, const WriterFacts& facts) {
  Params params;
  PutMembers(changes, facts, params);
  return params;
}

Params ParamsOfOne(const DecidedChange& change, const WriterFacts& facts, bool waits) {
  Params params;
  params.Named("p_waits").Bool(waits);
  PutMembers({&change}, facts, params);
  return params;
}

Params ParamsOfAlone(const DecidedChange& change, const WriterFacts& facts) {
  Params params = ParamsOfOne(change, facts, true);
  PutLife(change, params);
  PutUpload(*change.applied, params);
  return params;
}

Params ParamsOfItems(const DecidedChange& change, const WriterFacts& facts) {
  Params params = ParamsOfAlone(change, facts);
  PutItems(*change.applied, facts.item_bounds, params);
  return params;
}

}  // namespace holdfast::pg

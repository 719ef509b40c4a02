#include "store-postgres/reads.h"

#include "platform/status_macros.h"
#include "session/codec/records.h"
#include "session/guard.h"
#include "session/kept.h"
#include "session/limits.h"
#include "session/refusal.h"
#include "store-postgres/change_rows.h"
#include "store-postgres/journal_part.h"
#include "store-postgres/pin_reads.h"
#include "store-postgres/read_params.h"
#include "store-postgres/stored_head.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::pg {
namespace {

// A page's first row brings the head, the further ones leave it out; the items follow it, numbered
// from 1. The page ends at the limit of items, or behind the last item that keeps it within the
// limit of bytes.

// All slots, and those of owners that are named. One statement for both would have one plan, which
// reads every slot of the session.
constexpr Statement kSlots = {
    "slots",
    "SELECT h.version, h.store_id, h.deleted, h.head, h.head_sum, h.lease_left,"
    " i.revision, i.size, i.owner, i.rec,"
    " CASE WHEN i.total <= $4 THEN i.data END, i.total > $4 AND octet_length(i.data) > 0"
    " FROM holdfast.current_session s LEFT JOIN LATERAL ("
    "  SELECT *, row_number() OVER w AS n, coalesce(sum(octet_length(v.data)) OVER w, 0) AS total"
    "  FROM ("
    "   SELECT DISTINCT ON (x.owner) x.owner, x.revision, x.size, x.rec, x.data"
    "   FROM holdfast.slot x WHERE x.tenant = $1 AND x.session_id = $2 AND x.revision <= $3"
    "   ORDER BY x.owner, x.revision DESC) v WHERE v.rec IS NOT NULL"
    "  WINDOW w AS (ORDER BY v.owner ROWS UNBOUNDED PRECEDING) ORDER BY v.owner) i ON true"
    " LEFT JOIN LATERAL (SELECT s.version, s.store_id, s.deleted, s.head, s.head_sum,"
    "  s.lease_left WHERE coalesce(i.n, 1) = 1) h ON true"
    " WHERE s.tenant = $1 AND s.session_id = $2"};
constexpr Statement kSlotsOf = {
    "slots_of",
    "SELECT h.version, h.store_id, h.deleted, h.head, h.head_sum, h.lease_left,"
    " i.revision, i.size, i.owner, i.rec,"
    " CASE WHEN i.total <= $4 THEN i.data END, i.total > $4 AND octet_length(i.data) > 0"
    " FROM holdfast.current_session s LEFT JOIN LATERAL ("
    "  SELECT v.*, row_number() OVER w AS n, coalesce(sum(octet_length(v.data)) OVER w, 0) AS total"
    "  FROM unnest($5::text[]) AS u (owner) CROSS JOIN LATERAL ("
    "   SELECT x.owner, x.revision, x.size, x.rec, x.data FROM holdfast.slot x"
    "   WHERE x.tenant = $1 AND x.session_id = $2 AND x.owner = u.owner AND x.revision <= $3"
    "   ORDER BY x.revision DESC LIMIT 1) v WHERE v.rec IS NOT NULL"
    "  WINDOW w AS (ORDER BY v.owner ROWS UNBOUNDED PRECEDING) ORDER BY v.owner) i ON true"
    " LEFT JOIN LATERAL (SELECT s.version, s.store_id, s.deleted, s.head, s.head_sum,"
    "  s.lease_left WHERE coalesce(i.n, 1) = 1) h ON true"
    " WHERE s.tenant = $1 AND s.session_id = $2"};
constexpr Statement kJournal = {
    "journal",
    "SELECT h.version, h.store_id, h.deleted, h.head, h.head_sum, h.lease_left,"
    " i.number, i.rec, i.slot_rec, i.slot_data"
    " FROM holdfast.current_session s LEFT JOIN LATERAL ("
    "  SELECT j.number, j.rec, j.slot_rec, j.slot_data, row_number() OVER w AS n,"
    "   sum(j.size) OVER w AS total"
    "  FROM holdfast.journal j WHERE j.tenant = $1 AND j.session_id = $2 AND j.number > $3"
    "  WINDOW w AS (ORDER BY j.number ROWS UNBOUNDED PRECEDING)"
    "  ORDER BY j.number LIMIT $4) i ON i.n = 1 OR i.total <= $5"
    " LEFT JOIN LATERAL (SELECT s.version, s.store_id, s.deleted, s.head, s.head_sum,"
    "  s.lease_left WHERE coalesce(i.n, 1) = 1) h ON true"
    " WHERE s.tenant = $1 AND s.session_id = $2"};
// Of one turn, whose entries may lie between those of others: it looks at the entries up to a
// number, and there is no gap between numbers.
constexpr Statement kJournalOfTurn = {
    "journal_of_turn",
    "SELECT h.version, h.store_id, h.deleted, h.head, h.head_sum, h.lease_left,"
    " i.number, i.rec, i.slot_rec, i.slot_data"
    " FROM holdfast.current_session s LEFT JOIN LATERAL ("
    "  SELECT j.number, j.rec, j.slot_rec, j.slot_data, row_number() OVER w AS n,"
    "   sum(j.size) OVER w AS total"
    "  FROM holdfast.journal j WHERE j.tenant = $1 AND j.session_id = $2 AND j.number > $3"
    "   AND j.number <= $6 AND j.turn = $7"
    "  WINDOW w AS (ORDER BY j.number ROWS UNBOUNDED PRECEDING)"
    "  ORDER BY j.number LIMIT $4) i ON i.n = 1 OR i.total <= $5"
    " LEFT JOIN LATERAL (SELECT s.version, s.store_id, s.deleted, s.head, s.head_sum,"
    "  s.lease_left WHERE coalesce(i.n, 1) = 1) h ON true"
    " WHERE s.tenant = $1 AND s.session_id = $2"};
constexpr Statement kLastEvent = {"last_event",
                                  "SELECT deleted, last_event FROM holdfast.session"
                                  " WHERE tenant = $1 AND session_id = $2"};
enum ItemColumn : size_t { kNumber = kStoredHeadColumns, kRecord };
enum SlotColumn : size_t {
  kRevision = kStoredHeadColumns,
  kSize,
  kOwner,
  kSlotRecord,
  kLeftOut = kSlotRecord + 2
};

// Entries of other turns that one statement passes over in search of those of one turn.
constexpr uint64_t kEntriesLookedAt = 4096;

std::vector<std::string> Unique(std::vector<std::string> names) {
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

void Put(PageLimit limit, Params& params) {
  params.Int(Clamped(limit.items)).Int(Clamped(limit.bytes));
}

// The number up to which a statement looks for entries of one turn.
JournalNumber LookEnd(JournalNumber from, const JournalPart& part) {
  const JournalNumber last = std::max(part.last, from);
  if (last.value() - from.value() <= kEntriesLookedAt) return last;
  return JournalNumber(from.value() + kEntriesLookedAt);
}

// Whether no entry of the turn is behind those of the page; `to` is the last one looked at.
bool IsEnd(const std::vector<JournalEntry>& entries, const Head& head, TurnNumber turn,
           JournalNumber to) {
  const JournalNumber last = std::min(PartOf(head, turn).last, head.journal);
  if (entries.empty()) return to >= last;
  const std::optional<EntryNumber> newest = LastEntryOf(head, turn);
  return entries.back().journal_number >= last || (newest && entries.back().number >= *newest);
}

// The entries of a page; without a turn they follow each other without a gap.
absl::Status ReadEntries(const Rows& rows, JournalNumber from, const JournalQuery& query,
                         std::vector<JournalEntry>& entries) {
  JournalNumber last = from;
  for (size_t row = 0; row < rows.size() && !rows.IsNull(row, kNumber); ++row) {
    const JournalNumber number(static_cast<uint64_t>(rows.Int(row, kNumber)));
    std::optional<JournalEntry> entry = ReadEntry(rows, row, kRecord);
    if (!entry || (!query.turn && number != last.Next())) return Damaged("entry", number.value());
    last = number;
    entries.push_back(*std::move(entry));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Head> Reads::HeadIn(const Rows& rows, const SessionKey& key) {
  // Nothing but the way in which PostgreSQL carries out a UNION ALL puts the head's row first.
  if (!rows.empty() && rows.IsNull(0, 0)) {
    return Refusal(Reason::kInternal, "the rows of a page are not in their order");
  }
  StoredHead stored = ReadStoredHead(rows, 0, database_);
  if (!stored.refusal.ok()) {
    heads_.Forget(key);
    return stored.refusal;
  }
  heads_.Put(key, {.version = stored.version, .sum = stored.sum, .head = stored.head});
  return std::move(stored.head);
}

absl::StatusOr<SlotPage> Reads::Slots(const SessionKey& key, const SlotQuery& query) {
  Params params = KeyParams(key);
  params.Int(query.revision ? Clamped(query.revision->value())
                            : std::numeric_limits<int64_t>::max());
  params.Int(Clamped(query.most_bytes));
  if (!query.owners.empty()) params.Texts(Unique(query.owners));
  ASSIGN_OR_RETURN(const Rows rows,
                   database_.Ask(query.owners.empty() ? kSlots : kSlotsOf, params));
  ASSIGN_OR_RETURN(const Head head, HeadIn(rows, key));
  // Read behind the slots: what is still pinned then was not pruned before.
  ASSIGN_OR_RETURN(const std::optional<Head> with_pin,
                   ReadHeadWithPin(database_, key, head, query.revision));
  const Head& seen = with_pin ? *with_pin : head;
  RETURN_IF_ERROR(CheckKept(seen, query.revision));
  SlotPage page;
  page.uid = head.uid;
  page.at = PositionOf(head);
  if (query.revision && *query.revision < head.revision) {
    page.at = {.revision = *query.revision,
               .journal = SnapshotAt(seen, *query.revision).at.journal};
  }
  for (size_t row = 0; row < rows.size(); ++row) {
    if (rows.IsNull(row, kRevision)) break;
    SlotView view{.slot = {}, .size = static_cast<uint64_t>(rows.Int(row, kSize))};
    std::optional<Slot> slot = ReadSlot(rows, row, kSlotRecord);
    view.damaged = !slot.has_value();
    view.data_left_out = !rows.IsNull(row, kLeftOut) && rows.Bool(row, kLeftOut);
    if (slot) view.slot = *std::move(slot);
    view.slot.owner = rows.Text(row, kOwner);
    view.slot.revision = Revision(static_cast<uint64_t>(rows.Int(row, kRevision)));
    page.slots.push_back(std::move(view));
  }
  return page;
}

absl::StatusOr<JournalPage> Reads::Journal(const SessionKey& key, const JournalQuery& query,
                                           PageLimit limit) {
  JournalQuery rest = query;
  for (;;) {
    ASSIGN_OR_RETURN(JournalLook look, LookAtJournal(key, rest, limit));
    if (look.page.end || !look.page.entries.empty()) return std::move(look.page);
    rest.after = look.to;  // a page is empty only at the end
  }
}

absl::StatusOr<Reads::JournalLook> Reads::LookAtJournal(const SessionKey& key,
                                                        const JournalQuery& query,
                                                        PageLimit limit) {
  JournalPart part;
  if (const auto known = heads_.Find(key)) part = PartOf(known->head, query.turn);
  for (int look = 0; look < kLooks; ++look) {
    const JournalNumber from = std::max(query.after, part.behind);
    const JournalNumber to = LookEnd(from, part);
    Params params = KeyParams(key);
    params.Int(Clamped(from.value()));
    Put(limit, params);
    if (query.turn) params.Int(Clamped(to.value())).Int(Clamped(query.turn->value()));
    ASSIGN_OR_RETURN(const Rows rows,
                     database_.Ask(query.turn ? kJournalOfTurn : kJournal, params));
    ASSIGN_OR_RETURN(const Head head, HeadIn(rows, key));
    const JournalNumber floor = JournalFloor(head);
    if (query.after > JournalNumber() && query.after < floor) {
      return Refusal(Reason::kRevisionPruned, "these entries are no longer kept")
          .With("oldest", floor.value() + 1);
    }
    part = PartOf(head, query.turn);
    if (std::max(query.after, part.behind) != from) continue;
    JournalLook seen{.page = {.uid = head.uid, .entries = {}, .at = PositionOf(head)}, .to = to};
    std::vector<JournalEntry>& entries = seen.page.entries;
    RETURN_IF_ERROR(ReadEntries(rows, from, query, entries));
    seen.page.end = query.turn ? IsEnd(entries, head, *query.turn, to)
                               : entries.empty() || entries.back().journal_number >= head.journal;
    return seen;
  }
  return StoreUnavailable("the session is changing too fast: try again", Fate::kNoEffect);
}

absl::StatusOr<Event> Reads::LastEvent(const SessionKey& key) {
  ASSIGN_OR_RETURN(const Rows rows, database_.Ask(kLastEvent, KeyParams(key)));
  if (rows.empty() || !rows.Bool(0, 0)) {
    return Refusal(Reason::kSessionNotFound, "no deleted session has this id");
  }
  std::optional<Event> event = DecodeEvent(rows.Bytes(0, 1));
  if (!event) return Damaged("event", 0);
  return *std::move(event);
}

}  // namespace holdfast::pg

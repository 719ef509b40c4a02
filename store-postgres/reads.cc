#include "store-postgres/reads.h"

#include "session/codec/records.h"
#include "session/guard.h"
#include "session/kept.h"
#include "session/refusal.h"
#include "session/status_macros.h"
#include "store-postgres/change_rows.h"
#include "store-postgres/event_row.h"
#include "store-postgres/journal_part.h"
#include "store-postgres/standing.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::pg {
namespace {

// A page's first row brings the head, the further ones leave it out; the items stand behind it,
// numbered from 1. The page ends at the limit of items, or behind the last item that keeps it
// within the limit of bytes.
constexpr Statement kMessages = {
    "messages",
    "SELECT h.version, h.store_id, h.deleted, h.head, h.head_sum, h.lease_left, i.seq, i.rec"
    " FROM holdfast.standing s LEFT JOIN LATERAL ("
    "  SELECT m.seq, m.rec, row_number() OVER w AS n, sum(m.size) OVER w AS total"
    "  FROM holdfast.message m WHERE m.tenant = $1 AND m.session_id = $2"
    "   AND m.generation = CASE WHEN $3 = 0 THEN s.generation ELSE $3 END"
    "   AND m.seq > $4 AND m.seq <= CASE WHEN $3 = 0 THEN s.messages ELSE $5 END"
    "  WINDOW w AS (ORDER BY m.seq ROWS UNBOUNDED PRECEDING)"
    "  ORDER BY m.seq LIMIT $6) i ON i.n = 1 OR i.total <= $7"
    " LEFT JOIN LATERAL (SELECT s.version, s.store_id, s.deleted, s.head, s.head_sum,"
    "  s.lease_left WHERE coalesce(i.n, 1) = 1) h ON true"
    " WHERE s.tenant = $1 AND s.session_id = $2"};
// All slots, and those of owners that are named. One statement for both would have one plan, which
// reads every slot of the session.
constexpr Statement kSlots = {
    "slots",
    "SELECT h.version, h.store_id, h.deleted, h.head, h.head_sum, h.lease_left,"
    " i.revision, i.size, i.owner, i.rec,"
    " CASE WHEN i.total <= $4 THEN i.data END, i.total > $4 AND octet_length(i.data) > 0"
    " FROM holdfast.standing s LEFT JOIN LATERAL ("
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
    " FROM holdfast.standing s LEFT JOIN LATERAL ("
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
    " FROM holdfast.standing s LEFT JOIN LATERAL ("
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
    " FROM holdfast.standing s LEFT JOIN LATERAL ("
    "  SELECT j.number, j.rec, j.slot_rec, j.slot_data, row_number() OVER w AS n,"
    "   sum(j.size) OVER w AS total"
    "  FROM holdfast.journal j WHERE j.tenant = $1 AND j.session_id = $2 AND j.number > $3"
    "   AND j.number <= $6 AND j.turn = $7"
    "  WINDOW w AS (ORDER BY j.number ROWS UNBOUNDED PRECEDING)"
    "  ORDER BY j.number LIMIT $4) i ON i.n = 1 OR i.total <= $5"
    " LEFT JOIN LATERAL (SELECT s.version, s.store_id, s.deleted, s.head, s.head_sum,"
    "  s.lease_left WHERE coalesce(i.n, 1) = 1) h ON true"
    " WHERE s.tenant = $1 AND s.session_id = $2"};
constexpr Statement kEvents = {
    "events",
    "SELECT h.version, h.store_id, h.deleted, h.head, h.head_sum, h.lease_left, i.seq, i.recs"
    " FROM holdfast.standing s LEFT JOIN LATERAL ("
    "  SELECT e.seq, e.recs, row_number() OVER w AS n, sum(e.size) OVER w AS total"
    "  FROM holdfast.event e WHERE e.tenant = $1 AND e.session_id = $2 AND e.seq > $3"
    "  WINDOW w AS (ORDER BY e.seq ROWS UNBOUNDED PRECEDING)"
    "  ORDER BY e.seq LIMIT $4) i ON i.n = 1 OR i.total <= $5"
    " LEFT JOIN LATERAL (SELECT s.version, s.store_id, s.deleted, s.head, s.head_sum,"
    "  s.lease_left WHERE coalesce(i.n, 1) = 1) h ON true"
    " WHERE s.tenant = $1 AND s.session_id = $2"};
constexpr Statement kAudit = {
    "audit",
    "SELECT h.version, h.store_id, h.deleted, h.head, h.head_sum, h.lease_left, i.seq, i.rec"
    " FROM holdfast.standing s LEFT JOIN LATERAL ("
    "  SELECT a.seq, a.rec, row_number() OVER w AS n, sum(a.size) OVER w AS total"
    "  FROM holdfast.audit a WHERE a.tenant = $1 AND a.session_id = $2 AND a.seq > $3"
    "  WINDOW w AS (ORDER BY a.seq ROWS UNBOUNDED PRECEDING)"
    "  ORDER BY a.seq LIMIT $4) i ON i.n = 1 OR i.total <= $5"
    " LEFT JOIN LATERAL (SELECT s.version, s.store_id, s.deleted, s.head, s.head_sum,"
    "  s.lease_left WHERE coalesce(i.n, 1) = 1) h ON true"
    " WHERE s.tenant = $1 AND s.session_id = $2"};
constexpr Statement kLastEvent = {"last_event",
                                  "SELECT deleted, last_event FROM holdfast.session"
                                  " WHERE tenant = $1 AND session_id = $2"};
enum ItemColumn : size_t { kNumber = kStandingColumns, kRecord };
enum SlotColumn : size_t {
  kRevision = kStandingColumns,
  kSize,
  kOwner,
  kSlotRecord,
  kLeftOut = kSlotRecord + 2
};

// A page is asked for on what is known of the head, and once more if the head says otherwise.
constexpr int kLooks = 3;
// Entries of other turns that one statement passes over in search of those of one turn.
constexpr uint64_t kEntriesLookedAt = 4096;

int64_t Clamped(uint64_t value) {
  return static_cast<int64_t>(
      std::min<uint64_t>(value, static_cast<uint64_t>(std::numeric_limits<int64_t>::max())));
}

Params KeyParams(const SessionKey& key) {
  Params params;
  params.Text(key.tenant.value()).Text(key.session.value());
  return params;
}

std::vector<std::string> Unique(std::vector<std::string> names) {
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

void Put(PageLimit limit, Params& params) {
  params.Int(Clamped(limit.items)).Int(Clamped(limit.bytes));
}

// Where a history of messages is.
struct Place {
  Generation generation;  // 0: as the head has it now
  MessageSeq newest;

  bool operator==(const Place&) const = default;
};

Place PlaceAt(const Head& head, std::optional<Revision> revision) {
  if (!revision || *revision == head.revision) return {};
  const SnapshotRecord& snapshot = SnapshotAt(head, *revision);
  return {.generation = snapshot.generation, .newest = snapshot.messages};
}

void Describe(const Head& head, std::optional<Revision> revision, MessagePage& page) {
  page.at = PositionOf(head);
  page.newest = head.messages;
  page.generation = head.generation;
  page.history = head.history;
  if (!revision || *revision == head.revision) return;
  const SnapshotRecord& snapshot = SnapshotAt(head, *revision);
  page.at = {.revision = *revision, .journal = snapshot.at.journal};
  page.newest = snapshot.messages;
  page.generation = snapshot.generation;
  const bool same = page.newest == head.messages && page.generation == head.generation;
  if (!same) page.history = Digest{};
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

// The items of a page, which follow each other without a gap. `first` is the number of the first.
template <typename Item, typename Decode>
absl::Status ReadItems(const Rows& rows, uint64_t first, std::string_view what, Decode decode,
                       std::vector<Item>& items) {
  items.reserve(rows.size());
  for (size_t row = 0; row < rows.size(); ++row) {
    if (rows.IsNull(row, kNumber)) break;  // the head alone
    const uint64_t number = first + items.size();
    if (static_cast<uint64_t>(rows.Int(row, kNumber)) != number) return Damaged(what, number);
    std::optional<Item> item = decode(rows.Bytes(row, kRecord));
    if (!item) return Damaged(what, number);
    items.push_back(*std::move(item));
  }
  return absl::OkStatus();
}

// What a page still takes: its first item in any case.
class PageRoom {
 public:
  explicit PageRoom(PageLimit limit) : left_(limit) {}

  bool Takes(size_t bytes) {
    full_ = full_ || left_.items == 0 || (!empty_ && bytes > left_.bytes);
    if (full_) return false;
    empty_ = false;
    --left_.items;
    left_.bytes -= std::min(bytes, left_.bytes);
    return true;
  }
  // True from the first item on that it did not take.
  [[nodiscard]] bool full() const { return full_; }

 private:
  PageLimit left_;
  bool empty_ = true;
  bool full_ = false;
};

// The events of `row` that come after `after` and those in `events`, as far as there is room.
// EVENTS_COMPACTED when the first of them is not the next one.
absl::Status ReadEventsInto(const Rows& rows, size_t row, EventSeq after, PageRoom& room,
                            std::vector<Event>& events) {
  const uint64_t next = after.value() + events.size() + 1;
  std::optional<std::vector<Event>> found = ReadEvents(rows.Bytes(row, kRecord));
  if (!found || Clamped(found->back().seq.value()) != rows.Int(row, kNumber)) {
    return Damaged("event", next);
  }
  const uint64_t first = found->front().seq.value();
  if (events.empty() && first > next) {
    return Refusal(Reason::kEventsCompacted, "these events are no longer kept")
        .With("oldest", first);
  }
  for (Event& event : *found) {
    if (event.seq <= after) continue;
    if (event.seq.value() != after.value() + events.size() + 1) return Damaged("event", next);
    if (!room.Takes(static_cast<size_t>(SizeOf(event)))) break;
    events.push_back(std::move(event));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Head> Reads::HeadIn(const Rows& rows, const SessionKey& key) {
  Standing standing = ReadStanding(rows, 0, database_);
  if (!standing.refusal.ok()) {
    heads_.Forget(key);
    return standing.refusal;
  }
  heads_.Put(key, {.version = standing.version, .sum = standing.sum, .head = standing.head});
  return std::move(standing.head);
}

absl::StatusOr<MessagePage> Reads::Messages(const SessionKey& key, std::optional<Revision> revision,
                                            MessageSeq after, PageLimit limit) {
  Place place;
  if (const auto known = revision ? heads_.Find(key) : std::nullopt) {
    if (CheckKept(known->head, revision).ok()) place = PlaceAt(known->head, revision);
  }
  for (int look = 0; look < kLooks; ++look) {
    Params params = KeyParams(key);
    params.Int(Clamped(place.generation.value())).Int(Clamped(after.value()));
    params.Int(Clamped(place.newest.value()));
    Put(limit, params);
    ASSIGN_OR_RETURN(const Rows rows, database_.Ask(kMessages, params));
    ASSIGN_OR_RETURN(const Head head, HeadIn(rows, key));
    RETURN_IF_ERROR(CheckKept(head, revision));
    const Place right = PlaceAt(head, revision);
    if (right != place) {
      place = right;
      continue;
    }
    MessagePage page;
    Describe(head, revision, page);
    RETURN_IF_ERROR(ReadItems(rows, after.value() + 1, "message", DecodeMessage, page.messages));
    page.end = after.value() + page.messages.size() >= page.newest.value();
    if (page.messages.empty() && !page.end) return Damaged("message", after.value() + 1);
    return page;
  }
  return StoreUnavailable("the session is changing too fast: try again", Fate::kNoEffect);
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
  RETURN_IF_ERROR(CheckKept(head, query.revision));
  SlotPage page;
  page.at = PositionOf(head);
  if (query.revision && *query.revision < head.revision) {
    page.at = {.revision = *query.revision,
               .journal = SnapshotAt(head, *query.revision).at.journal};
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
    JournalLook seen{.page = {.entries = {}, .at = PositionOf(head)}, .to = to};
    std::vector<JournalEntry>& entries = seen.page.entries;
    RETURN_IF_ERROR(ReadEntries(rows, from, query, entries));
    seen.page.end = query.turn ? IsEnd(entries, head, *query.turn, to)
                               : entries.empty() || entries.back().journal_number >= head.journal;
    return seen;
  }
  return StoreUnavailable("the session is changing too fast: try again", Fate::kNoEffect);
}

absl::StatusOr<EventPage> Reads::Events(const SessionKey& key, EventSeq after, PageLimit limit) {
  interest_.Note(key, database_.clock.SinceBoot());  // before: what comes later is told of
  Params params = KeyParams(key);
  params.Int(Clamped(after.value()));
  Put(limit, params);
  ASSIGN_OR_RETURN(const Rows rows, database_.Ask(kEvents, params));
  ASSIGN_OR_RETURN(const Head head, HeadIn(rows, key));
  EventPage page;
  page.revision = head.revision;
  PageRoom room(limit);
  for (size_t row = 0; row < rows.size() && !rows.IsNull(row, kNumber) && !room.full(); ++row) {
    RETURN_IF_ERROR(ReadEventsInto(rows, row, after, room, page.events));
  }
  page.end = after.value() + page.events.size() >= head.last_event.value();
  return page;
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

absl::StatusOr<AuditPage> Reads::Audit(const SessionKey& key, AuditSeq after, PageLimit limit) {
  Params params = KeyParams(key);
  params.Int(Clamped(after.value()));
  Put(limit, params);
  ASSIGN_OR_RETURN(const Rows rows, database_.Ask(kAudit, params));
  ASSIGN_OR_RETURN(const Head head, HeadIn(rows, key));
  AuditPage page;
  RETURN_IF_ERROR(ReadItems(rows, after.value() + 1, "audit record", DecodeAudit, page.records));
  page.end = after.value() + page.records.size() >= head.last_audit.value();
  return page;
}

}  // namespace holdfast::pg

// Messages, events and audit records, which lie in pieces in the log.
#include "platform/status_macros.h"
#include "session/codec/records.h"
#include "session/guard.h"
#include "session/history_spans.h"
#include "session/kept.h"
#include "session/limits.h"
#include "session/refusal.h"
#include "store-postgres/change_rows.h"
#include "store-postgres/log_rows.h"
#include "store-postgres/pin_reads.h"
#include "store-postgres/read_params.h"
#include "store-postgres/reads.h"
#include "store-postgres/stored_head.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace holdfast::pg {
namespace {

// A read begins at the row of a number, or where the last one stopped ($6, $7), and its limit
// counts rows. The head comes first, then the rows of the log in their order: an Append carries out
// one part after the other, and each part is a nested loop around a scan along the key. Rows in
// another order would be noticed: by their numbers, and by a first row without a head.
constexpr Statement kMessages = {
    "messages",
    "SELECT s.version, s.store_id, s.deleted, s.head, s.head_sum, s.lease_left,"
    " NULL::bigint, NULL::integer, NULL::bigint, NULL::bytea"
    " FROM holdfast.current_session s WHERE s.tenant = $1 AND s.session_id = $2"
    " UNION ALL "
    "SELECT NULL, NULL, NULL, NULL, NULL, NULL, l.n, l.part, l.messages, l.msgs"
    " FROM (SELECT s.version, CASE WHEN $3 = 0 THEN s.generation ELSE $3 END AS generation,"
    "   CASE WHEN $3 = 0 THEN s.messages ELSE $5 END AS newest"
    "  FROM holdfast.session s WHERE s.tenant = $1 AND s.session_id = $2) h"
    " CROSS JOIN LATERAL ("
    "  SELECT f.n, f.part FROM holdfast.find_row($1, $2, 0, h.generation, $4, h.version) f"
    "  WHERE $6 = 0 UNION ALL SELECT $6, $7 WHERE $6 > 0) b"
    " CROSS JOIN LATERAL holdfast.find_row($1, $2, 0, h.generation, h.newest, h.version) e"
    " CROSS JOIN LATERAL (SELECT x.n, x.part, x.messages, x.msgs FROM holdfast.log x"
    "  WHERE x.tenant = $1 AND x.session_id = $2 AND (x.n, x.part) >= (b.n, b.part)"
    "   AND x.n <= e.n AND x.generation = h.generation AND x.msgs IS NOT NULL"
    "  ORDER BY x.n, x.part LIMIT $8) l"};
constexpr char kActsText[] =
    "SELECT s.version, s.store_id, s.deleted, s.head, s.head_sum, s.lease_left,"
    " NULL::bigint, NULL::integer, NULL::bigint, NULL::bytea, NULL::boolean"
    " FROM holdfast.current_session s WHERE s.tenant = $1 AND s.session_id = $2"
    " UNION ALL "
    "SELECT NULL, NULL, NULL, NULL, NULL, NULL, l.n, l.part, l.before, l.acts,"
    "  l.at < holdfast.clock() - $8::interval"
    " FROM holdfast.session s"
    " CROSS JOIN LATERAL ("
    "  SELECT f.n, f.part FROM holdfast.find_row($1, $2, $3, 0, $4, s.version) f"
    "  WHERE $5 = 0 UNION ALL SELECT $5, $6 WHERE $5 > 0) b"
    " CROSS JOIN LATERAL (SELECT x.n, x.part, x.at, x.acts,"
    "   CASE $3 WHEN 1 THEN x.events ELSE x.audit END AS before FROM holdfast.log x"
    "  WHERE x.tenant = $1 AND x.session_id = $2 AND (x.n, x.part) >= (b.n, b.part)"
    "   AND x.acts IS NOT NULL"
    "  ORDER BY x.n, x.part LIMIT $7) l"
    " WHERE s.tenant = $1 AND s.session_id = $2";
constexpr Statement kReadEvents = {"events", kActsText};
constexpr Statement kReadAudit = {"audit", kActsText};
constexpr ActsKind kEvents = {.statement = kReadEvents, .number = 1, .what = "event"};
constexpr ActsKind kAudit = {.statement = kReadAudit, .number = 2, .what = "audit record"};
// How many events were there before the first change that is not older than an interval, and before
// the one that has an event's number: the smaller.
constexpr Statement kEventsBefore = {
    "events_before",
    "SELECT least("
    "  (SELECT l.events FROM holdfast.log l"
    "   WHERE l.tenant = $1 AND l.session_id = $2 AND l.n > f.n ORDER BY l.n, l.part LIMIT 1),"
    "  (SELECT l.events FROM holdfast.log l"
    "   WHERE l.tenant = $1 AND l.session_id = $2 AND l.n = g.n AND l.part = 0), $4 - 1)"
    " FROM holdfast.session s"
    " CROSS JOIN LATERAL holdfast.find_row($1, $2, 3, 0,"
    "  (extract(epoch FROM holdfast.clock() - $3::interval) * 1000000)::bigint, s.version) f"
    " CROSS JOIN LATERAL holdfast.find_row($1, $2, 1, 0, $4, s.version) g"
    " WHERE s.tenant = $1 AND s.session_id = $2"};
// The columns of a row of the log. Those of a change's acts include whether it is older than its
// events are kept.
enum LogColumn : size_t { kN = kStoredHeadColumns, kPart, kBefore, kPiece, kOld };
// Of the rows of the log, which follow the head's.
constexpr size_t kFirstLogRow = 1;
// Rows of the log in one statement, and in a further one for the same page: a message may need
// several thousand.
constexpr int64_t kLogRowsMost = 4096;
constexpr int64_t kFurtherRowsLeast = 256;

// The number behind `after`, of which there is none behind all numbers.
uint64_t Behind(uint64_t after) {
  constexpr auto kLast = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  return std::min(after, kLast - 1) + 1;
}

void Describe(const Head& head, std::optional<Revision> revision, MessagePage& page) {
  page.uid = head.uid;
  page.at = PositionOf(head);
  page.newest = head.messages;
  page.generation = head.generation;
  if (!revision || *revision == head.revision) return;
  const SnapshotRecord& snapshot = SnapshotAt(head, *revision);
  page.at = {.revision = *revision, .journal = snapshot.at.journal};
  page.newest = snapshot.messages;
  page.generation = snapshot.generation;
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
  // It takes no more.
  [[nodiscard]] bool full() const { return full_ || left_.items == 0; }
  [[nodiscard]] PageLimit left() const { return left_; }

 private:
  PageLimit left_;
  bool empty_ = true;
  bool full_ = false;
};

// Rows that are worth asking for: a page of small items has several in a row, one of large ones
// several rows to an item.
int64_t RowsFor(PageLimit limit) {
  constexpr size_t kBeside = 2;  // what has begun before, and what goes on behind
  const size_t rows = std::min<size_t>(limit.items, limit.bytes / kLogRowBytes);
  return std::min(Clamped(rows + kBeside), kLogRowsMost);
}

int64_t FurtherRowsFor(PageLimit limit) {
  return std::clamp(Clamped(limit.bytes / kLogRowBytes), kFurtherRowsLeast, kLogRowsMost);
}

// Rows for `left` more items, where the last `rows` brought `items`.
// NOLINTNEXTLINE(bugprone-easily-swappable-parameters): counts, in the order of the sentence
int64_t RowsForMore(size_t left, size_t rows, size_t items) {
  constexpr size_t kBeside = 1;  // the last item goes on behind
  return std::min(Clamped(left * rows / items + kBeside), kLogRowsMost);
}

LogPlace PlaceOf(const Rows& rows, size_t row) {
  return {.n = rows.Int(row, kN), .part = rows.Int4(row, kPart)};
}

// Adds those of a change's events that come after `after` and those in `events`; the last event
// before the change is `before`. False when there is no room for more.
// NOLINTNEXTLINE(bugprone-easily-swappable-parameters): swapped, every event is damaged
absl::StatusOr<bool> TakeEvents(const std::vector<Event>& found, EventSeq before, EventSeq after,
                                PageRoom& room, std::vector<Event>& events) {
  uint64_t number = before.value();
  for (const Event& event : found) {
    if (++number <= after.value()) continue;
    if (room.full()) return false;
    const uint64_t next = after.value() + events.size() + 1;
    if (number != next || event.seq.value() != next) return Damaged("event", next);
    if (!room.Takes(static_cast<size_t>(SizeOf(event)))) return false;
    events.push_back(event);
  }
  return true;
}

// The messages of one page, place by place.
class MessageItems {
 public:
  MessageItems(MessageSeq after, MessageSeq newest, PageLimit limit)
      : next_(Behind(after.value())), newest_(newest.value()), room_(limit) {}

  // What follows is of another place, which has messages up to `last`; 0: all.
  void Begin(MessageSeq last) {
    reader_ = MessageReader();
    last_ = last == MessageSeq() ? newest_ : std::min(last.value(), newest_);
  }
  // DAMAGED when they are not what was written.
  absl::Status Take(const Rows& rows, size_t row) {
    const auto before = static_cast<uint64_t>(rows.Int(row, kBefore));
    if (!reader_.Take(PlaceOf(rows, row), before, rows.Bytes(row, kPiece))) {
      return Damaged("message", next_);
    }
    while (!PlaceDone()) {
      const auto item = reader_.Next();
      if (!item) break;
      if (item->number < next_) continue;
      std::optional<Message> message = DecodeMessage(item->record);
      if (!message || item->number != next_ || message->seq.value() != next_) {
        return Damaged("message", next_);
      }
      if (!room_.Takes(static_cast<size_t>(SizeOf(*message)))) break;
      messages_.push_back(*std::move(message));
      ++next_;
    }
    return absl::OkStatus();
  }

  [[nodiscard]] bool Done() const { return room_.full() || next_ > newest_; }
  [[nodiscard]] bool PlaceDone() const { return room_.full() || next_ > last_; }
  [[nodiscard]] MessageSeq next() const { return MessageSeq(next_); }
  [[nodiscard]] PageLimit room() const { return room_.left(); }
  std::vector<Message>& messages() { return messages_; }

 private:
  uint64_t next_;
  const uint64_t newest_;
  uint64_t last_ = 0;  // of this place
  PageRoom room_;
  MessageReader reader_;
  std::vector<Message> messages_;
};

// Until `items` has what it wants of this place; `last` is set to the place of the last one taken.
absl::Status TakeRows(const Rows& rows, MessageItems& items, LogPlace& last) {
  for (size_t row = kFirstLogRow; row < rows.size() && !items.PlaceDone(); ++row) {
    RETURN_IF_ERROR(items.Take(rows, row));
    last = PlaceOf(rows, row);
  }
  return absl::OkStatus();
}

}  // namespace

Reads::Place Reads::PlaceAt(const Head& head, std::optional<Revision> revision, MessageSeq seq) {
  const bool is_now = !revision || *revision == head.revision;
  if (is_now && head.shared.empty()) return {};
  Generation generation = head.generation;
  MessageSeq messages = head.messages;
  if (!is_now) {
    const SnapshotRecord& snapshot = SnapshotAt(head, *revision);
    generation = snapshot.generation;
    messages = snapshot.messages;
  }
  std::vector<HistorySpan> spans = SpansOf(head, generation, messages);
  if (spans.empty()) spans.push_back({.generation = generation, .last = messages});
  const HistorySpan& span = SpanWith(spans, seq);
  if (is_now && span.generation == generation) return {};
  return {.generation = span.generation, .newest = span.last};
}

absl::StatusOr<MessagePage> Reads::Messages(const SessionKey& key, std::optional<Revision> revision,
                                            MessageSeq after, PageLimit limit) {
  PageStart start;
  const MessageSeq first(Behind(after.value()));
  if (const auto known = heads_.Find(key)) {
    if (CheckKept(known->head, revision).ok()) start.place = PlaceAt(known->head, revision, first);
  }
  start.before = page_ends_.Find(key);
  if (start.before && start.before->last != after) start.before.reset();
  for (int look = 0; look < kLooks; ++look) {
    if (start.before && start.before->generation != start.place.generation) start.before.reset();
    const bool searched = !start.before;
    absl::StatusOr<std::optional<MessagePage>> page =
        MessagesAt(key, revision, start, after, limit);
    // It was of another history, or of changes that a failover has lost.
    if (!searched && Is(page.status(), Reason::kDamaged)) {
      start.before.reset();
      continue;
    }
    RETURN_IF_ERROR(page.status());
    if (*page) return **std::move(page);
  }
  return StoreUnavailable("the session is changing too fast: try again", Fate::kNoEffect);
}

absl::StatusOr<std::optional<MessagePage>> Reads::MessagesAt(const SessionKey& key,
                                                             std::optional<Revision> revision,
                                                             PageStart& start, MessageSeq after,
                                                             PageLimit limit) {
  std::optional<MessageItems> items;
  MessagePage page;
  LogPlace last;  // of the rows that the page has been taken from
  Place place = start.place;
  MessageSeq next(Behind(after.value()));
  LogPlace from = start.before ? start.before->row : LogPlace();  // n = 0: that of the first number
  int64_t most = RowsFor(limit);
  for (;;) {
    Params params = KeyParams(key);
    params.Int(Clamped(place.generation.value())).Int(Clamped(next.value()));
    params.Int(Clamped(place.newest.value())).Int(from.n).Int4(from.part).Int(most);
    ASSIGN_OR_RETURN(const Rows rows, database_.Ask(kMessages, params));
    ASSIGN_OR_RETURN(const Head now, HeadIn(rows, key));
    // Read behind the messages: what is still pinned then was not pruned before.
    ASSIGN_OR_RETURN(const std::optional<Head> with_pin,
                     ReadHeadWithPin(database_, key, now, revision));
    const Head& head = with_pin ? *with_pin : now;
    RETURN_IF_ERROR(CheckKept(head, revision));
    const Generation read = page.generation;
    Describe(head, revision, page);
    // It was not known yet, or while the page's rows are read the history has been replaced.
    if (PlaceAt(head, revision, next) != place || (items && page.generation != read)) {
      start.place = PlaceAt(head, revision, MessageSeq(Behind(after.value())));
      return std::nullopt;
    }
    if (!items) {
      items.emplace(after, page.newest, limit);
      items->Begin(place.newest);
    }
    const size_t had = items->messages().size();
    RETURN_IF_ERROR(TakeRows(rows, *items, last));
    if (items->Done()) break;
    if (items->PlaceDone()) {
      next = items->next();
      place = PlaceAt(head, revision, next);
      items->Begin(place.newest);
      from = LogPlace();
      most = RowsFor(items->room());
      continue;
    }
    const size_t found = rows.size() - kFirstLogRow;
    if (found < static_cast<size_t>(most)) {
      return Damaged("message", after.value() + items->messages().size() + 1);
    }
    from = PlaceOf(rows, rows.size() - 1).Next();
    const size_t have = items->messages().size();
    most = have == had ? FurtherRowsFor(limit) : RowsForMore(limit.items - have, found, have - had);
  }
  page.messages = std::move(items->messages());
  page.end = after.value() + page.messages.size() >= page.newest.value();
  if (!page.end && !page.messages.empty()) {
    const PageEnd end = {
        .last = page.messages.back().seq, .generation = place.generation, .row = last};
    page_ends_.Put(key, end, [](const PageEnd& /*there*/) { return false; });
  }
  return page;
}

absl::StatusOr<Head> Reads::EachActs(const SessionKey& key, const ActsQuery& query, TakeActs take) {
  ActsReader reader;
  LogPlace from;  // n = 0: the row of the first number
  const uint64_t first = Behind(query.after);
  int64_t most = RowsFor(query.limit);
  for (;;) {
    Params params = KeyParams(key);
    params.Int4(query.kind.number).Int(Clamped(first)).Int(from.n).Int4(from.part).Int(most);
    params.Interval(database_.retention.events);
    ASSIGN_OR_RETURN(const Rows rows, database_.Ask(query.kind.statement, params));
    ASSIGN_OR_RETURN(Head head, HeadIn(rows, key));
    for (size_t row = kFirstLogRow; row < rows.size(); ++row) {
      if (!reader.Take(PlaceOf(rows, row), rows.Bytes(row, kPiece))) {
        return Damaged(query.kind.what, first);
      }
      if (!reader.IsWhole()) continue;
      const std::optional<Acts> acts = ReadActs(reader.pieces());
      if (!acts) return Damaged(query.kind.what, first);
      ASSIGN_OR_RETURN(const bool more, take(rows, row, *acts));
      if (!more) return head;
    }
    if (rows.size() - kFirstLogRow < static_cast<size_t>(most)) return head;
    from = PlaceOf(rows, rows.size() - 1).Next();
    most = FurtherRowsFor(query.limit);
  }
}

// Checks what must be kept, and not what happens to be there.
absl::Status Reads::CheckPromise(const SessionKey& key, const ReadFrom& from, EventSeq last) {
  const uint64_t least = last.value() - std::min<uint64_t>(last.value(), kEventsKeptLeast);
  if (from.last.value() > least || !from.old) return absl::OkStatus();
  Params params = KeyParams(key);
  params.Interval(database_.retention.events).Int(Clamped(least + 1));
  ASSIGN_OR_RETURN(const Rows rows, database_.Ask(kEventsBefore, params));
  const uint64_t gone = rows.empty() ? least : static_cast<uint64_t>(rows.Int(0, 0));
  return Refusal(Reason::kEventsCompacted, "these events are no longer kept")
      .With("oldest", gone + 1);
}

absl::StatusOr<EventPage> Reads::Events(const SessionKey& key, EventSeq after, PageLimit limit) {
  interest_.Note(key, database_.clock.SinceBoot());  // first: it gets notices of later events
  EventPage page;
  PageRoom room(limit);
  ReadFrom from;
  const auto take = [&](const Rows& rows, size_t row, const Acts& acts) -> absl::StatusOr<bool> {
    if (page.events.empty() && !acts.events.empty()) {
      from = {.old = rows.Bool(row, kOld), .last = acts.events.back().seq};
    }
    const EventSeq before(static_cast<uint64_t>(rows.Int(row, kBefore)));
    return TakeEvents(acts.events, before, after, room, page.events);
  };
  ASSIGN_OR_RETURN(const Head head,
                   EachActs(key, {.kind = kEvents, .after = after.value(), .limit = limit}, take));
  if (!page.events.empty()) {
    RETURN_IF_ERROR(CheckPromise(key, from, head.last_event));
  }
  page.uid = head.uid;
  page.revision = head.revision;
  page.end = after.value() + page.events.size() >= head.last_event.value();
  return page;
}

absl::StatusOr<AuditPage> Reads::Audit(const SessionKey& key, AuditSeq after, PageLimit limit) {
  AuditPage page;
  PageRoom room(limit);
  const auto take = [&](const Rows& rows, size_t row, const Acts& acts) -> absl::StatusOr<bool> {
    if (room.full()) return false;
    const uint64_t number = static_cast<uint64_t>(rows.Int(row, kBefore)) + 1;
    if (!acts.audit || number <= after.value()) return true;
    const uint64_t next = after.value() + page.records.size() + 1;
    if (number != next || acts.audit->seq.value() != next) return Damaged("audit record", next);
    if (!room.Takes(static_cast<size_t>(SizeOf(*acts.audit)))) return false;
    page.records.push_back(*acts.audit);
    return true;
  };
  ASSIGN_OR_RETURN(const Head head,
                   EachActs(key, {.kind = kAudit, .after = after.value(), .limit = limit}, take));
  page.uid = head.uid;
  page.end = after.value() + page.records.size() >= head.last_audit.value();
  return page;
}

}  // namespace holdfast::pg

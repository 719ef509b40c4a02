#include "store-postgres/listing.h"

#include "platform/status_macros.h"
#include "session/cancel_requests.h"
#include "session/limits.h"
#include "session/refusal.h"
#include "store-postgres/read_params.h"
#include "store-postgres/stored_head.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::pg {
namespace {

// The heads that one statement answers have at most so many bytes together, and it looks at so many
// rows: a filter may pass over a whole tenant, bit by bit.
constexpr int64_t kHeadsBytes = int64_t{8} * 1024 * 1024;
constexpr int64_t kLooksAt = 10'000;

// Which rows a listing is of, and in which order.
struct Listed {
  const char* among = "";
  const char* also = "";  // what else must hold of a row that is wanted
  std::vector<std::string> order = {"listed_at", "session_id"};
  const char* after = "($2, $3)";  // the position, as the order has it
  int params = 8;                  // how many a listing of it has
};

// `columns` as a list; `direction` behind each of them.
std::string List(const std::vector<std::string>& columns, const char* direction) {
  return absl::StrCat(absl::StrJoin(columns, absl::StrCat(direction, ", ")), direction);
}

// A page of the rows of a listing, in one order, served by an index. Heads beyond kHeadsBytes are
// left out. The last row that was read is in the answer even if the filter excludes it, so that the
// next statement continues behind it.
std::string RowsSql(bool descending, const Listed& listed) {
  return absl::StrReplaceAll(
      "SELECT session_id, store_id,"
      " CASE WHEN wanted AND sum(octet_length(head)) FILTER (WHERE wanted) OVER w <= $6"
      "  THEN head END, head_sum, listed_at, wanted, n = $7, session_group FROM ("
      "  SELECT session_id, store_id, head, head_sum, listed_at, session_group,"
      "   ($4::integer[] IS NULL OR lifecycle = ANY ($4))"
      "   AND ($8::integer[] IS NULL OR kind = ANY ($8)){also} AS wanted,"
      "   row_number() OVER v AS n"
      "  FROM holdfast.session"
      "  WHERE tenant = $1 AND NOT deleted{among} AND ({columns}) {behind} {after}"
      "  WINDOW v AS (ORDER BY {order} ROWS UNBOUNDED PRECEDING) ORDER BY {order} LIMIT $7) s"
      " WHERE wanted OR n = $7"
      " WINDOW w AS (ORDER BY {order} ROWS UNBOUNDED PRECEDING) ORDER BY {order} LIMIT $5",
      {{"{among}", listed.among},
       {"{also}", listed.also},
       {"{columns}", List(listed.order, "")},
       {"{behind}", descending ? "<" : ">"},
       {"{after}", listed.after},
       {"{order}", List(listed.order, descending ? " DESC" : "")}});
}

// The same with slots: each row comes once for each slot that it has, by owner, or once if it has
// none; only the first time with its head. The data of a slot of more than {each} bytes is left
// out, and so is that behind {all} bytes of data.
std::string RowsWithSlotsSql(bool descending, const Listed& listed) {
  return absl::StrReplaceAll(
      "SELECT l.session_id, l.store_id, CASE WHEN coalesce(i.n, 1) = 1 THEN l.head END,"
      " l.head_sum, l.listed_at, l.wanted, l.last, l.session_group,"
      " i.owner, i.revision, i.size, i.rec,"
      " CASE WHEN octet_length(i.data) <= {each} AND"
      "  sum(CASE WHEN octet_length(i.data) <= {each} THEN octet_length(i.data) ELSE 0 END)"
      "   OVER w <= {all} THEN i.data END, octet_length(i.data)"
      " FROM ({rows}) l"
      "  (session_id, store_id, head, head_sum, listed_at, wanted, last, session_group)"
      " LEFT JOIN LATERAL ("
      "  SELECT v.*, row_number() OVER (ORDER BY v.owner) AS n"
      "  FROM unnest({owners}::text[]) AS u (owner) CROSS JOIN LATERAL ("
      "   SELECT x.owner, x.revision, x.size, x.rec, x.data FROM holdfast.slot x"
      "   WHERE x.tenant = $1 AND x.session_id = l.session_id AND x.owner = u.owner"
      "   ORDER BY x.revision DESC LIMIT 1) v WHERE v.rec IS NOT NULL) i ON l.head IS NOT NULL"
      " WINDOW w AS (ORDER BY {order}, i.owner ROWS UNBOUNDED PRECEDING)"
      " ORDER BY {order}, i.owner",
      {{"{rows}", RowsSql(descending, listed)},
       {"{owners}", absl::StrCat("$", listed.params + 1)},
       {"{each}", absl::StrCat("$", listed.params + 2)},
       {"{all}", absl::StrCat("$", listed.params + 3)},
       {"{order}", absl::StrReplaceAll(List(listed.order, descending ? " DESC" : ""),
                                       {{"listed_at", "l.listed_at"},
                                        {"session_id", "l.session_id"},
                                        {"session_group", "l.session_group"}})}});
}

// The statement `name` of a listing, and `name`_slots of the same one with slots.
class ListStatement {
 public:
  ListStatement(const char* name, bool descending, const Listed& listed)
      : rows_sql_(RowsSql(descending, listed)),
        slots_name_(absl::StrCat(name, "_slots")),
        slots_sql_(RowsWithSlotsSql(descending, listed)),
        rows_{.name = name, .sql = rows_sql_.c_str()},
        with_slots_{.name = slots_name_.c_str(), .sql = slots_sql_.c_str()} {}
  ListStatement(const ListStatement&) = delete;
  ListStatement& operator=(const ListStatement&) = delete;
  ~ListStatement() = default;

  // The one that answers `query`.
  [[nodiscard]] const Statement& For(const ListQuery& query) const {
    return query.owners.empty() ? rows_ : with_slots_;
  }

 private:
  std::string rows_sql_;
  std::string slots_name_;
  std::string slots_sql_;
  Statement rows_;
  Statement with_slots_;
};
enum ListingColumn : size_t {
  kListedId,
  kListedStore,
  kListedHead,
  kListedHeadSum,
  kListedAt,
  kListedWanted,
  kListedLast,
  kListedGroup,
  // Of a listing with slots; all null where the session has none.
  kListedOwner,
  kListedRevision,
  kListedSize,
  kListedRecord,
  kListedData,
  kListedDataBytes
};

// Lifecycle 1 is ACTIVE; a cancel request has a time exactly while it asks for an end. The inner
// query, which OFFSET keeps apart, is served by the index of what sweeps look at: the order of the
// keys must not tempt the planner into the index of all sessions.
constexpr Statement kAbandoned = {
    "due_abandoned",
    "SELECT tenant, session_id FROM ("
    "SELECT s.tenant, s.session_id FROM holdfast.session s CROSS JOIN holdfast.opening o"
    " WHERE s.sweep AND NOT s.deleted AND s.lifecycle = 1 AND s.store_id = holdfast.store_id()"
    " AND coalesce(holdfast.lease_left(s.held, s.lease_at, s.expires_at, s.ttl, o.opened_at),"
    "  '0'::interval) = '0'::interval"
    " AND holdfast.clock() - greatest(s.active_at, o.opened_at) >= $1 OFFSET 0) due"
    " WHERE (tenant, session_id) > ($3, $4) ORDER BY tenant, session_id LIMIT $2"};
constexpr Statement kCancelled = {
    "due_cancelled",
    "SELECT tenant, session_id FROM ("
    "SELECT s.tenant, s.session_id FROM holdfast.session s CROSS JOIN holdfast.opening o"
    " WHERE s.sweep AND NOT s.deleted AND s.cancel_requested_at IS NOT NULL"
    " AND s.store_id = holdfast.store_id()"
    " AND (s.lifecycle <> 1"
    " OR holdfast.clock() - greatest(s.cancel_requested_at, o.opened_at) >= $1)"
    " OFFSET 0) due"
    " WHERE (tenant, session_id) > ($3, $4) ORDER BY tenant, session_id LIMIT $2"};
static_assert(static_cast<int>(Lifecycle::kActive) == 1);

const ListStatement& ListingOf(const ListQuery& query) {
  static const Listed kAny;
  static const ListStatement kAll[] = {{"list_up", false, kAny}, {"list_down", true, kAny}};
  static const Listed kOfProject = {.among =
                                        " AND md5(project_root) = md5($9)"
                                        " AND project_root = $9",
                                    .params = 9};
  static const ListStatement kProject[] = {{"list_project_up", false, kOfProject},
                                           {"list_project_down", true, kOfProject}};
  static constexpr const char* kAlsoOfProject = " AND ($9 = '' OR project_root = $9)";
  static const Listed kOfGroup = {.among = " AND session_group <> '' AND session_group = $10",
                                  .also = kAlsoOfProject,
                                  .params = 10};
  static const ListStatement kGroup[] = {{"list_group_up", false, kOfGroup},
                                         {"list_group_down", true, kOfGroup}};
  static const Listed kOfGroups = {.among =
                                       " AND session_group <> '' AND session_group >= $10"
                                       " AND session_group < $11",
                                   .also = kAlsoOfProject,
                                   .order = {"session_group", "listed_at", "session_id"},
                                   .after = "($12, $2, $3)",
                                   .params = 12};
  static const ListStatement kGroups[] = {{"list_groups_up", false, kOfGroups},
                                          {"list_groups_down", true, kOfGroups}};
  // Each active session is one that a sweep looks at, and few others are.
  static const Listed kSwept = {.among = " AND sweep"};
  static const ListStatement kActive[] = {{"list_active_up", false, kSwept},
                                          {"list_active_down", true, kSwept}};
  const size_t order = query.descending ? 1 : 0;
  if (!query.group.empty()) return (query.group_is_prefix ? kGroups : kGroup)[order];
  if (!query.project_root.empty()) return kProject[order];
  const bool only_active =
      !query.lifecycles.empty() &&
      std::ranges::count(query.lifecycles, Lifecycle::kActive) == std::ssize(query.lifecycles);
  return (only_active ? kActive : kAll)[order];
}

// A filter by numbers; null where there is none.
template <typename Value>
void PutFilter(const std::vector<Value>& filter, Params& params) {
  std::vector<int32_t> numbers;
  numbers.reserve(filter.size());
  for (const Value value : filter) numbers.push_back(static_cast<int32_t>(value));
  numbers.empty() ? params.Null() : params.Int4s(numbers);
}

// A text behind each group that begins with `prefix`: no letter of a group is as large.
std::string BehindGroups(const std::string& prefix) { return prefix + '~'; }

Params RowsParams(const ListQuery& query) {
  Params params;
  params.Text(query.tenant.value());
  if (query.after) {
    params.Time(query.after->created_at).Text(query.after->id);
  } else {
    params.Time(query.descending ? absl::InfiniteFuture() : absl::InfinitePast()).Text("");
  }
  PutFilter(query.lifecycles, params);
  params.Int(int64_t{query.limit} + 1).Int(kHeadsBytes).Int(kLooksAt);
  PutFilter(query.kinds, params);
  if (query.group.empty()) {
    if (!query.project_root.empty()) params.Text(query.project_root);
    return params;
  }
  params.Text(query.project_root).Text(query.group);
  if (!query.group_is_prefix) return params;
  params.Text(BehindGroups(query.group));
  if (query.after) {
    params.Text(query.after->group);
  } else {
    params.Text(query.descending ? BehindGroups(query.group) : "");
  }
  return params;
}

Params ListingParams(const ListQuery& query) {
  Params params = RowsParams(query);
  if (query.owners.empty()) return params;
  // The first row has room in any case.
  const size_t most = std::max(query.most_bytes, query.owners.size() * kSlotBytesInRow);
  params.Texts(query.owners).Int(int64_t{kSlotBytesInRow}).Int(Clamped(most));
  return params;
}

SessionRow RowOf(const ListQuery& query, SessionId id, const Head& head) {
  const auto title = head.attributes.find("title");
  SessionRow row = {.id = std::move(id),
                    .condition = SessionRow::Condition::kOk,
                    .lifecycle = head.lifecycle,
                    .revision = head.revision,
                    .kind = head.kind,
                    .group = head.group,
                    .project_root = head.project_root,
                    .title = title == head.attributes.end() ? "" : title->second,
                    .messages = head.messages,
                    .cancelling = EndingCancelRequest(head) != nullptr,
                    .created_at = head.created_at,
                    .updated_at = head.updated_at,
                    .foreign_store = "",
                    .uid = head.uid,
                    .last_event = head.last_event,
                    .items_version = head.items_version};
  for (const std::string& name : query.attributes) {
    const auto found = head.attributes.find(name);
    if (found != head.attributes.end()) row.attributes.insert(*found);
  }
  return row;
}

// The rows of an answer that are of one session.
struct SessionRows {
  size_t begin = 0;
  size_t end = 0;
};

// The sessions of an answer, in its order.
std::vector<SessionRows> SessionsIn(const Rows& rows) {
  std::vector<SessionRows> sessions;
  for (size_t row = 0; row < rows.size(); ++row) {
    const bool begins = row == 0 || rows.Text(row, kListedId) != rows.Text(row - 1, kListedId);
    if (begins) sessions.push_back({.begin = row});
    sessions.back().end = row + 1;
  }
  return sessions;
}

// Whether the answer had no room for the head of a session, or for the data of one of its slots.
bool HadNoRoom(const ListQuery& query, const Rows& rows, const SessionRows& of) {
  if (rows.IsNull(of.begin, kListedHead)) return true;
  for (size_t row = of.begin; row < of.end && !query.owners.empty(); ++row) {
    if (rows.IsNull(row, kListedDataBytes) || !rows.IsNull(row, kListedData)) continue;
    if (rows.Int4(row, kListedDataBytes) <= static_cast<int32_t>(kSlotBytesInRow)) return true;
  }
  return false;
}

SlotView ReadListedSlot(const Rows& rows, size_t row) {
  SlotView view{.slot = {}, .size = static_cast<uint64_t>(rows.Int(row, kListedSize))};
  std::optional<Slot> slot = ReadSlot(rows, row, kListedRecord);
  view.damaged = !slot.has_value();
  if (slot) view.slot = *std::move(slot);
  const bool cut = !rows.IsNull(row, kListedDataBytes) && rows.IsNull(row, kListedData);
  view.data_left_out = cut || view.slot.staged.has_value();
  view.slot.owner = rows.Text(row, kListedOwner);
  view.slot.revision = Revision(static_cast<uint64_t>(rows.Int(row, kListedRevision)));
  return view;
}

SessionRow ReadHeadRow(const ListQuery& query, const Rows& rows, size_t row,
                       const StoreId& active) {
  SessionId id = SessionId::Parse(rows.Text(row, kListedId)).value_or(SessionId());
  const std::string_view store = rows.Text(row, kListedStore);
  const std::optional<Head> head =
      store == active.value()
          ? ReadHead(rows.Bytes(row, kListedHead), rows.Bytes(row, kListedHeadSum))
          : std::nullopt;
  if (head && head->store == active) return RowOf(query, std::move(id), *head);
  SessionRow unreadable{.id = std::move(id), .condition = SessionRow::Condition::kDamaged};
  unreadable.created_at = rows.Time(row, kListedAt);
  if (store == active.value() && !head) return unreadable;
  unreadable.condition = SessionRow::Condition::kForeign;
  unreadable.foreign_store = head ? head->store.value() : std::string(store);
  return unreadable;
}

SessionRow ReadRow(const ListQuery& query, const Rows& rows, const SessionRows& of,
                   const StoreId& active) {
  SessionRow shown = ReadHeadRow(query, rows, of.begin, active);
  if (query.owners.empty() || shown.condition != SessionRow::Condition::kOk) return shown;
  for (size_t row = of.begin; row < of.end && !rows.IsNull(row, kListedOwner); ++row) {
    shown.slots.push_back(ReadListedSlot(rows, row));
  }
  return shown;
}

// A page while it is read.
class ListReading {
 public:
  // `query` outlives it.
  ListReading(const ListQuery& query, const StoreId& active)
      : query_(query),
        active_(active),
        filtered_(!query.project_root.empty() || !query.lifecycles.empty() ||
                  !query.kinds.empty() || !query.group.empty()),
        after_(query.after) {}

  // Takes what an answer brings, as far as the page has room for it.
  void Take(const Rows& rows) {
    const std::vector<SessionRows> sessions = SessionsIn(rows);
    page_.end = sessions.size() <= query_.limit &&
                (rows.empty() || !rows.Bool(rows.size() - 1, kListedLast));
    for (size_t i = 0; i < sessions.size() && i < query_.limit; ++i) {
      if (TakeSession(rows, sessions[i], i == 0)) continue;
      page_.end = false;
      return;
    }
  }

  // A filter leaves out rows, also those that cannot be read: a page is empty only at the end.
  [[nodiscard]] bool IsDone() const { return !page_.rows.empty() || page_.end; }
  // Behind which the next answer begins.
  [[nodiscard]] const std::optional<ListKey>& after() const { return after_; }
  ListPage TakePage() { return std::move(page_); }

 private:
  // Answers whether the page had room for the session, or leaves it out.
  bool TakeSession(const Rows& rows, const SessionRows& of, bool is_first) {
    const size_t row = of.begin;
    const bool wanted = rows.Bool(row, kListedWanted);
    if (wanted && !is_first && HadNoRoom(query_, rows, of)) return false;
    after_ = ListKey{.created_at = rows.Time(row, kListedAt),
                     .id = std::string(rows.Text(row, kListedId)),
                     .group = std::string(rows.Text(row, kListedGroup))};
    if (!wanted) return true;
    SessionRow shown = ReadRow(query_, rows, of, active_);
    if (filtered_ && shown.condition != SessionRow::Condition::kOk) return true;
    bytes_ += RowBytes(shown);
    if (!page_.rows.empty() && bytes_ > query_.most_bytes) return false;
    page_.rows.push_back(std::move(shown));
    return true;
  }

  const ListQuery& query_;
  const StoreId& active_;
  const bool filtered_;
  std::optional<ListKey> after_;
  ListPage page_;
  size_t bytes_ = 0;  // of the content of its rows
};

}  // namespace

absl::StatusOr<ListPage> ListSessions(const Database& database, const ListQuery& query) {
  ListReading reading(query, database.store);
  ListQuery rest = query;
  while (!reading.IsDone()) {
    ASSIGN_OR_RETURN(const Rows rows, database.Ask(ListingOf(rest).For(rest), ListingParams(rest)));
    reading.Take(rows);
    rest.after = reading.after();
  }
  return reading.TakePage();
}

absl::StatusOr<std::vector<SessionKey>> ListDueSessions(const Database& database, DueKind kind,
                                                        absl::Duration quiet,
                                                        const std::optional<SessionKey>& after,
                                                        size_t limit) {
  Params params;
  params.Interval(quiet).Int(static_cast<int64_t>(limit));
  params.Text(after ? after->tenant.value() : "").Text(after ? after->session.value() : "");
  const Statement& statement = kind == DueKind::kCancelled ? kCancelled : kAbandoned;
  ASSIGN_OR_RETURN(const Rows rows, database.Ask(statement, params));
  std::vector<SessionKey> due;
  for (size_t row = 0; row < rows.size(); ++row) {
    const auto tenant = TenantId::Parse(rows.Text(row, 0));
    const auto session = SessionId::Parse(rows.Text(row, 1));
    if (tenant && session) due.push_back({.tenant = *tenant, .session = *session});
  }
  return due;
}

}  // namespace holdfast::pg

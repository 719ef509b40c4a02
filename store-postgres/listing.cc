#include "store-postgres/listing.h"

#include "platform/status_macros.h"
#include "session/cancel_requests.h"
#include "session/refusal.h"
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
};

// `columns` as a list; `direction` behind each of them.
std::string List(const std::vector<std::string>& columns, const char* direction) {
  return absl::StrCat(absl::StrJoin(columns, absl::StrCat(direction, ", ")), direction);
}

// A page of the rows of a listing, in one order, served by an index. Heads beyond kHeadsBytes are
// left out. The last row that was read is in the answer even if the filter excludes it, so that the
// next statement continues behind it.
class ListStatement {
 public:
  ListStatement(const char* name, bool descending, const Listed& listed)
      : sql_(absl::StrReplaceAll(
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
             {"{order}", List(listed.order, descending ? " DESC" : "")}})),
        statement_{.name = name, .sql = sql_.c_str()} {}
  ListStatement(const ListStatement&) = delete;
  ListStatement& operator=(const ListStatement&) = delete;
  ~ListStatement() = default;

  [[nodiscard]] const Statement& statement() const { return statement_; }

 private:
  std::string sql_;
  Statement statement_;
};
enum ListingColumn : size_t {
  kListedId,
  kListedStore,
  kListedHead,
  kListedHeadSum,
  kListedAt,
  kListedWanted,
  kListedLast,
  kListedGroup
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

const Statement& StatementFor(const ListQuery& query) {
  static const Listed kAny;
  static const ListStatement kAll[] = {{"list_up", false, kAny}, {"list_down", true, kAny}};
  static const Listed kOfProject = {.among =
                                        " AND md5(project_root) = md5($9)"
                                        " AND project_root = $9"};
  static const ListStatement kProject[] = {{"list_project_up", false, kOfProject},
                                           {"list_project_down", true, kOfProject}};
  static constexpr const char* kAlsoOfProject = " AND ($9 = '' OR project_root = $9)";
  static const Listed kOfGroup = {.among = " AND session_group <> '' AND session_group = $10",
                                  .also = kAlsoOfProject};
  static const ListStatement kGroup[] = {{"list_group_up", false, kOfGroup},
                                         {"list_group_down", true, kOfGroup}};
  static const Listed kOfGroups = {.among =
                                       " AND session_group <> '' AND session_group >= $10"
                                       " AND session_group < $11",
                                   .also = kAlsoOfProject,
                                   .order = {"session_group", "listed_at", "session_id"},
                                   .after = "($12, $2, $3)"};
  static const ListStatement kGroups[] = {{"list_groups_up", false, kOfGroups},
                                          {"list_groups_down", true, kOfGroups}};
  // Each active session is one that a sweep looks at, and few others are.
  static const Listed kSwept = {.among = " AND sweep"};
  static const ListStatement kActive[] = {{"list_active_up", false, kSwept},
                                          {"list_active_down", true, kSwept}};
  const size_t order = query.descending ? 1 : 0;
  if (!query.group.empty()) return (query.group_is_prefix ? kGroups : kGroup)[order].statement();
  if (!query.project_root.empty()) return kProject[order].statement();
  const bool only_active =
      !query.lifecycles.empty() &&
      std::ranges::count(query.lifecycles, Lifecycle::kActive) == std::ssize(query.lifecycles);
  return (only_active ? kActive : kAll)[order].statement();
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

Params ListingParams(const ListQuery& query) {
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

SessionRow RowOf(SessionId id, const Head& head) {
  const auto title = head.attributes.find("title");
  return {.id = std::move(id),
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
          .uid = head.uid};
}

SessionRow ReadRow(const Rows& rows, size_t row, const StoreId& active) {
  SessionId id = SessionId::Parse(rows.Text(row, kListedId)).value_or(SessionId());
  const std::string_view store = rows.Text(row, kListedStore);
  const std::optional<Head> head =
      store == active.value()
          ? ReadHead(rows.Bytes(row, kListedHead), rows.Bytes(row, kListedHeadSum))
          : std::nullopt;
  if (head && head->store == active) return RowOf(std::move(id), *head);
  SessionRow unreadable{.id = std::move(id), .condition = SessionRow::Condition::kDamaged};
  unreadable.created_at = rows.Time(row, kListedAt);
  if (store == active.value() && !head) return unreadable;
  unreadable.condition = SessionRow::Condition::kForeign;
  unreadable.foreign_store = head ? head->store.value() : std::string(store);
  return unreadable;
}

}  // namespace

absl::StatusOr<ListPage> ListSessions(const Database& database, const ListQuery& query) {
  const bool filtered = !query.project_root.empty() || !query.lifecycles.empty() ||
                        !query.kinds.empty() || !query.group.empty();
  ListPage page;
  ListQuery rest = query;
  // A filter leaves out rows, also those that cannot be read: a page is empty only at the end.
  while (page.rows.empty() && !page.end) {
    ASSIGN_OR_RETURN(const Rows rows, database.Ask(StatementFor(rest), ListingParams(rest)));
    page.end =
        rows.size() <= query.limit && (rows.empty() || !rows.Bool(rows.size() - 1, kListedLast));
    for (size_t row = 0; row < rows.size() && row < query.limit; ++row) {
      const bool wanted = rows.Bool(row, kListedWanted);
      if (wanted && row > 0 && rows.IsNull(row, kListedHead)) {
        page.end = false;
        break;
      }
      rest.after = ListKey{.created_at = rows.Time(row, kListedAt),
                           .id = std::string(rows.Text(row, kListedId)),
                           .group = std::string(rows.Text(row, kListedGroup))};
      if (!wanted) continue;
      SessionRow shown = ReadRow(rows, row, database.store);
      if (filtered && shown.condition != SessionRow::Condition::kOk) continue;
      page.rows.push_back(std::move(shown));
    }
  }
  return page;
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

#include "store-postgres/listing.h"

#include "platform/status_macros.h"
#include "session/cancel_requests.h"
#include "session/refusal.h"
#include "store-postgres/stored_head.h"

#include "absl/strings/str_replace.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace holdfast::pg {
namespace {

// The heads that one statement answers have at most so many bytes together, and it looks at so many
// rows: a filter may pass over a whole tenant, bit by bit.
constexpr int64_t kHeadsBytes = int64_t{8} * 1024 * 1024;
constexpr int64_t kLooksAt = 10'000;

// A page of the rows that `among` names, in one order, served by an index. Heads beyond kHeadsBytes
// are left out. The last row that was read is in the answer even if the filter excludes it, so that
// the next statement continues behind it.
class ListStatement {
 public:
  ListStatement(const char* name, bool descending, const char* among)
      : sql_(absl::StrReplaceAll(
            "SELECT session_id, store_id,"
            " CASE WHEN wanted AND sum(octet_length(head)) FILTER (WHERE wanted) OVER w <= $6"
            "  THEN head END, head_sum, listed_at, wanted, n = $7 FROM ("
            "  SELECT session_id, store_id, head, head_sum, listed_at,"
            "   $4::integer[] IS NULL OR lifecycle = ANY ($4) AS wanted, row_number() OVER v AS n"
            "  FROM holdfast.session"
            "  WHERE tenant = $1 AND NOT deleted{among}"
            "   AND (listed_at, session_id) {behind} ($2, $3)"
            "  WINDOW v AS (ORDER BY {order} ROWS UNBOUNDED PRECEDING) ORDER BY {order} LIMIT $7) s"
            " WHERE wanted OR n = $7"
            " WINDOW w AS (ORDER BY {order} ROWS UNBOUNDED PRECEDING) ORDER BY {order} LIMIT $5",
            {{"{among}", among},
             {"{behind}", descending ? "<" : ">"},
             {"{order}",
              descending ? "listed_at DESC, session_id DESC" : "listed_at, session_id"}})),
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
  kListedLast
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
  static const ListStatement kAll[] = {{"list_up", false, ""}, {"list_down", true, ""}};
  static constexpr const char* kOfProject =
      " AND md5(project_root) = md5($8) AND project_root = $8";
  static const ListStatement kProject[] = {{"list_project_up", false, kOfProject},
                                           {"list_project_down", true, kOfProject}};
  // Each active session is one that a sweep looks at, and few others are.
  static constexpr const char* kSwept = " AND sweep";
  static const ListStatement kActive[] = {{"list_active_up", false, kSwept},
                                          {"list_active_down", true, kSwept}};
  const size_t order = query.descending ? 1 : 0;
  if (!query.project_root.empty()) return kProject[order].statement();
  const bool only_active =
      !query.lifecycles.empty() &&
      std::ranges::count(query.lifecycles, Lifecycle::kActive) == std::ssize(query.lifecycles);
  return (only_active ? kActive : kAll)[order].statement();
}

Params ListingParams(const ListQuery& query) {
  Params params;
  params.Text(query.tenant.value());
  if (query.after) {
    params.Time(query.after->created_at).Text(query.after->id);
  } else {
    params.Time(query.descending ? absl::InfiniteFuture() : absl::InfinitePast()).Text("");
  }
  std::vector<int32_t> lifecycles;
  lifecycles.reserve(query.lifecycles.size());
  for (const Lifecycle lifecycle : query.lifecycles) {
    lifecycles.push_back(static_cast<int32_t>(lifecycle));
  }
  lifecycles.empty() ? params.Null() : params.Int4s(lifecycles);
  params.Int(int64_t{query.limit} + 1).Int(kHeadsBytes).Int(kLooksAt);
  if (!query.project_root.empty()) params.Text(query.project_root);
  return params;
}

SessionRow RowOf(SessionId id, const Head& head) {
  const auto title = head.attributes.find("title");
  return {.id = std::move(id),
          .condition = SessionRow::Condition::kOk,
          .lifecycle = head.lifecycle,
          .revision = head.revision,
          .project_root = head.project_root,
          .title = title == head.attributes.end() ? "" : title->second,
          .messages = head.messages,
          .cancelling = EndingCancelRequest(head) != nullptr,
          .created_at = head.created_at,
          .updated_at = head.updated_at,
          .foreign_store = ""};
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
  const bool filtered = !query.project_root.empty() || !query.lifecycles.empty();
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
                           .id = std::string(rows.Text(row, kListedId))};
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

#include "server/rpc/read/reads.h"

#include "platform/status_macros.h"
#include "server/rpc/convert/commands.h"
#include "server/rpc/convert/fields.h"
#include "server/rpc/convert/replies.h"
#include "server/rpc/convert/session.h"
#include "server/rpc/read/page_size.h"
#include "server/rpc/read/page_token.h"
#include "session/guard.h"
#include "session/limits.h"
#include "session/refusal.h"
#include "session/validate.h"

#include <google/protobuf/repeated_field.h>

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast {
namespace {

constexpr std::string_view kOldestFirst = "create_time";
constexpr std::string_view kNewestFirst = "create_time desc";
// What a message within a message takes beside its own bytes: its field and its length.
constexpr size_t kRowOverhead = 5;

absl::StatusOr<SessionKey> ReadKey(const Call& call, const std::string& session_id) {
  ASSIGN_OR_RETURN(SessionId session, ReadId<SessionId>("session_id", session_id));
  return SessionKey{.tenant = call.caller().tenant, .session = std::move(session)};
}

absl::Status ReadGroup(const pb::ListSessionsRequest& request, ListQuery& query) {
  if (request.group_prefix().empty()) {
    query.group = request.group();
    return ValidateGroup("group", query.group);
  }
  if (!request.group().empty()) return InvalidField("group_prefix", "does not go with group");
  query.group = request.group_prefix();
  query.group_is_prefix = true;
  return ValidateGroup("group_prefix", query.group);
}

// The names, ascending and each once.
std::vector<std::string> UniqueNames(const google::protobuf::RepeatedPtrField<std::string>& names) {
  const std::set<std::string> unique(names.begin(), names.end());
  return {unique.begin(), unique.end()};
}

absl::Status ReadContentOfRows(const pb::ListSessionsRequest& request, ListQuery& query) {
  const auto attributes = static_cast<size_t>(request.read_attributes_size());
  if (attributes > kAttributesPerSession) {
    return TooLarge("read_attributes", kAttributesPerSession, attributes);
  }
  const auto slots = static_cast<size_t>(request.read_slots_size());
  if (slots > kSlotsPerRow) return TooLarge("read_slots", kSlotsPerRow, slots);
  query.attributes = UniqueNames(request.read_attributes());
  query.owners = UniqueNames(request.read_slots());
  query.most_bytes = kPageBytes;
  return absl::OkStatus();
}

absl::StatusOr<ListQuery> ReadListQuery(const Caller& caller,
                                        const pb::ListSessionsRequest& request) {
  ListQuery query{.tenant = caller.tenant, .project_root = request.project_root()};
  query.descending = request.order_by() == kNewestFirst;
  if (!query.descending && !request.order_by().empty() && request.order_by() != kOldestFirst) {
    return InvalidField("order_by", "must be `create_time` or `create_time desc`");
  }
  const auto count = static_cast<size_t>(request.lifecycles_size());
  if (count > kLifecycles) return TooLarge("lifecycles", kLifecycles, count);
  for (int i = 0; i < request.lifecycles_size(); ++i) {
    ASSIGN_OR_RETURN(const Lifecycle lifecycle,
                     ReadLifecycle("lifecycles[" + std::to_string(i) + "]", request.lifecycles(i)));
    query.lifecycles.push_back(lifecycle);
  }
  const auto kinds = static_cast<size_t>(request.kinds_size());
  if (kinds > kSessionKinds) return TooLarge("kinds", kSessionKinds, kinds);
  for (int i = 0; i < request.kinds_size(); ++i) {
    ASSIGN_OR_RETURN(const SessionKind kind,
                     ReadKindOfSession("kinds[" + std::to_string(i) + "]", request.kinds(i)));
    query.kinds.push_back(kind);
  }
  RETURN_IF_ERROR(ReadGroup(request, query));
  RETURN_IF_ERROR(ReadContentOfRows(request, query));
  query.limit = ItemsOfPage(request.page_size());
  return query;
}

// Writes rows into a page of kPageBytes, which has the first one in any case. How many it took.
size_t WriteRows(const std::vector<SessionRow>& rows, pb::ListSessionsResponse& response) {
  size_t bytes = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    pb::SessionSummary& row = *response.add_sessions();
    Write(rows[i], row);
    bytes += row.ByteSizeLong() + kRowOverhead;
    if (i == 0 || bytes <= kPageBytes) continue;
    response.mutable_sessions()->RemoveLast();
    return i;
  }
  return rows.size();
}

}  // namespace

absl::Status ServeGetSession(Sessions& sessions, Call& call, const pb::GetSessionRequest& request,
                             pb::GetSessionResponse& response) {
  ASSIGN_OR_RETURN(const SessionId id, ReadId<SessionId>("session_id", request.session_id()));
  ASSIGN_OR_RETURN(const std::optional<SessionUid> uid, ReadSessionUid(request));
  ASSIGN_OR_RETURN(const Head head, sessions.Get(call.caller(), id));
  RETURN_IF_ERROR(CheckSameSession(head.uid, uid));
  Write(id, head, *response.mutable_session());
  return absl::OkStatus();
}

absl::Status ServeLookupLatestSession(Sessions& sessions, Call& call,
                                      const pb::LookupLatestSessionRequest& request,
                                      pb::LookupLatestSessionResponse& response) {
  const std::string& root = request.project_root();
  if (root.empty()) return InvalidField("project_root", "must be set");
  if (root.front() != '/') return InvalidField("project_root", "must be an absolute path");
  ASSIGN_OR_RETURN(const auto found, sessions.Latest(call.caller(), root));
  Write(found.first, found.second, *response.mutable_session());
  return absl::OkStatus();
}

absl::Status ServeListSessions(Sessions& sessions, Call& call,
                               const pb::ListSessionsRequest& request,
                               pb::ListSessionsResponse& response) {
  ASSIGN_OR_RETURN(ListQuery query, ReadListQuery(call.caller(), request));
  const StoreDescription store = sessions.store().Describe();
  if (!request.page_token().empty()) {
    ASSIGN_OR_RETURN(query.after, ReadPageToken(store, query, request.page_token()));
  }
  ASSIGN_OR_RETURN(const ListPage page, sessions.store().List(query));
  const size_t shown = WriteRows(page.rows, response);
  response.set_complete(page.complete);
  const bool is_end = page.end && shown == page.rows.size();
  if (!is_end && shown > 0) {
    const SessionRow& last = page.rows[shown - 1];
    response.set_next_page_token(MakePageToken(store, query,
                                               {.created_at = last.created_at,
                                                .id = last.id.value(),
                                                .group = query.group_is_prefix ? last.group : ""}));
  }
  return absl::OkStatus();
}

absl::Status ServeVerifyAudit(Sessions& sessions, Call& call, const pb::VerifyAuditRequest& request,
                              pb::VerifyAuditResponse& response) {
  ASSIGN_OR_RETURN(const SessionKey key, ReadKey(call, request.session_id()));
  ASSIGN_OR_RETURN(const std::optional<SessionUid> uid, ReadSessionUid(request));
  ASSIGN_OR_RETURN(const AuditVerdict verdict,
                   sessions.VerifyAudit(call.caller(), {.id = key.session, .uid = uid},
                                        [&call] { return call.StillWanted(); }));
  WriteReply(verdict, response);
  return absl::OkStatus();
}

absl::Status ServeGetRequestOutcome(Sessions& sessions, Call& call,
                                    const pb::GetRequestOutcomeRequest& request,
                                    pb::GetRequestOutcomeResponse& response) {
  ASSIGN_OR_RETURN(const OutcomeQuery query, ReadOutcomeQuery(request));
  ASSIGN_OR_RETURN(const RequestOutcome outcome, sessions.Outcome(call.caller(), query));
  WriteReply(query.session, outcome, response);
  return absl::OkStatus();
}

}  // namespace holdfast

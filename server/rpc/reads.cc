#include "server/rpc/reads.h"

#include "server/rpc/convert_commands.h"
#include "server/rpc/convert_contents.h"
#include "server/rpc/convert_fields.h"
#include "server/rpc/convert_replies.h"
#include "server/rpc/convert_session.h"
#include "server/rpc/page_token.h"
#include "session/limits.h"
#include "session/refusal.h"
#include "session/saboteur.h"
#include "session/staged.h"
#include "session/status_macros.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace holdfast {
namespace {

// Of the data in a reply. A client takes 4 MiB by default, and the rest of a reply needs room too;
// what is more is read by owner, or streamed.
constexpr size_t kReplyBytes = kUnaryRequestBytes - 64 * kKiB;

absl::StatusOr<uint32_t> ReadPageSize(uint32_t page_size) {
  if (page_size > kPageMost) {
    return InvalidField("page_size", "must be at most " + std::to_string(kPageMost));
  }
  return page_size == 0 ? kPageDefault : page_size;
}

absl::StatusOr<PageLimit> ReadPageLimit(uint32_t page_size) {
  ASSIGN_OR_RETURN(const uint32_t items, ReadPageSize(page_size));
  return PageLimit{.items = items, .bytes = kPageBytes};
}

absl::StatusOr<SessionKey> ReadKey(const Call& call, const std::string& session_id) {
  ASSIGN_OR_RETURN(SessionId session, ReadId<SessionId>("session_id", session_id));
  return SessionKey{.tenant = call.caller().tenant, .session = std::move(session)};
}

// Brings the bytes of staged messages into a page, which ends before the first one that has no
// room: true then. TOO_LARGE when that is the first one of all.
absl::StatusOr<bool> FillIn(SessionStore& store, const SessionKey& key,
                            std::vector<Message>& messages) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < messages.size(); ++i) {
    const uint64_t size = DataSize(messages[i]);
    if (i == 0 && messages[i].staged && size > kReplyBytes) {
      return TooLarge("messages", kReplyBytes, size);
    }
    bytes += size;
    if (i > 0 && bytes > kPageBytes) {
      messages.resize(i);
      return true;
    }
    RETURN_IF_ERROR(Unstage(store, key, messages[i]));
  }
  return false;
}

absl::StatusOr<ListQuery> ReadListQuery(const Caller& caller,
                                        const pb::ListSessionsRequest& request) {
  ListQuery query{.tenant = caller.tenant,
                  .project_root = request.project_root(),
                  .descending = request.descending()};
  const auto count = static_cast<size_t>(request.lifecycles_size());
  if (count > kLifecycles) return TooLarge("lifecycles", kLifecycles, count);
  for (int i = 0; i < request.lifecycles_size(); ++i) {
    ASSIGN_OR_RETURN(const Lifecycle lifecycle,
                     ReadLifecycle("lifecycles[" + std::to_string(i) + "]", request.lifecycles(i)));
    query.lifecycles.push_back(lifecycle);
  }
  ASSIGN_OR_RETURN(query.limit, ReadPageSize(request.page_size()));
  return query;
}

// Ends a page of a listing before the first row that has no room; true then.
bool CutRows(std::vector<SessionRow>& rows) {
  if (Sabotaged(Saboteur::kNoPageBytes)) return false;
  size_t bytes = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    bytes += rows[i].project_root.size() + rows[i].title.size() + kSessionIdBytes;
    if (i == 0 || bytes <= kPageBytes) continue;
    rows.resize(i);
    return true;
  }
  return false;
}

// What was staged counts too: it is brought in from its place.
absl::Status CheckRoom(const SlotPage& page) {
  uint64_t bytes = 0;
  bool left_out = false;
  for (const SlotView& view : page.slots) {
    left_out |= view.data_left_out;
    bytes += view.data_left_out ? view.size : DataSize(view.slot);
  }
  if (left_out || bytes > kReplyBytes) return TooLarge("slots", kReplyBytes, bytes);
  return absl::OkStatus();
}

}  // namespace

absl::Status ServeGetSession(Sessions& sessions, Call& call, const pb::GetSessionRequest& request,
                             pb::GetSessionResponse& response) {
  if (request.has_latest_of_project_root()) {
    const std::string& root = request.latest_of_project_root();
    if (root.empty()) return InvalidField("latest_of_project_root", "must be set");
    if (root.front() != '/') {
      return InvalidField("latest_of_project_root", "must be an absolute path");
    }
    ASSIGN_OR_RETURN(const auto found, sessions.Latest(call.caller(), root));
    Write(found.first, found.second, *response.mutable_session());
  } else {
    ASSIGN_OR_RETURN(const SessionId id, ReadId<SessionId>("session_id", request.session_id()));
    ASSIGN_OR_RETURN(const Head head, sessions.Get(call.caller(), id));
    Write(id, head, *response.mutable_session());
  }
  response.set_revision(response.session().revision());
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
  ASSIGN_OR_RETURN(ListPage page, sessions.store().List(query));
  if (CutRows(page.rows)) page.end = false;
  for (const SessionRow& row : page.rows) Write(row, *response.add_sessions());
  response.set_complete(page.complete);
  if (!page.end && !page.rows.empty()) {
    const SessionRow& last = page.rows.back();
    response.set_next_page_token(
        MakePageToken(store, query, {.created_at = last.created_at, .id = last.id.value()}));
  }
  return absl::OkStatus();
}

absl::Status ServeReadMessages(Sessions& sessions, Call& call,
                               const pb::ReadMessagesRequest& request,
                               pb::ReadMessagesResponse& response) {
  ASSIGN_OR_RETURN(const SessionKey key, ReadKey(call, request.session_id()));
  ASSIGN_OR_RETURN(const PageLimit limit, ReadPageLimit(request.page_size()));
  ASSIGN_OR_RETURN(MessagePage page, sessions.store().ReadMessages(
                                         key, ReadOptionalNumber<Revision>(request.revision()),
                                         MessageSeq(request.after_seq()), limit));
  ASSIGN_OR_RETURN(const bool cut, FillIn(sessions.store(), key, page.messages));
  for (const Message& message : page.messages) Write(message, *response.add_messages());
  response.set_revision(page.at.revision.value());
  response.set_message_count(page.newest.value());
  response.set_end(page.end && !cut);
  return absl::OkStatus();
}

absl::Status ServeReadSlots(Sessions& sessions, Call& call, const pb::ReadSlotsRequest& request,
                            pb::ReadSlotsResponse& response) {
  ASSIGN_OR_RETURN(const SessionId session, ReadId<SessionId>("session_id", request.session_id()));
  ASSIGN_OR_RETURN(const auto expected, ReadExpectedSlots(request.expected_slots()));
  const auto owners = static_cast<size_t>(request.owners_size());
  if (owners > kOwnersPerRead) return TooLarge("owners", kOwnersPerRead, owners);
  const SlotQuery query{.revision = ReadOptionalNumber<Revision>(request.revision()),
                        .owners = ReadTexts(request.owners()),
                        .most_bytes = request.without_data() ? 0 : kReplyBytes};
  ASSIGN_OR_RETURN(SlotsRead read, sessions.ReadSlots(call.caller(), session, query,
                                                      request.acting_owner(), expected));
  if (!request.without_data()) {
    RETURN_IF_ERROR(CheckRoom(read.page));
  }
  const SessionKey key{.tenant = call.caller().tenant, .session = session};
  for (SlotView& view : read.page.slots) {
    if (!request.without_data()) {
      RETURN_IF_ERROR(Unstage(sessions.store(), key, view.slot));
    }
    Write(view.slot, *response.add_slots());
    response.add_sizes(view.size);
  }
  for (const SlotReport& report : read.reports) Write(report, *response.add_reports());
  response.set_revision(read.page.at.revision.value());
  return absl::OkStatus();
}

absl::Status ServeReadJournal(Sessions& sessions, Call& call, const pb::ReadJournalRequest& request,
                              pb::ReadJournalResponse& response) {
  ASSIGN_OR_RETURN(const SessionKey key, ReadKey(call, request.session_id()));
  ASSIGN_OR_RETURN(const PageLimit limit, ReadPageLimit(request.page_size()));
  JournalQuery query{.after = JournalNumber(request.after_journal_number())};
  if (request.has_turn()) query.turn = TurnNumber(request.turn());
  ASSIGN_OR_RETURN(const JournalPage page, sessions.store().ReadJournal(key, query, limit));
  for (const JournalEntry& entry : page.entries) Write(entry, *response.add_entries());
  response.set_revision(page.at.revision.value());
  response.set_journal_number(page.at.journal.value());
  response.set_end(page.end);
  return absl::OkStatus();
}

absl::Status ServeListEvents(Sessions& sessions, Call& call, const pb::ListEventsRequest& request,
                             pb::ListEventsResponse& response) {
  ASSIGN_OR_RETURN(const SessionKey key, ReadKey(call, request.session_id()));
  ASSIGN_OR_RETURN(const PageLimit limit, ReadPageLimit(request.page_size()));
  ASSIGN_OR_RETURN(const EventPage page,
                   sessions.store().ReadEvents(key, EventSeq(request.after_seq()), limit));
  for (const Event& event : page.events) Write(event, *response.add_events());
  response.set_revision(page.revision.value());
  response.set_end(page.end);
  return absl::OkStatus();
}

absl::Status ServeReadAudit(Sessions& sessions, Call& call, const pb::ReadAuditRequest& request,
                            pb::ReadAuditResponse& response) {
  ASSIGN_OR_RETURN(const SessionKey key, ReadKey(call, request.session_id()));
  ASSIGN_OR_RETURN(const PageLimit limit, ReadPageLimit(request.page_size()));
  ASSIGN_OR_RETURN(const AuditPage page,
                   sessions.store().ReadAudit(key, AuditSeq(request.after_seq()), limit));
  for (const AuditRecord& record : page.records) Write(record, *response.add_records());
  response.set_end(page.end);
  return absl::OkStatus();
}

absl::Status ServeVerifyAudit(Sessions& sessions, Call& call, const pb::VerifyAuditRequest& request,
                              pb::VerifyAuditResponse& response) {
  ASSIGN_OR_RETURN(const SessionKey key, ReadKey(call, request.session_id()));
  ASSIGN_OR_RETURN(
      const AuditVerdict verdict,
      sessions.VerifyAudit(call.caller(), key.session, [&call] { return call.StillWanted(); }));
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

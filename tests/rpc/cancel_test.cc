// Cancelling over the wire: cancel requests in every reply, and the sweep that carries them out.
#include "session/limits.h"
#include "tests/rpc/served.h"
#include "tests/support/details.h"

#include <string>

namespace holdfast::test {
namespace {

using Stub = pb::SessionService::Stub;

class CancelRpc : public Served {
 protected:
  pb::CancelSessionResponse Cancel(const pb::CancelSessionRequest& request) {
    pb::CancelSessionResponse response;
    const grpc::Status status = Ask(&Stub::CancelSession, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }
};

TEST_F(CancelRpc, ShowsCancelRequestInEveryReply) {
  const std::string token = Create("one").lease_token();
  Begin("one", token);
  const pb::CancelSessionRequest request =
      SessionCancelRequest("one", pb::CANCEL_SCOPE_TOOL, 1, "grep");
  const pb::CancelSessionResponse cancelled = Cancel(request);
  EXPECT_EQ(cancelled.session().revision(), 2);
  EXPECT_FALSE(cancelled.repeated());
  EXPECT_TRUE(Cancel(request).repeated());
  const auto expect_request = [](const auto& requests) {
    ASSERT_EQ(requests.size(), 1);
    EXPECT_EQ(requests[0].scope(), pb::CANCEL_SCOPE_TOOL);
    EXPECT_EQ(requests[0].reason(), pb::CANCEL_REASON_USER);
    EXPECT_EQ(requests[0].turn(), 1);
    EXPECT_EQ(requests[0].name(), "grep");
    EXPECT_TRUE(requests[0].has_create_time());
  };
  expect_request(cancelled.session().cancel_requests());
  expect_request(Get("one").cancel_requests());
  pb::AppendJournalResponse appended;
  ASSERT_TRUE(Ask(&Stub::AppendJournal, AppendRequest("one", token, 1, 1), &appended).ok());
  expect_request(appended.cancel_requests());
  pb::RenewLeasesResponse renewed;
  ASSERT_TRUE(Ask(&Stub::RenewLeases, RenewLeaseRequest("one", token), &renewed).ok());
  expect_request(renewed.renewed(0).cancel_requests());
  EXPECT_EQ(Commit("one", token, 1, "x").cancel_requests_size(), 0);  // it ended with its turn
  EXPECT_EQ(Begin("one", token).cancel_requests_size(), 0);
  Cancel(SessionCancelRequest("one", pb::CANCEL_SCOPE_SESSION));
  EXPECT_EQ(Commit("one", token, 2, "y").cancel_requests_size(), 1);
  EXPECT_EQ(Get("one").lifecycle(), pb::LIFECYCLE_CLOSED);
}

// A client reads replies of up to 4 MiB: without a bound, one that is renewed a thousand times in a
// call would bring five times as much.
TEST_F(CancelRpc, ReportsLeasesWhoseCancelRequestsARenewalOmits) {
  const std::string token = Create("one").lease_token();
  Begin("one", token);
  for (size_t i = 0; i < kInformingCancelRequests; ++i) {
    std::string name = std::to_string(i);
    name.resize(kCancelNameBytes, 'x');
    Cancel(SessionCancelRequest("one", pb::CANCEL_SCOPE_TOOL, 1, name));
  }
  pb::RenewLeasesRequest request;
  for (size_t i = 0; i < kLeasesPerRenewal; ++i) {
    request.MergeFrom(RenewLeaseRequest("one", token));
  }
  pb::RenewLeasesResponse renewed;
  const grpc::Status status = Ask(&Stub::RenewLeases, request, &renewed);
  ASSERT_TRUE(status.ok()) << status.error_message();
  ASSERT_EQ(renewed.renewed_size(), kLeasesPerRenewal);
  size_t shown = 0;
  for (const pb::RenewedLease& result : renewed.renewed()) {
    EXPECT_TRUE(result.has_expires_in());
    EXPECT_EQ(result.cancel_requests_size(),
              result.cancel_requests_omitted() ? 0 : kInformingCancelRequests);
    if (!result.cancel_requests_omitted()) ++shown;
  }
  EXPECT_GT(shown, 10);
  EXPECT_LT(shown, kLeasesPerRenewal / 2);
}

TEST_F(CancelRpc, ItsOutcomeCanBeAsked) {
  Create("one");
  const pb::CancelSessionRequest request = SessionCancelRequest("one", pb::CANCEL_SCOPE_SESSION);
  pb::GetRequestOutcomeRequest ask;
  ask.set_session_id("one");
  ask.set_request_id(request.request_id());
  ask.set_method(pb::METHOD_CANCEL_SESSION);
  pb::GetRequestOutcomeResponse outcome;
  ASSERT_TRUE(Ask(&Stub::GetRequestOutcome, ask, &outcome).ok());
  EXPECT_EQ(outcome.outcome(), pb::GetRequestOutcomeResponse::OUTCOME_NOT_KNOWN);
  EXPECT_EQ(Cancel(request).session().lifecycle(), pb::LIFECYCLE_CLOSED);
  ASSERT_TRUE(Ask(&Stub::GetRequestOutcome, ask, &outcome).ok());
  EXPECT_EQ(outcome.outcome(), pb::GetRequestOutcomeResponse::OUTCOME_COMMITTED);
  EXPECT_EQ(outcome.cancel_session().session().lifecycle(), pb::LIFECYCLE_CLOSED);
  EXPECT_TRUE(outcome.cancel_session().repeated());
}

TEST_F(CancelRpc, AbandonsCancelledTurnInSweepAndFencesHolder) {
  config().recovery.sweep_interval = absl::Seconds(1);  // also of sessions with cancel requests
  const std::string token = Create("slow").lease_token();
  Begin("slow", token);
  Cancel(SessionCancelRequest("slow", pb::CANCEL_SCOPE_TURN, 1));
  pb::ListSessionsResponse listed;
  ASSERT_TRUE(Ask(&Stub::ListSessions, pb::ListSessionsRequest(), &listed).ok());
  EXPECT_TRUE(listed.sessions(0).cancelling());
  clock().Advance(config().recovery.cancel_grace);
  EXPECT_NE(AwaitLog("sessions_cancelled").find("\"sessions_cancelled\":1"), std::string::npos);
  EXPECT_EQ(Get("slow").lifecycle(), pb::LIFECYCLE_IDLE);
  EXPECT_EQ(Get("slow").lease().state(), pb::LEASE_STATE_FREE);
  EXPECT_EQ(ReasonOf(Ask(&Stub::CommitTurn, CommitRequest("slow", token, 1, "late"))), "FENCED");
}

}  // namespace
}  // namespace holdfast::test

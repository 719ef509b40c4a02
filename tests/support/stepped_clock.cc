#include "tests/support/stepped_clock.h"

#include "platform/clock.h"
#include "session/limits.h"
#include "tests/support/requests.h"
#include "tests/support/wait.h"
#include "tests/support/wire_client.h"
#include "tests/support/wrong_clock.h"

#include "absl/time/clock.h"
#include "absl/time/time.h"

#include <functional>
#include <memory>
#include <utility>

namespace holdfast::testing {
namespace {

using Stub = WireClient::Stub;

constexpr absl::Duration kLongLease = kLeaseTtlMost;
constexpr int kSecondsOfADay = 24 * 3600;

pb::CreateSessionRequest CreateFor(const std::string& id, absl::Duration ttl) {
  pb::CreateSessionRequest create = test::CreateRequest(id);
  create.mutable_lease_ttl()->set_seconds(absl::ToInt64Seconds(ttl));
  return create;
}

class SteppedClock {
 public:
  SteppedClock(ServerProcess& server, const TestFolder& folder)
      : server_(server), folder_(folder) {}

  void Start(int days) {
    days_ = days;
    const ScopedEnvironment scoped(days == 0 ? Environment()
                                             : ClockOff(folder_, days * kSecondsOfADay));
    ASSERT_TRUE(server_.Start()) << server_.Log();
    client_ = std::make_unique<WireClient>(server_.address());
  }

  // A request of each kind, every one answered.
  void Act() {
    const auto create = CreateFor("before", kLongLease);
    token_ = Act(&Stub::CreateSession, create).lease_token();
    const uint64_t turn = Act(&Stub::BeginTurn, test::BeginRequest("before", token_)).turn();
    client_->Must(&Stub::AppendJournal, test::AppendRequest("before", token_, turn, 1));
    Act(&Stub::CommitTurn, test::CommitRequest("before", token_, turn, "said once"));
    pb::UpdateSessionRequest update;
    update.set_request_id(test::NewRequestId());
    update.mutable_session()->set_session_id("before");
    (*update.mutable_session()->mutable_attributes())["title"] = "set once";
    update.mutable_update_mask()->add_paths("attributes.title");
    Act(&Stub::UpdateSession, update);
    pb::AppendAuditRequest audit;
    audit.set_request_id(test::NewRequestId());
    audit.set_session_id("before");
    audit.set_audit_class("Note");
    audit.set_code("said");
    audit.set_correlation_id("once");
    Act(&Stub::AppendAudit, audit);
    picture_ = Picture();
  }

  void ExpectNoRetryActs() {
    for (const auto& repeat : repeats_) repeat();
    EXPECT_EQ(Picture(), picture_);
  }

  // The lease of before: its holder writes, and another client does not get it.
  void ExpectLeaseLives(const std::string& session, const std::string& token) {
    const pb::Session found = client_->Get(session);
    EXPECT_EQ(found.lease().state(), pb::LEASE_STATE_LIVE) << session;
    EXPECT_LE(found.lease().expires_in().seconds(), absl::ToInt64Seconds(kLongLease)) << session;
    EXPECT_GT(found.lease().expires_in().seconds(), absl::ToInt64Seconds(kLongLease / 2))
        << session;
    EXPECT_EQ(client_->Reason(&Stub::ResumeSession, test::ResumeRequest(session)), "LEASE_HELD");
    const uint64_t turn = Act(&Stub::BeginTurn, test::BeginRequest(session, token)).turn();
    Act(&Stub::CommitTurn, test::CommitRequest(session, token, turn, "said"));
    picture_ = Picture();
  }

  // Leases that are granted by a server whose clock is off.
  void ExpectLeasesAsGranted() {
    const absl::Duration granted = SystemClock().SinceBoot();
    client_->Must(&Stub::CreateSession, CreateFor("short", kLeaseTtlLeast));
    const auto longer = client_->Must(&Stub::CreateSession, CreateFor("after", kLongLease));
    const absl::Duration off =
        absl::FromUnixSeconds(longer.session().create_time().seconds()) - absl::Now();
    EXPECT_LT(absl::AbsDuration(off - absl::Hours(24) * days_), absl::Hours(1))
        << "its clock is as far off as it should be";
    ExpectLeaseLives("after", longer.lease_token());
    EXPECT_TRUE(WaitUntil([&] {
      return client_->Reason(&Stub::ResumeSession, test::ResumeRequest("short")) == "OK";
    }));
    EXPECT_GE(SystemClock().SinceBoot() - granted, kLeaseTtlLeast) << "it ended early";
  }

  [[nodiscard]] const std::string& token() const { return token_; }

 private:
  // Acts, and keeps the request for ExpectNoRetryActs.
  template <typename Request, typename Reply>
  Reply Act(WireClient::Method<Request, Reply> method, const Request& request) {
    const Reply reply = client_->Must(method, request);
    EXPECT_FALSE(reply.repeated());
    repeats_.push_back([this, method, request, revision = RevisionOf(reply)] {
      const Reply again = client_->Must(method, request);
      EXPECT_TRUE(again.repeated()) << request.ShortDebugString();
      if (revision != 0) {
        EXPECT_EQ(RevisionOf(again), revision) << request.ShortDebugString();
      }
    });
    return reply;
  }
  // Of the change; 0 where the reply carries the session as it is now.
  template <typename Reply>
  static uint64_t RevisionOf(const Reply& reply) {
    if constexpr (requires { reply.revision(); }) return reply.revision();
    return 0;
  }

  std::string Picture() {
    pb::ListAuditRecordsRequest audit;
    audit.set_session_id("before");
    return client_->Everything("before") +
           client_->Must(&Stub::ListAuditRecords, audit).DebugString();
  }

  ServerProcess& server_;
  const TestFolder& folder_;
  int days_ = 0;
  std::unique_ptr<WireClient> client_;
  std::string token_;
  std::vector<std::function<void()>> repeats_;
  std::string picture_;  // what the session of before is known to be
};

}  // namespace

void ExpectTheStepChangesNothing(ServerProcess& server, const TestFolder& folder, int days) {
  SteppedClock clock(server, folder);
  ASSERT_NO_FATAL_FAILURE(clock.Start(0));
  clock.Act();
  EXPECT_EQ(server.Stop().exit_code, 0) << server.Log();
  ASSERT_NO_FATAL_FAILURE(clock.Start(days));
  clock.ExpectNoRetryActs();
  clock.ExpectLeaseLives("before", clock.token());
  clock.ExpectLeasesAsGranted();
  clock.ExpectNoRetryActs();
  server.Kill();
  ASSERT_NO_FATAL_FAILURE(clock.Start(0));
  clock.ExpectNoRetryActs();
  clock.ExpectLeaseLives("before", clock.token());
}

}  // namespace holdfast::testing

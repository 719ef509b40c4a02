// CloseSession with `drain`: it waits without a worker, and whatever ends the wait early leaves no
// effect.
#include "server/session_waiters.h"
#include "server/worker_pool.h"
#include "tests/rpc/served.h"
#include "tests/support/details.h"

#include "absl/synchronization/notification.h"

#include <atomic>
#include <optional>
#include <string>
#include <thread>

namespace holdfast::test {
namespace {

using Stub = pb::SessionService::Stub;

class DrainingCloseRpc : public Served {
 protected:
  DrainingCloseRpc() { config().server.workers = 1; }

  static pb::CloseSessionRequest Draining(const std::string& id, const std::string& token) {
    pb::CloseSessionRequest request = CloseRequest(id, token);
    request.mutable_drain()->set_seconds(30);
    return request;
  }

  // Waits until the close that was sent after `loads` has seen the turn it waits for.
  void AwaitWaiting(int loads) { script().AwaitLoadAfter(loads); }

  void ExpectUntouched(const std::string& id) {
    EXPECT_EQ(Get(id).lifecycle(), pb::LIFECYCLE_ACTIVE);
    EXPECT_EQ(Get(id).revision(), 2);
  }
};

TEST_F(DrainingCloseRpc, WaitsForTheTurnsCommitWithoutAWorker) {
  const std::string token = Create("one").lease_token();
  Begin("one", token);
  pb::CloseSessionResponse closed;
  grpc::Status status;
  const int loads = script().Loads();
  std::thread closing([&] { status = Ask(&Stub::CloseSession, Draining("one", token), &closed); });
  AwaitWaiting(loads);
  // The only worker is free for the commit.
  Commit("one", token, 1, "the end");
  closing.join();
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_TRUE(closed.persisted());
  EXPECT_EQ(closed.drained_turns(), 1);
  EXPECT_EQ(closed.abandoned_turn(), 0);
  EXPECT_EQ(Get("one").lifecycle(), pb::LIFECYCLE_CLOSED);
  EXPECT_EQ(Get("one").message_count(), 1);
}

TEST_F(DrainingCloseRpc, AbandonsTheTurnWhenTheTimeIsOver) {
  const std::string token = Create("one").lease_token();
  Begin("one", token);
  pb::CloseSessionResponse closed;
  grpc::Status status;
  const pb::CloseSessionRequest request = Draining("one", token);
  const int loads = script().Loads();
  std::thread closing([&] { status = Ask(&Stub::CloseSession, request, &closed); });
  AwaitWaiting(loads);
  clock().Advance(absl::Seconds(30));
  closing.join();
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_FALSE(closed.persisted());
  EXPECT_EQ(closed.abandoned_turn(), 1);
  EXPECT_EQ(closed.drained_turns(), 0);
  // The same request again is answered with the first reply, at once.
  pb::CloseSessionResponse again;
  ASSERT_TRUE(Ask(&Stub::CloseSession, request, &again).ok());
  EXPECT_TRUE(again.repeated());
  EXPECT_EQ(again.abandoned_turn(), 1);
}

TEST_F(DrainingCloseRpc, IsAnsweredAtOnceWhereThereIsNothingToWaitFor) {
  const std::string token = Create("one").lease_token();
  pb::CloseSessionResponse closed;
  ASSERT_TRUE(Ask(&Stub::CloseSession, Draining("one", token), &closed).ok());
  EXPECT_TRUE(closed.persisted());
  EXPECT_EQ(ReasonOf(Ask(&Stub::CloseSession, Draining("two", ""))), "SESSION_NOT_FOUND");
  const std::string other = Create("two").lease_token();
  Begin("two", other);
  EXPECT_EQ(ReasonOf(Ask(&Stub::CloseSession, Draining("two", ""))), "LEASE_HELD");
  pb::CloseSessionRequest long_one = Draining("two", other);
  long_one.mutable_drain()->set_seconds(31);
  EXPECT_EQ(ReasonOf(Ask(&Stub::CloseSession, long_one)), "INVALID_FIELD");
}

TEST_F(DrainingCloseRpc, ACancelLeavesNoEffect) {
  const std::string token = Create("one").lease_token();
  Begin("one", token);
  grpc::ClientContext context;
  grpc::Status status;
  const int loads = script().Loads();
  std::thread closing([&] {
    pb::CloseSessionResponse closed;
    status = sessions().CloseSession(&context, Draining("one", token), &closed);
  });
  AwaitWaiting(loads);
  context.TryCancel();
  closing.join();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_NE(AwaitLog("\"reason\":\"CANCELLED\"").find("CloseSession"), std::string::npos);
  ExpectUntouched("one");
}

// The time that passes is the server's alone: where the client's own clock ends the call first, its
// cancel may reach the server a moment before the deadline does, or before the call.
TEST_F(DrainingCloseRpc, ADeadlineLeavesNoEffect) {
  const std::string token = Create("one").lease_token();
  Begin("one", token);
  const pb::CloseSessionRequest request = Draining("one", token);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  grpc::Status status;
  const int loads = script().Loads();
  std::thread closing([&] {
    pb::CloseSessionResponse closed;
    status = sessions().CloseSession(&context, request, &closed);
  });
  AwaitWaiting(loads);
  clock().Advance(absl::Seconds(20));
  closing.join();
  EXPECT_EQ(ReasonOf(status), "DEADLINE");
  EXPECT_EQ(status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_NE(AwaitLog("\"reason\":\"DEADLINE\"").find("CloseSession"), std::string::npos);
  ExpectUntouched("one");
}

TEST_F(DrainingCloseRpc, TheServersStopLeavesNoEffect) {
  const std::string token = Create("one").lease_token();
  Begin("one", token);
  grpc::Status status;
  const int loads = script().Loads();
  std::thread closing([&] { status = Ask(&Stub::CloseSession, Draining("one", token)); });
  AwaitWaiting(loads);
  EXPECT_EQ(Stop(), 0);
  closing.join();
  EXPECT_EQ(Describe(status),
            "UNAVAILABLE STORE_UNAVAILABLE: this server is stopping\n"
            "    ErrorInfo{holdfast STORE_UNAVAILABLE; code=Session/StoreUnavailable; "
            "outcome=known}\n"
            "    RetryInfo{a while}\n"
            "    RequestInfo{TRACE}\n");
  const Head& head = disk().sessions.begin()->second.head;
  EXPECT_EQ(head.lifecycle, Lifecycle::kActive);
  EXPECT_TRUE(head.lease.held);
}

// A close that has checked the session may begin to wait only after the server stopped waking
// waiters. Unless it is woken at once, the server's end waits for it for ever.
TEST(SessionWaiters, WakesWaiterAtOnceWhenAddedAfterStop) {
  WorkerPool pool({.workers = 1, .queued = 1});
  SessionWaiters waiters(pool);
  waiters.Stop();
  std::optional<SessionWaiters::Woken> woken;
  waiters.Add({.key = {*TenantId::Parse("default"), *SessionId::Parse("one")},
               .over = [] { return false; },
               .wake = [&](SessionWaiters::Woken why) { woken = why; }});
  EXPECT_EQ(woken, SessionWaiters::Woken::kStopping);
}

// The worker may be waiting for a store that does not answer: the stop must not wait for it.
TEST(SessionWaiters, StopWakesWhileThePoolHasNoRoom) {
  absl::Notification started;
  absl::Notification go;
  WorkerPool pool({.workers = 1, .queued = 1});
  ASSERT_TRUE(pool.Submit([&] {
    started.Notify();
    go.WaitForNotification();
  }));
  started.WaitForNotification();
  ASSERT_TRUE(pool.Submit([] {}));
  SessionWaiters waiters(pool);
  absl::Notification woken;
  waiters.Add({.key = {*TenantId::Parse("default"), *SessionId::Parse("one")},
               .over = [] { return false; },
               .wake = [&](SessionWaiters::Woken) { woken.Notify(); }});
  std::jthread stop([&] { waiters.Stop(); });
  EXPECT_TRUE(woken.WaitForNotificationWithTimeout(absl::Seconds(20)));
  go.Notify();
}

// A waiter that finds no room stays, and is woken when there is room.
TEST(SessionWaiters, WakesLaterWhenThePoolHadNoRoom) {
  absl::Notification started;
  absl::Notification go;
  WorkerPool pool({.workers = 1, .queued = 1});
  ASSERT_TRUE(pool.Submit([&] {
    started.Notify();
    go.WaitForNotification();
  }));
  started.WaitForNotification();
  ASSERT_TRUE(pool.Submit([] {}));
  SessionWaiters waiters(pool);
  const SessionKey key{*TenantId::Parse("default"), *SessionId::Parse("one")};
  absl::Notification woken;
  std::atomic<int> times = 0;
  waiters.Add({.key = key,
               .over = [] { return false; },
               .wake =
                   [&](SessionWaiters::Woken why) {
                     EXPECT_EQ(why, SessionWaiters::Woken::kLook);
                     if (++times == 1) woken.Notify();
                   }});
  waiters.Changed(key);
  EXPECT_FALSE(woken.HasBeenNotified());
  go.Notify();
  EXPECT_TRUE(woken.WaitForNotificationWithTimeout(absl::Minutes(1)));
  waiters.Stop();
  EXPECT_EQ(times, 1);
}

}  // namespace
}  // namespace holdfast::test

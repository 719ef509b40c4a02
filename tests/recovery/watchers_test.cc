// Many watchers of one session that changes all the time: each change is read once or twice for all
// of them, and the calls of other clients are served as before.
#include "holdfast/v1/admin_service.grpc.pb.h"
#include "holdfast/v1/session_service.grpc.pb.h"
#include "tests/support/channel.h"
#include "tests/support/each_store.h"
#include "tests/support/latencies.h"
#include "tests/support/requests.h"
#include "tests/support/server_process.h"
#include "tests/support/wait.h"
#include "tests/support/watch_client.h"
#include "tests/support/wire_client.h"

#include "absl/time/clock.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <iostream>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::testing {
namespace {

using Stub = WireClient::Stub;

constexpr char kCrowdedSession[] = "watched";
constexpr char kOther[] = "other";
constexpr size_t kWatchersOfAConnection = 500;
constexpr absl::Duration kBetweenCommits = absl::Milliseconds(5);  // 200 a second
constexpr size_t kBegunAtOnce = 32;
constexpr size_t kCallsBesideWatchers = 1000;
constexpr uint64_t kReadsOfACommit = 2;

// A watch that reads as fast as it can. Its numbers may be read by any thread.
class Watcher final : public grpc::ClientReadReactor<pb::WatchSessionResponse> {
 public:
  explicit Watcher(Stub& stub) : request_(WatchFrom(kCrowdedSession, 0)) {
    stub.async()->WatchSession(&context_, &request_, this);
    StartRead(&message_);
    StartCall();
  }

  void OnReadDone(bool ok) override {
    if (!ok) return;
    if (message_.has_event()) {
      const uint64_t seq = message_.event().seq();
      if (seq != seen_ + 1) ++gaps_;
      seen_ = seq;
    }
    StartRead(&message_);
  }
  void OnDone(const grpc::Status&) override { done_ = true; }

  void Cancel() { context_.TryCancel(); }
  // The number of the last event that came.
  [[nodiscard]] uint64_t seen() const { return seen_; }
  // How often an event came that was not the next one.
  [[nodiscard]] int gaps() const { return gaps_; }
  [[nodiscard]] bool done() const { return done_; }

 private:
  grpc::ClientContext context_;
  const pb::WatchSessionRequest request_;
  pb::WatchSessionResponse message_;
  std::atomic<uint64_t> seen_ = 0;
  std::atomic<int> gaps_ = 0;
  std::atomic<bool> done_ = false;
};

// All watchers. They are cancelled and waited for when it goes away.
class Crowd final {
 public:
  Crowd(const std::string& address, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      if (i % kWatchersOfAConnection == 0) {
        stubs_.push_back(pb::SessionService::NewStub(Connected(address)));
      }
      watchers_.emplace_back(*stubs_.back());
      // More at once would not fit into the queue for calls.
      if (i % kBegunAtOnce == 0) {
        EXPECT_TRUE(AwaitSeen(1)) << "watch " << i << " was ended";
      }
    }
  }
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;
  ~Crowd() {
    for (Watcher& watcher : watchers_) watcher.Cancel();
    for (const Watcher& watcher : watchers_) {
      EXPECT_TRUE(WaitUntil([&] { return watcher.done(); }, absl::Minutes(5)));
    }
  }

  // Waits until each has seen event `seq`. False when one has ended, or it takes too long.
  bool AwaitSeen(uint64_t seq) {
    for (const Watcher& watcher : watchers_) {
      WaitUntil([&] { return watcher.done() || watcher.seen() >= seq; }, absl::Minutes(20));
      if (watcher.seen() < seq) return false;
    }
    return true;
  }
  [[nodiscard]] int gaps() const {
    int gaps = 0;
    for (const Watcher& watcher : watchers_) gaps += watcher.gaps();
    return gaps;
  }

 private:
  std::vector<std::unique_ptr<Stub>> stubs_;
  std::deque<Watcher> watchers_;
};

// Ordinary calls of another client about another session, one after the other, until it is stopped.
class OtherClient final {
 public:
  explicit OtherClient(const std::string& address)
      : client_(address), thread_([this](const std::stop_token& stop) { Run(stop); }) {}

  // Waits until it has made so many calls.
  bool AwaitCalls(size_t count) {
    return WaitUntil([&] { return calls_ >= count; });
  }
  // Ends it; how long each call took.
  Latencies Stop() {
    thread_.request_stop();
    thread_.join();
    return times_;
  }
  // Once it is stopped.
  [[nodiscard]] int refused() const { return refused_; }

 private:
  void Run(const std::stop_token& stop) {
    pb::GetSessionRequest request;
    request.set_session_id(kOther);
    while (!stop.stop_requested()) {
      const absl::Time begun = absl::Now();
      if (client_.Reason(&Stub::GetSession, request) != "OK") ++refused_;
      times_.push_back(absl::Now() - begun);
      ++calls_;
    }
  }

  WireClient client_;
  Latencies times_;
  int refused_ = 0;
  std::atomic<size_t> calls_ = 0;
  std::jthread thread_;
};

// A server with a session that is watched, and what changes that session.
class WatchedServer final {
 public:
  explicit WatchedServer(StoreKind kind) : store_(kind) {}

  bool Start() {
    if (!server_.Start()) return false;
    client_ = std::make_unique<WireClient>(server_.address());
    admin_ = pb::AdminService::NewStub(Connected(server_.address()));
    client_->Must(&Stub::CreateSession, test::CreateRequest(kOther));
    token_ =
        client_->Must(&Stub::CreateSession, test::CreateRequest(kCrowdedSession)).lease_token();
    return true;
  }

  [[nodiscard]] const std::string& address() const { return server_.address(); }
  std::string Log() { return server_.Log(); }

  pb::ResourceUse Resources() {
    grpc::ClientContext context;
    pb::StatusResponse status;
    EXPECT_EQ(VerdictOf(admin_->Status(&context, {}, &status)).reason, "OK");
    return status.resources();
  }

  // Takes so many turns, a commit every kBetweenCommits where the server is as fast.
  void Commit(int turns) {
    absl::Time due = absl::Now();
    for (int turn = 0; turn < turns; ++turn, due += kBetweenCommits) {
      WaitUntil([&] { return absl::Now() >= due; });
      const auto begun =
          client_->Must(&Stub::BeginTurn, test::BeginRequest(kCrowdedSession, token_));
      client_->Must(&Stub::CommitTurn,
                    test::CommitRequest(kCrowdedSession, token_, begun.turn(), "said"));
    }
  }
  uint64_t last_event() { return client_->Get(kCrowdedSession).last_event(); }

 private:
  TestFolder folder_;
  StoreUnderServer store_;
  ServerProcess server_{folder_,
                        store_.Settings({.more = "limits: {queued_calls: 64, watchers: 20000}\n"})};
  std::unique_ptr<WireClient> client_;
  std::unique_ptr<pb::AdminService::Stub> admin_;
  std::string token_;
};

class ManyWatchers : public ::testing::TestWithParam<StoreKind> {
 protected:
  void SetUp() override {
    ASSERT_TRUE(server_.Start()) << server_.Log();
    ASSERT_TRUE(other_.Start()) << other_.Log();
  }

  // Watches and changes a session of `watched` while another session of the first server is read.
  UnderLoad Watch(WatchedServer& watched, size_t watchers, int turns) {
    Crowd crowd(watched.address(), watchers);
    EXPECT_TRUE(crowd.AwaitSeen(1));
    EXPECT_EQ(watched.Resources().watchers(), watchers);
    OtherClient calm_client(server_.address());
    EXPECT_TRUE(calm_client.AwaitCalls(kCallsBesideWatchers));
    const Latencies calm = calm_client.Stop();

    const uint64_t reads_before = watched.Resources().watch_reads();
    const absl::Time begun = absl::Now();
    OtherClient other_client(server_.address());
    watched.Commit(turns);
    const absl::Duration committing = absl::Now() - begun;
    EXPECT_TRUE(crowd.AwaitSeen(watched.last_event()));
    const absl::Duration delivering = absl::Now() - begun;
    const Latencies beside = other_client.Stop();
    const uint64_t reads = watched.Resources().watch_reads() - reads_before;

    // Where nothing wakes them, some look once a second all the same.
    const auto beats = static_cast<uint64_t>(absl::ToInt64Seconds(delivering)) + 1;
    const uint64_t most = kReadsOfACommit * static_cast<uint64_t>(turns) + beats;
    fewest_beyond_ = std::min(fewest_beyond_, reads - std::min(reads, most));
    EXPECT_EQ(crowd.gaps(), 0) << "events were missed, or seen twice";
    EXPECT_EQ(calm_client.refused() + other_client.refused(), 0);
    const UnderLoad times = {Percentile(calm, 99), Percentile(beside, 99)};
    std::cout << watchers << " watchers" << (&watched == &other_ ? " of another server, " : ", ")
              << turns << " commits in " << committing << ", delivered after " << delivering << ", "
              << reads << " reads; 99th of 100 calls of another session " << times.calm
              << " while they are idle (" << calm.size() << " calls), " << times.loaded
              << " beside the commits (" << beside.size() << " calls)\n";
    return times;
  }

  // The watchers run on the cores of the server. So the test compares their cost with that of
  // watchers of another server on this machine.
  void ExpectOthersServedBeside(size_t watchers, int turns) {
    ExpectAtMostDoubled([&] { return Watch(other_, watchers, turns); },
                        [&] { return Watch(server_, watchers, turns); });
    EXPECT_EQ(fewest_beyond_, 0U) << "reads beyond " << kReadsOfACommit << " a commit, each time";
  }

 private:
  // Watchers that the scheduler delays fall behind the cached pages and read on their own: the test
  // checks the fewest such reads of all rounds.
  uint64_t fewest_beyond_ = UINT64_MAX;
  WatchedServer server_{GetParam()};
  WatchedServer other_{GetParam()};
};
using LongManyWatchers = ManyWatchers;

TEST_P(ManyWatchers, ServesOtherSessionsWithoutDelay) { ExpectOthersServedBeside(500, 200); }

TEST_P(LongManyWatchers, ServesOtherSessionsWithoutDelay) { ExpectOthersServedBeside(10'000, 400); }

INSTANTIATE_TEST_SUITE_P(Stores, ManyWatchers, EachStore(), NameOfStore);
INSTANTIATE_TEST_SUITE_P(Stores, LongManyWatchers, EachStore(), NameOfStore);

}  // namespace
}  // namespace holdfast::testing

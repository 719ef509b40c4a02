// Many watchers of one session: what a change costs the store, and what it costs the other calls.
#include "tests/rpc/served.h"
#include "tests/support/channel.h"
#include "tests/support/details.h"
#include "tests/support/watch_client.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::test {
namespace {

using ::holdfast::testing::Connected;
using ::holdfast::testing::Watch;
using ::holdfast::testing::WatchFrom;

constexpr char kSession[] = "watched";
// Of a turn: its begin and its commit, and their events.
constexpr int kChangesPerTurn = 2;
constexpr size_t kEventsPerTurn = 3;

class SharedWatches : public Served {
 protected:
  SharedWatches() {
    // Far fewer places than watchers: no delivery takes one from a call.
    config().limits.queued_calls = 64;
  }

  void Add(size_t count) {
    constexpr size_t kPerConnection = 500;
    token_ = Create(kSession).lease_token();
    for (size_t i = 0; i < count; ++i) {
      if (watches_.size() % kPerConnection == 0) {
        stubs_.push_back(pb::SessionService::NewStub(Connected(app().address())));
      }
      watches_.push_back(std::make_unique<Watch>(*stubs_.back(), WatchFrom(kSession, 0)));
      seen_.push_back(watches_.back()->UntilProgress().size());
    }
  }

  void TakeTurn() {
    Commit(kSession, token_, Begin(kSession, token_).turn(), "said");
    events_ += kEventsPerTurn;
  }

  // Reads what every watcher lacks: all events, each once and in order.
  void ExpectAllDelivered() {
    for (size_t at = 0; at < watches_.size(); ++at) {
      for (const pb::Event& event : watches_[at]->Events(events_ - seen_[at])) {
        ASSERT_EQ(event.seq(), ++seen_[at]) << "watcher " << at;
      }
      ASSERT_EQ(seen_[at], events_) << "watcher " << at;
    }
  }

  void ExpectFewReads(size_t watchers, int turns) {
    Add(watchers);
    const int before = script().EventReads();
    const absl::Duration begun = clock().SinceBoot();
    for (int turn = 0; turn < turns; ++turn) {
      TakeTurn();
      ExpectAllDelivered();
    }
    // A beat reads once more, for wake-ups that were lost.
    const int beats = static_cast<int>(absl::ToInt64Seconds(clock().SinceBoot() - begun)) + 2;
    EXPECT_LE(script().EventReads() - before, 2 * kChangesPerTurn * turns + beats);
  }

  void TearDown() override {
    watches_.clear();
    Served::TearDown();
  }

 private:
  std::string token_;
  uint64_t events_ = 1;  // the session's creation
  std::vector<std::unique_ptr<pb::SessionService::Stub>> stubs_;
  std::vector<std::unique_ptr<Watch>> watches_;
  std::vector<uint64_t> seen_;
};

TEST_F(SharedWatches, ReadOncePerChange) { ExpectFewReads(1000, 10); }

// A backlog is read once for all that begin at the same place.
TEST_F(SharedWatches, ThatLagShareTheirPages) {
  constexpr size_t kWatchers = 200;
  constexpr int kTurns = 100;
  Add(kWatchers);
  const int before = script().EventReads();
  const absl::Duration begun = clock().SinceBoot();
  for (int turn = 0; turn < kTurns; ++turn) TakeTurn();
  ExpectAllDelivered();
  const int beats = static_cast<int>(absl::ToInt64Seconds(clock().SinceBoot() - begun)) + 2;
  EXPECT_LE(script().EventReads() - before, 2 * kChangesPerTurn * kTurns + beats);
}

TEST_F(SharedWatches, RefuseNoOtherCall) {
  Add(500);
  std::atomic<bool> stop = false;
  std::atomic<int> refused = 0;
  std::jthread other([&] {
    const auto stub = pb::AdminService::NewStub(Connected(app().address()));
    while (!stop) {
      grpc::ClientContext context;
      pb::EchoResponse reply;
      if (!stub->Echo(&context, {}, &reply).ok()) ++refused;
    }
  });
  for (int turn = 0; turn < 20; ++turn) TakeTurn();  // none of which may be refused
  ExpectAllDelivered();
  stop = true;
  other.join();
  EXPECT_EQ(refused, 0);
}

class LongSharedWatches : public SharedWatches {
 protected:
  LongSharedWatches() { config().limits.watchers = 20'000; }
};

TEST_F(LongSharedWatches, TenThousandReadOncePerChange) { ExpectFewReads(10'000, 5); }

}  // namespace
}  // namespace holdfast::test

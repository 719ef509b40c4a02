// Holders whose server is paused (SIGSTOP) with their writes in it, while their sessions are taken
// over at another one: after the pause a write under an old epoch has no effect. And a server whose
// clock is wrong: leases expire and sweeps run by the database's clock.
#include "session/limits.h"
#include "tests/history/checker.h"
#include "tests/history/traffic.h"
#include "tests/postgres/server_group.h"
#include "tests/support/requests.h"
#include "tests/support/wait.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <atomic>
#include <csignal>
#include <functional>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::testing {
namespace {

using history::Traffic;
using Stub = WireClient::Stub;

constexpr int kHolders = 100;
constexpr int kServerPauses = 10;
constexpr int kAnsweredBefore = 10;  // the server is paused when so many writes came back

// One session and what is known of it.
struct Held {
  std::string id;
  std::string token;
  uint64_t turn = 0;
  std::string late;               // what became of the write that was under way
  std::vector<std::string> said;  // every message that must be there
};

class PausedServer : public ::testing::Test {
 protected:
  void SetUp() override {
    group_.MakeStore();
    ASSERT_NO_FATAL_FAILURE(group_.Add());
    ASSERT_NO_FATAL_FAILURE(group_.Add());
    for (int i = 0; i < kHolders; ++i) {
      held_.push_back({.id = absl::StrCat("held-", i)});
      held_.back().token = group_.client(0)
                               .Must(&Stub::CreateSession, test::CreateRequest(held_.back().id))
                               .lease_token();
    }
  }

  static void ForEach(std::vector<Held>& held, const std::function<void(Held&)>& act) {
    std::vector<std::jthread> threads;
    threads.reserve(held.size());
    for (Held& one : held) threads.emplace_back([&act, &one] { act(one); });
  }

  // The holders write at `paused`, which stops with writes in it; the sessions are taken over at
  // the other, and go on there; then `paused` goes on.
  void Round(size_t paused, const std::string& name) {
    const size_t other = 1 - paused;
    WireClient& theirs = group_.client(paused);
    ForEach(held_, [&](Held& one) {
      one.turn = theirs.Must(&Stub::BeginTurn, test::BeginRequest(one.id, one.token)).turn();
    });
    const std::vector<Held> before = held_;
    std::atomic<int> answered = 0;
    std::vector<std::jthread> writes;
    for (Held& one : held_) {
      const auto commit = test::CommitRequest(one.id, one.token, one.turn, "old " + name);
      writes.emplace_back([&theirs, &answered, &one, commit] {
        one.late = theirs.Reason(&Stub::CommitTurn, commit);
        ++answered;
      });
    }
    ASSERT_TRUE(WaitUntil([&] { return answered >= kAnsweredBefore; }));
    const pid_t pid = group_.server(paused).pid();
    ASSERT_EQ(kill(pid, SIGSTOP), 0);
    const int under_way = kHolders - answered;
    std::vector<Held> taken = before;
    ForEach(taken, [&](Held& one) { TakeOver(one, group_.client(other), "new " + name); });
    ASSERT_EQ(kill(pid, SIGCONT), 0);
    writes.clear();
    std::cout << name << ": " << under_way << " writes were paused\n";
    for (size_t i = 0; i < held_.size(); ++i) CheckHeld(before[i], held_[i], taken[i], name);
    held_ = taken;
  }

  void ExpectWhatWasSaid() {
    for (const Held& one : held_) {
      pb::ListMessagesRequest request;
      request.set_session_id(one.id);
      request.set_page_size(kPageMost);
      const auto page = group_.client(1).Must(&Stub::ListMessages, request);
      std::vector<std::string> found;
      for (const pb::Message& message : page.messages()) found.push_back(message.data());
      EXPECT_EQ(found, one.said) << one.id;
    }
  }

  ServerGroup group_;
  std::vector<Held> held_;

 private:
  static void TakeOver(Held& one, WireClient& client, const std::string& text) {
    one.token = client.Must(&Stub::ResumeSession, test::ForceRequest(one.id)).lease_token();
    one.turn = client.Must(&Stub::BeginTurn, test::BeginRequest(one.id, one.token)).turn();
    client.Must(&Stub::CommitTurn, test::CommitRequest(one.id, one.token, one.turn, text));
  }

  // `before` has the token of before, `held` the answer to its write, `taken` the new holder's.
  void CheckHeld(const Held& before, const Held& held, Held& taken, const std::string& name) {
    EXPECT_TRUE(held.late == "OK" || held.late == "FENCED") << held.id << " " << held.late;
    if (held.late == "OK") taken.said.push_back("old " + name);
    taken.said.push_back("new " + name);
    for (size_t server = 0; server < group_.size(); ++server) {
      WireClient& client = group_.client(server);
      EXPECT_EQ(client.Reason(&Stub::BeginTurn, test::BeginRequest(held.id, before.token)),
                "FENCED");
      EXPECT_EQ(client.Renew(held.id, before.token).reason, "FENCED");
    }
  }
};

TEST_F(PausedServer, RejectsWritesItHadPausedUnderAnOldEpoch) {
  for (int round = 0; round < kServerPauses && !HasFatalFailure(); ++round) {
    Round(round % 2, absl::StrCat("round ", round));
  }
  ExpectWhatWasSaid();
  EXPECT_TRUE(group_.AllRunning());
}

class WrongClock : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override { group_.MakeStore(); }
  ServerGroup group_;
};

TEST_P(WrongClock, LeasesEndAndSweepsComeByTheDatabasesClock) {
  group_.Add("recovery: {sweep_interval: 1h}\n");
  group_.Add("recovery: {sweep_interval: 1s, abandon_after: 1s}\n", group_.ClockOff(GetParam()));
  WireClient& wrong = group_.client(1);
  constexpr int kTtl = 10;  // seconds
  std::vector<std::string> tokens;
  for (const char* const id : {"held", "left"}) {
    auto create = test::CreateRequest(id);
    create.mutable_lease_ttl()->set_seconds(kTtl);
    tokens.push_back(wrong.Must(&Stub::CreateSession, create).lease_token());
    wrong.Must(&Stub::BeginTurn, test::BeginRequest(id, tokens.back()));
  }
  const absl::Duration off =
      absl::FromUnixSeconds(wrong.Get("held").create_time().seconds()) - absl::Now();
  EXPECT_GT(absl::AbsDuration(off), absl::Minutes(50)) << "its clock is wrong, as it should be";
  for (size_t server = 0; server < group_.size(); ++server) {
    const auto refused =
        group_.client(server).Ask(&Stub::ResumeSession, test::ResumeRequest("held"));
    EXPECT_EQ(refused.verdict.reason, "LEASE_HELD");
    EXPECT_LE(refused.verdict.retry_after.value_or(absl::Hours(1)), absl::Seconds(kTtl));
  }

  // The server with the wrong clock, which alone sweeps, closes the session that is not renewed.
  EXPECT_TRUE(WaitUntil([&] {
    for (size_t server = 0; server < group_.size(); ++server) {
      EXPECT_EQ(group_.client(server).Renew("held", tokens[0]).reason, "OK");
    }
    return group_.client(0).Get("left").lifecycle() == pb::LIFECYCLE_CLOSED;
  }));
  EXPECT_EQ(group_.client(0).Get("held").lease().epoch(), 1U);
  wrong.Must(&Stub::CommitTurn, test::CommitRequest("held", tokens[0], 1, "still here"));
  EXPECT_EQ(wrong.Reason(&Stub::CommitTurn, test::CommitRequest("left", tokens[1], 1, "too late")),
            "FENCED");
}

TEST_P(WrongClock, TrafficIsServedAsByOneStore) {
  constexpr uint64_t kCalls = 1500;
  group_.Add();
  group_.Add("", group_.ClockOff(GetParam()));
  const TestFolder folder;
  Traffic traffic({.addresses = group_.Addresses(), .file = folder.File("history")});
  traffic.Start();
  ASSERT_TRUE(WaitUntil([&] { return traffic.acknowledged() >= kCalls; })) << group_.Logs();
  traffic.Stop();
  const absl::StatusOr<history::History> history = traffic.Finish();
  ASSERT_TRUE(history.ok()) << history.status();
  const history::Complaints complaints = history::Check(*history);
  EXPECT_TRUE(complaints.empty()) << ToText(complaints, 20);
  EXPECT_TRUE(group_.AllRunning());
}

using FarOffClock = WrongClock;

// The server that is days off sweeps, and would forget the reply of a moment ago.
TEST_P(FarOffClock, RepliesAreKeptByTheDatabasesClock) {
  group_.Add("recovery: {sweep_interval: 1h}\n");
  group_.Add("recovery: {sweep_interval: 1s, abandon_after: 1s}\n", group_.ClockOff(GetParam()));
  auto create = test::CreateRequest("kept");
  const auto created = group_.client(0).Must(&Stub::CreateSession, create);
  group_.client(0).Must(&Stub::BeginTurn, test::BeginRequest("kept", created.lease_token()));
  const auto commit = test::CommitRequest("kept", created.lease_token(), 1, "once");
  const auto committed = group_.client(0).Must(&Stub::CommitTurn, commit);
  // Its sweeps have come by when a session is closed that it alone closes.
  create = test::CreateRequest("left");
  create.mutable_lease_ttl()->set_seconds(5);
  const std::string token = group_.client(1).Must(&Stub::CreateSession, create).lease_token();
  group_.client(1).Must(&Stub::BeginTurn, test::BeginRequest("left", token));
  ASSERT_TRUE(
      WaitUntil([&] { return group_.client(0).Get("left").lifecycle() == pb::LIFECYCLE_CLOSED; }));
  for (size_t server = 0; server < group_.size(); ++server) {
    const auto repeated = group_.client(server).Must(&Stub::CommitTurn, commit);
    EXPECT_TRUE(repeated.repeated()) << "by server " << server;
    EXPECT_EQ(repeated.revision(), committed.revision());
  }
}

INSTANTIATE_TEST_SUITE_P(By, FarOffClock, ::testing::Values(2 * 86400, -2 * 86400),
                         [](const auto& param) {
                           return std::string(param.param > 0 ? "TwoDaysAhead" : "TwoDaysBehind");
                         });
INSTANTIATE_TEST_SUITE_P(By, WrongClock, ::testing::Values(3600, -3600), [](const auto& param) {
  return std::string(param.param > 0 ? "AnHourAhead" : "AnHourBehind");
});

}  // namespace
}  // namespace holdfast::testing

// Three servers of one database under mixed traffic, with leases that move between clients, while
// servers, backends and PostgreSQL itself are killed: one correct store could have given all the
// answers. A run can be repeated by its seed, $HOLDFAST_SEED.
#include "tests/history/traffic.h"

#include "tests/history/checker.h"
#include "tests/history/kills.h"
#include "tests/history/mutants.h"
#include "tests/history/record_file.h"
#include "tests/postgres/server_group.h"
#include "tests/postgres/verifier.h"
#include "tests/support/wait.h"

#include "absl/strings/numbers.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace holdfast::testing {
namespace {

using history::History;
using history::HistoryNow;
using history::Kill;
using history::Mutation;
using history::Traffic;

constexpr size_t kServers = 3;
constexpr size_t kKillsPerSeed = 25;  // of each of two seeds
constexpr size_t kShortKills = 10;
constexpr size_t kLongKills = 1000;
constexpr size_t kActsPerKill = 3;  // at most: not each kill counts
// Mutations that are acknowledged between two kills, at least and in a second.
constexpr uint64_t kCallsBetweenKills = 60;
constexpr double kLeastCallsPerSecond = 50;
// For so long the traffic may make up for a pause. Then it is a kill that does not count.
constexpr int64_t kSlowNs = 20'000'000'000;
constexpr uint64_t kMutantsOfEach = 10;
constexpr size_t kLeastKinds = 20;  // of mutants that a short record has a place for
constexpr uint64_t kTrafficSeed = 20;

enum class Victim : uint8_t { kServer, kBackend, kDatabase, kRestart };
constexpr std::array<const char*, 4> kVictims = {"servers", "backends", "whole databases",
                                                 "restarts in order"};
// What each ten are; of the databases every third is not killed, but restarted.
constexpr std::array<Victim, 10> kTen = {
    Victim::kServer, Victim::kServer, Victim::kServer,  Victim::kServer,  Victim::kServer,
    Victim::kServer, Victim::kServer, Victim::kBackend, Victim::kBackend, Victim::kDatabase};
constexpr size_t kRestartsAmong = 3;

uint64_t Seed() {
  uint64_t seed = kTrafficSeed;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing else runs yet
  const char* const set = std::getenv("HOLDFAST_SEED");
  EXPECT_TRUE(set == nullptr || absl::SimpleAtoi(set, &seed)) << set;
  return seed;
}

// Those that serve clients of the cluster; none while it recovers.
std::vector<pid_t> BackendsOf(const std::string& dsn) {
  constexpr pg::Statement kBackends = {
      "backends",
      "SELECT pid::bigint FROM pg_stat_activity"
      " WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"};
  std::vector<pid_t> pids;
  const auto connection = pg::Connection::Open({.dsn = dsn});
  if (!connection.ok()) return pids;
  const pg::Answer answer = (*connection)->Run(kBackends, pg::Params());
  const auto* const rows = std::get_if<pg::Rows>(&answer);
  for (size_t row = 0; rows != nullptr && row < rows->size(); ++row) {
    pids.push_back(static_cast<pid_t>(rows->Int(row, 0)));
  }
  return pids;
}

class PostgresTraffic : public ::testing::Test {
 protected:
  // `further` is added to the seed of the run.
  explicit PostgresTraffic(uint64_t further = 0) : seed_(Seed() + further) {}

  void SetUp() override {
    std::cout << "seed: " << Seed() << "\n";
    group_.MakeStore();
    for (size_t i = 0; i < kServers && !HasFatalFailure(); ++i) group_.Add();
  }

  // Kills until `kills` of them count, and checks the record.
  void KillUnderTraffic(size_t kills) {
    const history::TrafficPlan plan = {
        .addresses = group_.Addresses(), .file = folder_.File("history"), .seed = seed_};
    Traffic traffic(plan);
    traffic.Start();
    NoteNow(traffic);
    for (size_t acts = 0; acts < kActsPerKill * kills && !Enough(plan.file, kills); ++acts) {
      Act(traffic);
      ASSERT_FALSE(HasFatalFailure());
    }
    ASSERT_TRUE(AwaitTraffic(traffic, Victim::kRestart, 0)) << group_.Logs();
    traffic.Stop();

    // Only what is in the database now counts: another server, another client.
    for (size_t server = 0; server < kServers; ++server) {
      group_.server(server).Kill();
      ASSERT_TRUE(StartAgain(server));
    }
    VerifyBeside(folder_, plan);
    ASSERT_FALSE(HasFailure());
    absl::StatusOr<History> history = history::ReadRecord(plan.file);
    ASSERT_TRUE(history.ok()) << history.status();
    history_ = *std::move(history);
    CountKills(kills);
    const size_t takeovers = history::Takeovers(history_);
    const size_t unanswered = history::Unanswered(history_);
    std::cout << takeovers << " leases went to another client, " << unanswered
              << " mutations were never answered\n";
    EXPECT_GE(takeovers, 2 * kills);
    EXPECT_GE(unanswered, kills / 2) << "too few kills interrupted a mutation";
  }

  // Kills of every kind, as many as there are in a record of kKillsPerSeed.
  void KillEverything() {
    least_restarts_ = 1;
    KillUnderTraffic(kKillsPerSeed);
    EXPECT_GE(Met(Victim::kServer), kKillsPerSeed / 2);
    EXPECT_GE(Met(Victim::kBackend), kKillsPerSeed / 10);
    EXPECT_GE(Met(Victim::kDatabase), kKillsPerSeed / 25);
    EXPECT_GE(restarts_, least_restarts_);
  }

  // How many kills of the kind count.
  [[nodiscard]] size_t Met(Victim victim) const { return met_.at(static_cast<size_t>(victim)); }
  [[nodiscard]] const History& history() const { return history_; }
  [[nodiscard]] uint64_t seed() const { return seed_; }

 private:
  struct Killed {
    Victim victim = Victim::kServer;
    Kill kill;
    double rate = 0;  // mutations acknowledged in a second since the kill before
  };

  // One kill or restart under traffic; all is up again, or about to be, at the end.
  void Act(const Traffic& traffic) {
    const Victim victim = Draw();
    const auto server = static_cast<uint32_t>(random_() % kServers);
    ASSERT_TRUE(AwaitTraffic(traffic, victim, server)) << group_.Logs();
    Killed killed = {.victim = victim, .kill = {.at = HistoryNow()}, .rate = Rate(traffic)};
    if (victim == Victim::kServer) killed.kill.server = server;
    NoteNow(traffic);
    if (victim == Victim::kServer) {
      group_.server(server).Kill();
      ASSERT_TRUE(StartAgain(server));
    } else if (victim == Victim::kBackend) {
      KillBackend(killed);
    } else {
      victim == Victim::kDatabase ? group_.postgres().Kill() : group_.postgres().Stop();
      group_.postgres().Start();
    }
    victim == Victim::kRestart ? void(++restarts_) : killed_.push_back(killed);
  }

  // A kill counts when enough mutations were acknowledged in a second since the one before, and one
  // was in flight at what was killed.
  static bool Counts(const History& history, const Killed& killed) {
    return killed.rate >= kLeastCallsPerSecond && history::MetAMutation(history, killed.kill);
  }
  // By the record so far.
  [[nodiscard]] bool Enough(const std::string& file, size_t kills) const {
    if (restarts_ < least_restarts_ || killed_.size() < kills) return false;
    const absl::StatusOr<History> record = history::ReadRecord(file);
    if (!record.ok()) return false;
    const auto count = std::ranges::count_if(
        killed_, [&](const Killed& killed) { return Counts(*record, killed); });
    return static_cast<size_t>(count) >= kills;
  }

  // Until enough mutations have been acknowledged since the kill before, also for the time that it
  // took unless that is kSlowNs, and one is in flight where the next kill will be. No server may
  // have ended by itself, whatever became of the database.
  bool AwaitTraffic(const Traffic& traffic, Victim victim, size_t server) {
    const bool went_on = WaitUntil([&] {
      const uint64_t in_flight =
          victim == Victim::kServer ? traffic.in_flight_at(server) : traffic.in_flight();
      return traffic.acknowledged() - calls_before_ >= kCallsBetweenKills &&
             (Rate(traffic) >= kLeastCallsPerSecond || HistoryNow() - since_ > kSlowNs) &&
             in_flight > 0;
    });
    EXPECT_TRUE(group_.AllRunning()) << "one gave up:\n" << group_.Logs();
    return went_on;
  }
  [[nodiscard]] double Rate(const Traffic& traffic) const {
    const double seconds = static_cast<double>(HistoryNow() - since_) / 1e9;
    return static_cast<double>(traffic.acknowledged() - calls_before_) / seconds;
  }
  void NoteNow(const Traffic& traffic) {
    since_ = HistoryNow();
    calls_before_ = traffic.acknowledged();
  }

  Victim Draw() {
    if (ten_.empty()) {
      ten_.assign(kTen.begin(), kTen.end());
      std::shuffle(ten_.begin(), ten_.end(), random_);
    }
    const Victim victim = ten_.back();
    ten_.pop_back();
    if (victim != Victim::kDatabase) return victim;
    return ++databases_ % kRestartsAmong == 0 ? Victim::kRestart : victim;
  }

  // PostgreSQL may not have detected yet that one of its backends was killed.
  bool StartAgain(size_t server) {
    return WaitUntil([&] { return group_.server(server).Start(); });
  }

  // PostgreSQL then ends every other connection too, and recovers.
  void KillBackend(Killed& killed) {
    // It may detect only now that another backend was killed.
    std::vector<pid_t> backends;
    ASSERT_TRUE(WaitUntil([&] {
      backends = BackendsOf(group_.postgres().dsn());
      return !backends.empty();
    }));
    killed.kill.at = HistoryNow();
    kill(backends[random_() % backends.size()], SIGKILL);
  }

  void CountKills(size_t kills) {
    double least = std::numeric_limits<double>::infinity();
    size_t all = 0;
    for (const Killed& killed : killed_) {
      if (!Counts(history_, killed)) continue;
      least = std::min(least, killed.rate);
      ++met_.at(static_cast<size_t>(killed.victim));
      ++all;
    }
    for (size_t i = 0; i < met_.size(); ++i) {
      const bool restart = static_cast<Victim>(i) == Victim::kRestart;
      std::cout << (restart ? restarts_ : met_[i]) << " " << kVictims[i] << "\n";
    }
    std::cout << "at least " << least << " mutations acknowledged a second between two kills\n"
              << "figure: " << all << " kills\n";
    EXPECT_GE(all, kills) << "of " << killed_.size();
  }

  const uint64_t seed_;
  const TestFolder folder_;
  ServerGroup group_;
  std::mt19937_64 random_{seed_};
  std::vector<Victim> ten_;
  size_t databases_ = 0;
  int64_t since_ = 0;  // the kill before
  uint64_t calls_before_ = 0;
  std::vector<Killed> killed_;
  std::array<size_t, kVictims.size()> met_ = {};
  size_t restarts_ = 0;
  size_t least_restarts_ = 0;
  History history_;
};

TEST_F(PostgresTraffic, ThreeServersAreOneStoreWhileEverythingIsKilled) { KillEverything(); }

// The other half of the kills: in one test they would take more than a minute.
class PostgresTrafficOfTheNextSeed : public PostgresTraffic {
 protected:
  PostgresTrafficOfTheNextSeed() : PostgresTraffic(1) {}
};
TEST_F(PostgresTrafficOfTheNextSeed, ThreeServersAreOneStoreWhileEverythingIsKilled) {
  KillEverything();
}

// What the checker says nothing about is right because it would have said it: a record of real
// traffic with one thing changed is not passed.
TEST_F(PostgresTraffic, ARecordWithOneThingWrongIsNotPassed) {
  KillUnderTraffic(kShortKills);
  ASSERT_FALSE(HasFailure());
  size_t kinds = 0;
  uint64_t caught = 0;
  for (const Mutation& mutation : history::AllMutations()) {
    bool has_a_place = false;
    for (uint64_t i = 0; i < kMutantsOfEach; ++i) {
      History mutant = history();
      std::mt19937_64 random(seed() + i);
      if (!mutation.apply(mutant, random)) continue;
      has_a_place = true;
      const history::Complaints complaints = Check(mutant);
      const bool named = std::ranges::any_of(
          complaints, [&](const auto& complaint) { return complaint.rule == mutation.rule; });
      EXPECT_TRUE(named) << mutation.name << ", " << i << ": not caught, or for something else:\n"
                         << ToText(complaints, 10);
      ++caught;
    }
    if (has_a_place) ++kinds;
    if (!has_a_place) std::cout << "no place for: " << mutation.name << "\n";
  }
  EXPECT_GE(kinds, kLeastKinds) << "of " << history::AllMutations().size();
  std::cout << "figure: " << caught << " mutants caught\n";
}

using LongPostgresTraffic = PostgresTraffic;
TEST_F(LongPostgresTraffic, ThreeServersAreOneStoreWhileEverythingIsKilled) {
  KillUnderTraffic(kLongKills);
}

}  // namespace
}  // namespace holdfast::testing

// The checker of recorded histories: it is silent about what a correct store can have answered, and
// names what one cannot.
#include "tests/history/checker.h"
#include "tests/history/mutants.h"
#include "tests/history/simulation.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <iostream>
#include <map>
#include <ostream>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace holdfast::history {

void PrintTo(const Mutation& mutation, std::ostream* out) { *out << mutation.name; }

namespace {

constexpr uint64_t kUntouched = 100;
constexpr uint64_t kMutantsOfEach = 20;
constexpr size_t kComplaintsShown = 10;

SimulationPlan PlanOf(uint64_t seed) {
  return {.clients = static_cast<uint32_t>(2 + seed % 10),
          .sessions = static_cast<uint32_t>(1 + seed % 4),
          .operations = 1500,
          .seed = seed};
}

TEST(HistoryChecker, AcceptsCorrectHistories) {
  std::map<Cause, size_t> refused;
  std::map<Outcome, size_t> outcomes;
  size_t repeats = 0;
  for (uint64_t seed = 1; seed <= kUntouched; ++seed) {
    const History history = Simulate(PlanOf(seed));
    const Complaints complaints = Check(history);
    ASSERT_TRUE(complaints.empty()) << "seed " << seed << "\n"
                                    << ToText(complaints, kComplaintsShown);
    for (const Operation& operation : history.operations) {
      ++outcomes[operation.answered.outcome];
      ++refused[operation.answered.cause];
      if (operation.answered.repeated) ++repeats;
    }
  }
  // The histories contain every outcome and every cause of a refusal.
  EXPECT_EQ(outcomes.size(), 3);
  for (const Cause cause : {Cause::kFenced, Cause::kLeaseRequired, Cause::kLeaseHeld,
                            Cause::kConcurrentTurn, Cause::kIllegalTransition, Cause::kStaleTurn,
                            Cause::kStaleRevision, Cause::kSessionExists}) {
    EXPECT_GT(refused[cause], 10) << Name(cause);
  }
  EXPECT_GT(repeats, 100);
}

TEST(HistoryChecker, AcceptsLongHistories) {
  for (const uint32_t clients : {3U, 40U}) {
    const History history =
        Simulate({.clients = clients, .sessions = 8, .operations = 150'000, .seed = clients});
    EXPECT_EQ(ToText(Check(history), kComplaintsShown), "") << clients << " clients";
  }
}

class HistoryMutants : public ::testing::TestWithParam<Mutation> {};

TEST_P(HistoryMutants, AreCaughtForWhatIsWrong) {
  const Mutation& mutation = GetParam();
  uint64_t caught = 0;
  for (uint64_t seed = 1; caught < kMutantsOfEach; ++seed) {
    ASSERT_LE(seed, 50 * kMutantsOfEach) << "only " << caught << " histories have such a place";
    History history = Simulate(PlanOf(seed));
    std::mt19937_64 random(seed);
    if (!mutation.apply(history, random)) continue;
    const Complaints complaints = Check(history);
    const bool named = std::any_of(complaints.begin(), complaints.end(),
                                   [&](const Complaint& at) { return at.rule == mutation.rule; });
    ASSERT_TRUE(named) << "seed " << seed << ": not caught, or for something else:\n"
                       << ToText(complaints, kComplaintsShown);
    ++caught;
  }
  std::cout << "figure: " << caught << " mutants caught\n";
}

// A session that is created, and then taken from its holder without force, `later` nanoseconds
// behind that.
History TakenOver(int64_t later) {
  constexpr int64_t kTtl = 5'000'000'000;
  const Uuid create{.high = 1, .low = 1};
  const Uuid resume{.high = 2, .low = 2};
  Operation created{.number = 1, .invoked = 10, .returned = 20};
  created.asked = {.method = Method::kCreate, .request = create, .ttl_ns = kTtl};
  created.answered = {.outcome = Outcome::kOk, .revision = 1, .epoch = 1, .token = 1};
  Operation resumed{.number = 2, .invoked = 30, .returned = 10 + later};
  resumed.asked = {.method = Method::kResume, .request = resume, .ttl_ns = kTtl};
  resumed.answered = {.outcome = Outcome::kOk, .revision = 2, .epoch = 2, .token = 2, .before = 1};
  Ending ending;
  ending.head = {.outcome = Outcome::kOk,
                 .held = true,
                 .lifecycle = Lifecycle::kResumed,
                 .revision = 2,
                 .epoch = 2};
  ending.log = {{.seq = 1, .revision = 1, .epoch = 1, .code = "start", .request = create},
                {.seq = 2, .revision = 2, .epoch = 2, .code = "resume", .request = resume}};
  return {.operations = {created, resumed}, .endings = {ending}};
}

TEST(HistoryChecker, ComplainsOfGrantBeforeLeaseExpires) {
  EXPECT_EQ(ToText(Check(TakenOver(5'000'000'000)), kComplaintsShown), "");
  const Complaints complaints = Check(TakenOver(4'999'999'999));
  ASSERT_EQ(complaints.size(), 1);
  EXPECT_EQ(complaints[0].rule, Rule::kLease) << complaints[0].text;
}

// A reconnect stores nothing: a late copy of it may arrive after the release of its token, and then
// it is a grant.
TEST(HistoryChecker, LetsALateCopyOfAReconnectAct) {
  History history = TakenOver(100);
  Operation& late = history.operations[1];
  late.asked.epoch = 1;
  late.answered = {};
  Operation again = late;
  again.number = 3;
  again.invoked = 110;
  again.returned = 120;
  again.answered = {.outcome = Outcome::kOk, .revision = 1, .epoch = 1, .token = 1};
  Operation release{.number = 4, .invoked = 130, .returned = 140};
  release.asked = {.method = Method::kRelease, .request = {.high = 3, .low = 3}, .epoch = 1};
  release.answered = {.outcome = Outcome::kOk, .revision = 1};
  history.operations.push_back(again);
  history.operations.push_back(release);
  std::vector<LogLine>& log = history.endings[0].log;
  log.insert(log.begin() + 1,
             {.seq = 2, .revision = 1, .epoch = 1, .code = "release", .request = {3, 3}});
  log[2].seq = 3;
  EXPECT_EQ(ToText(Check(history), kComplaintsShown), "");
}

TEST(HistoryChecker, ComplainsWhenSessionWasNotRead) {
  History history = Simulate(PlanOf(1));
  history.endings.pop_back();
  const Complaints complaints = Check(history);
  ASSERT_FALSE(complaints.empty());
  EXPECT_EQ(complaints[0].rule, Rule::kEnding);
}

// Every rule is one that some mutant breaks, or a test of its own.
TEST(HistoryChecker, HasAMutantForEveryRule) {
  std::set<Rule> broken = {Rule::kLease};
  for (const Mutation& mutation : AllMutations()) broken.insert(mutation.rule);
  for (int rule = 0; rule <= static_cast<int>(Rule::kEnding); ++rule) {
    EXPECT_TRUE(broken.contains(static_cast<Rule>(rule))) << Name(static_cast<Rule>(rule));
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, HistoryMutants, ::testing::ValuesIn(AllMutations()),
                         [](const auto& kind) {
                           std::string name;
                           bool upper = true;
                           for (const char letter : kind.param.name) {
                             if (std::isalpha(letter) == 0) {
                               upper = true;
                             } else {
                               name += upper ? static_cast<char>(std::toupper(letter)) : letter;
                               upper = false;
                             }
                           }
                           return name;
                         });

}  // namespace
}  // namespace holdfast::history

// What a sweep takes up, in which order, and what a candidate that fails costs the others.
#include "session/limits.h"
#include "session/refusal.h"
#include "tests/support/changes.h"
#include "tests/unit/sessions_world.h"

#include "absl/strings/str_format.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace holdfast::test {
namespace {

using ::testing::ElementsAre;

constexpr absl::Duration kQuiet = absl::Seconds(300);

// A session whose holder is gone in the middle of a turn.
void Abandon(World& world, const std::string& id) {
  Changes changes(Key(id), world.random());
  const auto created = world.store().Commit(changes.Create());
  ASSERT_EQ(ReasonIn(created), "OK");
  const auto begun =
      world.store().Commit(changes.Begin(*LeaseToken::Parse(created->receipt.token)));
  ASSERT_EQ(ReasonIn(begun), "OK");
}

// From now on the session is one that cannot be recovered.
void Lock(World& world, const std::string& id) {
  world.store().InjectFault(Key(id), [] {
    return StoreUnavailable("the session is locked", Fate::kNoEffect).ToStatus();
  });
}

Lifecycle LifecycleOf(World& world, const std::string& id) {
  return world.disk().sessions.at(Key(id)).head.lifecycle;
}

TEST(SessionsSweep, GoesOnWhereTheLastOneStopped) {
  World world;
  for (const char* id : {"a", "b", "c"}) Abandon(world, id);
  world.clock().Advance(absl::Seconds(301));
  Lock(world, "a");
  Lock(world, "b");
  EXPECT_EQ(world.sessions().RecoverDue(kQuiet, 2).value_or(9), 0U);
  EXPECT_EQ(world.sessions().RecoverDue(kQuiet, 2).value_or(9), 1U);
  EXPECT_EQ(LifecycleOf(world, "c"), Lifecycle::kClosed);
  EXPECT_EQ(LifecycleOf(world, "a"), Lifecycle::kActive);
}

TEST(SessionsSweep, RecoversTheOneBehindAFullSweepOfFailuresWithinTwoSweeps) {
  World world;
  for (size_t i = 0; i <= kSweepCandidates; ++i) {
    const std::string id = absl::StrFormat("s%06d", i);
    Abandon(world, id);
    if (i < kSweepCandidates) Lock(world, id);
  }
  world.clock().Advance(absl::Seconds(301));
  size_t closed = 0;
  for (int sweep = 0; sweep < 2; ++sweep) {
    closed += world.sessions().RecoverDue(kQuiet, kSweepCandidates).value_or(9);
  }
  EXPECT_EQ(closed, 1U);
}

TEST(SessionsSweep, SkipsACandidateThatThrows) {
  World world;
  for (const char* id : {"a", "b"}) Abandon(world, id);
  world.clock().Advance(absl::Seconds(301));
  world.store().InjectFault(Key("a"),
                            []() -> absl::Status { throw std::out_of_range("a damaged record"); });
  EXPECT_EQ(world.sessions().RecoverDue(kQuiet, 10).value_or(9), 1U);
  EXPECT_EQ(LifecycleOf(world, "b"), Lifecycle::kClosed);
}

TEST(SessionsSweep, BeginsAnewAtTheEnd) {
  World world;
  for (const char* id : {"a", "b", "c"}) Abandon(world, id);
  world.clock().Advance(absl::Seconds(301));
  for (const char* id : {"a", "b", "c"}) Lock(world, id);
  EXPECT_EQ(world.sessions().RecoverDue(kQuiet, 2).value_or(9), 0U);
  world.store().InjectFault(Key("a"), [] { return absl::OkStatus(); });
  // What is left of its limit behind the last candidate goes to the first ones.
  EXPECT_EQ(world.sessions().RecoverDue(kQuiet, 2).value_or(9), 1U);
  EXPECT_EQ(LifecycleOf(world, "a"), Lifecycle::kClosed);
}

TEST(SessionsSweep, ReportsAFailureOnceForEachReason) {
  World world;
  for (const char* id : {"a", "b"}) Abandon(world, id);
  world.clock().Advance(absl::Seconds(301));
  std::vector<std::string> reports;
  world.sessions().OnSweepFailure([&](const SessionKey& key, const absl::Status& why) {
    reports.push_back(key.session.value() + " " + ReasonIn(why));
  });
  const auto sweep = [&] { EXPECT_TRUE(world.sessions().RecoverDue(kQuiet, 10).ok()); };
  Lock(world, "a");
  for (int i = 0; i < 3; ++i) sweep();
  EXPECT_THAT(reports, ElementsAre("a STORE_UNAVAILABLE"));
  world.store().InjectFault(Key("a"), [] { return Refusal(Reason::kDamaged, "cut").ToStatus(); });
  for (int i = 0; i < 2; ++i) sweep();
  EXPECT_THAT(reports, ElementsAre("a STORE_UNAVAILABLE", "a DAMAGED"));
  // A race that was lost is no failure.
  world.store().InjectFault(
      Key("a"), [] { return Refusal(Reason::kFenced, "another was first").ToStatus(); });
  sweep();
  EXPECT_EQ(reports.size(), 2U);
}

TEST(SessionsSweep, EndsBehindItsCandidateWhenItIsStopped) {
  World world;
  for (const char* id : {"a", "b"}) Abandon(world, id);
  world.clock().Advance(absl::Seconds(301));
  world.store().InjectFault(Key("a"), [&] {
    world.sessions().StopSweeps();
    return absl::OkStatus();
  });
  EXPECT_EQ(world.sessions().RecoverDue(kQuiet, 10).value_or(9), 1U);
  EXPECT_EQ(LifecycleOf(world, "b"), Lifecycle::kActive);
  EXPECT_EQ(world.sessions().RecoverDue(kQuiet, 10).value_or(9), 0U);
}

}  // namespace
}  // namespace holdfast::test

// What metrics and spans say of a change that was applied.
#include "server/telemetry/transition.h"

#include "gtest/gtest.h"

#include <optional>

namespace holdfast::test {
namespace {

Change ChangeBy(Trigger trigger, std::optional<Lifecycle> to) {
  Change change;
  change.guard.trigger = trigger;
  change.to = to;
  return change;
}

size_t From(const Change& change, const Head& after = {}) {
  const auto transition = TransitionOf(change, after);
  EXPECT_TRUE(transition.has_value());
  return transition ? transition->from : kStates;
}

TEST(Transition, IsNoneWithoutALifecycle) {
  EXPECT_FALSE(TransitionOf(ChangeBy(Trigger::kRenew, std::nullopt), {}).has_value());
}

TEST(Transition, BeginsInTheStateOfThePremise) {
  Change change = ChangeBy(Trigger::kBeginTurn, Lifecycle::kActive);
  change.premise = Premise{.lifecycle = Lifecycle::kResumed};
  EXPECT_EQ(StateName(From(change)), "RESUMED");
  EXPECT_EQ(StateName(TransitionOf(change, {})->to), "ACTIVE");
  EXPECT_EQ(TriggerName(TransitionOf(change, {})->trigger), "BeginTurn");
}

TEST(Transition, WithoutAPremiseBeginsWhereItsTriggerIsLegalAlone) {
  EXPECT_EQ(StateName(From(ChangeBy(Trigger::kCommitTurn, Lifecycle::kPersisted))), "ACTIVE");
  // A write is legal in several states, and the change does not say which one it found.
  EXPECT_EQ(StateName(From(ChangeBy(Trigger::kWrite, Lifecycle::kPersisted))), "UNKNOWN");
}

TEST(Transition, OfACreationBeginsWithNoSession) {
  Change change = ChangeBy(Trigger::kUpdate, Lifecycle::kIdle);
  change.create = Creation{};
  EXPECT_EQ(StateName(From(change)), "NONE");
  EXPECT_EQ(TriggerName(TransitionOf(change, {})->trigger), "Create");
}

TEST(Transition, OfADeleteLeadsToATombstone) {
  Change change = ChangeBy(Trigger::kDelete, std::nullopt);
  change.tombstone = true;
  Head after;
  after.lifecycle = Lifecycle::kClosed;
  EXPECT_EQ(StateName(From(change, after)), "CLOSED");
  EXPECT_EQ(StateName(TransitionOf(change, after)->to), "DELETED");
}

}  // namespace
}  // namespace holdfast::test

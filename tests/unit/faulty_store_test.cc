#include "tests/support/faulty_store.h"

#include "session/refusal.h"
#include "tests/unit/sessions_world.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>

namespace holdfast::test {
namespace {

TEST(FaultyStore, FailsTheNthCallOfItsKindOnce) {
  World world;
  world.Create();
  FaultyStore& store = world.store();
  store.Fail(FaultyCall::kLoad, 2);
  EXPECT_TRUE(store.CheckHealth().ok());
  EXPECT_TRUE(store.LoadForDecision(world.key(), std::nullopt).ok());
  const auto failed = store.LoadForDecision(world.key(), std::nullopt);
  EXPECT_EQ(ReasonIn(failed), "STORE_UNAVAILABLE");
  EXPECT_EQ(FactIn(failed.status(), "outcome"), "known");
  EXPECT_TRUE(store.LoadForDecision(world.key(), std::nullopt).ok());
}

TEST(FaultyStore, FailsWithGivenError) {
  World world;
  world.Create();
  world.store().FailWith(FaultyCall::kAny, Refusal(Reason::kStorageFull, "full"));
  EXPECT_EQ(ReasonIn(world.sessions().BeginTurn(world.caller(), world.ToBegin())), "STORAGE_FULL");
  world.Begin();
}

TEST(FaultyStore, ALostReplyHasActed) {
  World world;
  world.Create();
  world.store().LoseReply(FaultyCall::kCommit);
  const auto lost = world.sessions().Update(world.caller(), world.ToUpdate("x"));
  EXPECT_EQ(ReasonIn(lost), "STORE_UNAVAILABLE");
  EXPECT_EQ(FactIn(lost.status(), "outcome"), "unknown");
  EXPECT_EQ(world.Stored().attributes.at("title"), "x");
  world.store().LoseReply(FaultyCall::kRenew);
  EXPECT_EQ(ReasonIn(world.sessions().Renew({{.key = world.key(), .token = world.token()}}).at(0)),
            "STORE_UNAVAILABLE");
}

TEST(FaultyStore, AHeldCallHasNotActedUntilItIsOpened) {
  World world;
  world.Create();
  const auto held = world.store().Hold(FaultyCall::kCommit);
  std::jthread writer([&] {
    EXPECT_EQ(ReasonIn(world.sessions().Update(world.caller(), world.ToUpdate("x"))), "OK");
  });
  held->WaitUntilReached();
  EXPECT_TRUE(world.Stored().attributes.empty());
  held->Open();
  writer.join();
  EXPECT_EQ(world.Stored().attributes.at("title"), "x");
}

TEST(FaultyStore, CountsCalls) {
  World world;
  world.Create();
  const int before = world.store().Calls(FaultyCall::kAny);
  EXPECT_TRUE(world.store().CheckHealth().ok());
  EXPECT_EQ(world.store().Calls(FaultyCall::kHealth), 1);
  EXPECT_EQ(world.store().Calls(FaultyCall::kAny), before + 1);
}

}  // namespace
}  // namespace holdfast::test

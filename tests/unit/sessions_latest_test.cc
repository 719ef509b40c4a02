// The newest session of a project: a listing that is not complete answers nothing, and a row whose
// session has gone is passed over.
#include "session/refusal.h"
#include "tests/unit/sessions_world.h"

#include <gtest/gtest.h>

#include <thread>

namespace holdfast::test {
namespace {

void CreateNamed(World& world, const std::string& id) {
  CreateCommand create = world.ToCreate();
  create.session = *SessionId::Parse(id);
  world.clock().Advance(absl::Seconds(1));
  ASSERT_EQ(ReasonIn(world.sessions().Create(world.caller(), create)), "OK");
}

TEST(SessionsLatest, IsNotAnsweredFromAListingThatIsNotComplete) {
  World world;
  for (const bool some : {false, true}) {
    if (some) CreateNamed(world, "older");
    world.store().ListIncompletely();
    const auto latest = world.sessions().Latest(world.caller(), "/p");
    ASSERT_EQ(ReasonIn(latest), "STORE_UNAVAILABLE");
    EXPECT_EQ(FactIn(latest.status(), "outcome"), "known");
    EXPECT_TRUE(RefusalOf(latest.status()).retry_after().has_value());
  }
  const auto latest = world.sessions().Latest(world.caller(), "/p");
  ASSERT_EQ(ReasonIn(latest), "OK");
  EXPECT_EQ(latest->first.value(), "older");
}

TEST(SessionsLatest, PassesOverASessionThatIsDeletedMeanwhile) {
  World world;
  CreateNamed(world, "oldest");
  CreateNamed(world, "older");
  CreateNamed(world, "newest");
  const auto held = world.store().Hold(FaultyCall::kLoad);
  absl::StatusOr<std::pair<SessionId, Head>> latest = absl::UnknownError("not yet");
  {
    const std::jthread asking([&] { latest = world.sessions().Latest(world.caller(), "/p"); });
    held->WaitUntilReached();
    world.clock().Advance(absl::Hours(1));
    for (const char* id : {"newest", "older"}) {
      DeleteCommand gone{.request = world.NewRequest(), .session = *SessionId::Parse(id)};
      EXPECT_EQ(ReasonIn(world.other().Delete(world.caller(), gone)), "OK");
    }
    held->Open();
  }
  ASSERT_EQ(ReasonIn(latest), "OK");
  EXPECT_EQ(latest->first.value(), "oldest");
}

TEST(SessionsLatest, SaysThatThereIsNoneWhenTheLastOneGoesMeanwhile) {
  World world;
  CreateNamed(world, "only");
  world.store().FailWith(FaultyCall::kLoad, Refusal(Reason::kTombstoned, "it was deleted"));
  EXPECT_EQ(ReasonIn(world.sessions().Latest(world.caller(), "/p")), "NO_SNAPSHOT");
  // What is there and cannot be read is not passed over.
  world.store().FailWith(FaultyCall::kLoad, Refusal(Reason::kDamaged, "it cannot be read"));
  EXPECT_EQ(ReasonIn(world.sessions().Latest(world.caller(), "/p")), "DAMAGED");
}

}  // namespace
}  // namespace holdfast::test

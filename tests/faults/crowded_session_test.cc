// A crowd on one session: more callers than one frame takes, so that a caller outside the first
// batch has to lead one. Each gets its own answer, and every change is stored once.
#include "store-fs/fs_store.h"
#include "tests/faults/admitted.h"
#include "tests/support/changes.h"
#include "tests/support/fake_clock.h"
#include "tests/support/seeded_random.h"
#include "tests/support/temp_dir.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::test {
namespace {

constexpr int kCrowdedCallers = 150;
constexpr int kChangesEach = 6;

TEST(CrowdedSession, EveryCallerIsAnswered) {
  const TempDir directory;
  FakeClock clock;
  SeededRandom random;
  fs::FsOptions options;
  options.root = directory / "root";
  const auto store = fs::MakeFsStore(std::move(options), clock, random);
  ASSERT_TRUE(store->Init().ok());
  const SessionKey key = Key("alpha");
  ASSERT_TRUE(store->Commit(Changes(key, random).Create()).ok());
  const uint64_t before = store->LoadForDecision(key, std::nullopt)->head.last_event.value();

  std::atomic<int> applied = 0;
  std::vector<std::jthread> callers;
  callers.reserve(kCrowdedCallers);
  for (int caller = 0; caller < kCrowdedCallers; ++caller) {
    callers.emplace_back([&, caller] {
      Changes changes(key, random);
      for (int round = 0; round < kChangesEach; ++round) {
        Change change = changes.Update({{"title", std::to_string(caller)}});
        change.events = {{.name = "Touched"}};
        const auto result = CommitAdmitted(*store, change);
        if (result.ok() && result->kind == CommitResult::Kind::kApplied) ++applied;
      }
    });
  }
  callers.clear();
  EXPECT_EQ(applied, kCrowdedCallers * kChangesEach);
  const auto loaded = store->LoadForDecision(key, std::nullopt);
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(loaded->head.last_event.value() - before, uint64_t{kCrowdedCallers * kChangesEach});
  store->Dispose();
}

}  // namespace
}  // namespace holdfast::test

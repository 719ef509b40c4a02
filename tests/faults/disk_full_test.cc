// A real small disk that fills up: a change that has no room is refused as STORAGE_FULL and leaves
// no trace, the store goes on, and once there is room again so does the session.
#include "session/refusal.h"
#include "store-fs/fs_store.h"
#include "tests/faults/workload.h"
#include "tests/support/fake_clock.h"
#include "tests/support/seeded_random.h"
#include "tests/support/small_disk.h"
#include "tests/support/temp_dir.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>

namespace holdfast::test {
namespace {

TEST(DiskFull, AChangeWithoutRoomIsRefusedCleanly) {
  const SmallDisk disk("2m");
  FakeClock clock;
  SeededRandom random;
  fs::FsOptions options;
  options.root = disk.path() / "root";
  const auto store = fs::MakeFsStore(std::move(options), clock, random);
  ASSERT_TRUE(store->Init().ok());
  const SessionKey key = Key("alpha");
  Changes changes(key, random);
  const auto created = store->Commit(changes.Create());
  ASSERT_TRUE(created.ok());
  const LeaseToken token = *LeaseToken::Parse(created->receipt.token);
  // Something else takes most of the disk.
  WriteFile(disk.path() / "ballast", std::string(1'200'000, 'x'));

  uint64_t written = 0;
  absl::Status full;
  while (full.ok() && written < 100) {
    const auto begun = store->Commit(changes.Begin(token));
    if (!begun.ok()) {
      full = begun.status();
      break;
    }
    Change commit = changes.CommitTurn(token, begun->receipt.turn);
    commit.messages = {Text(std::string(100'000, 'm'))};
    const auto committed = store->Commit(commit);
    full = committed.status();
    if (full.ok()) {
      ++written;
      continue;
    }
    // Room again: the same request goes through, once.
    EXPECT_TRUE(Is(full, Reason::kStorageFull)) << full.message();
    EXPECT_TRUE(store->CheckHealth().ok()) << "a full disk is no failure";
    EXPECT_EQ(Find(*store, key)->messages.size(), written);
    std::filesystem::remove(disk.path() / "ballast");
    const auto again = store->Commit(commit);
    ASSERT_TRUE(again.ok()) << again.status().message();
    EXPECT_EQ(Find(*store, key)->messages.size(), written + 1);
  }
  EXPECT_TRUE(Is(full, Reason::kStorageFull)) << full.message();
  EXPECT_GT(written, 0U);
  store->Dispose();
}

TEST(DiskFull, ASessionWithoutRoomIsNotCreated) {
  const SmallDisk disk("1m");
  FakeClock clock;
  SeededRandom random;
  fs::FsOptions options;
  options.root = disk.path() / "root";
  const auto store = fs::MakeFsStore(std::move(options), clock, random);
  ASSERT_TRUE(store->Init().ok());
  Change create = Changes(Key("alpha"), random).Create();
  create.messages = {Text(std::string(2'000'000, 'm'))};
  EXPECT_TRUE(Is(store->Commit(create).status(), Reason::kStorageFull));
  EXPECT_TRUE(store->CheckHealth().ok());
  EXPECT_TRUE(
      Is(store->LoadForDecision(Key("alpha"), std::nullopt).status(), Reason::kSessionNotFound));
  EXPECT_TRUE(store->Commit(Changes(Key("alpha"), random).Create()).ok());
  store->Dispose();
}

}  // namespace
}  // namespace holdfast::test

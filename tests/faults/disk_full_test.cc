// A real small disk that fills up: a change that has no room is refused as STORAGE_FULL and leaves
// no trace, the store goes on, and once there is room again so does the session.
#include "session/refusal.h"
#include "store-fs/fs_store.h"
#include "store-fs/recovery.h"
#include "tests/faults/workload.h"
#include "tests/support/fake_clock.h"
#include "tests/support/seeded_random.h"
#include "tests/support/small_disk.h"
#include "tests/support/temp_dir.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

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

// Fills what is left of the disk, to the last byte.
void FillUp(const SmallDisk& disk) {
  std::ofstream ballast(disk.path() / "filler", std::ios::binary | std::ios::app);
  const std::string piece(1024, 'x');
  while (ballast.write(piece.data(), static_cast<std::streamsize>(piece.size())).flush()) {
  }
}

void MakeRoom(const SmallDisk& disk) { std::filesystem::remove(disk.path() / "filler"); }

class FullDisk : public ::testing::Test {
 protected:
  std::unique_ptr<SessionStore> Open(size_t rotate_changes = 512) {
    fs::FsOptions options;
    options.root = disk_.path() / "root";
    options.rotate_changes = rotate_changes;
    auto store = fs::MakeFsStore(std::move(options), clock_, random_);
    const absl::Status opened = store->Init();
    EXPECT_TRUE(opened.ok()) << opened.message();
    return opened.ok() ? std::move(store) : nullptr;
  }
  // A session with one turn, whose message is `text`.
  LeaseToken Make(SessionStore& store, const SessionKey& key, const std::string& text) {
    Changes changes(key, random_);
    const auto created = store.Commit(changes.Create());
    EXPECT_TRUE(created.ok()) << created.status().message();
    LeaseToken token = *LeaseToken::Parse(created->receipt.token);
    EXPECT_EQ(AddTurn(store, key, token, text), "OK");
    return token;
  }
  std::string AddTurn(SessionStore& store, const SessionKey& key, const LeaseToken& token,
                      const std::string& text) {
    Changes changes(key, random_);
    Change commit = changes.Write(token);
    commit.messages = {Text(text)};
    const auto result = store.Commit(commit);
    const absl::Status status = result.ok() ? result->refusal : result.status();
    return status.ok() ? "OK" : std::string(RowOf(RefusalOf(status).reason()).name);
  }
  static bool Warns(SessionStore& store) {
    for (const std::string& warning : store.Describe().warnings) {
      if (warning.find("no space is left") != std::string::npos) return true;
    }
    return false;
  }

  const SmallDisk disk_{"4m"};
  FakeClock clock_;
  SeededRandom random_;
};

TEST_F(FullDisk, IsOpenedAndReadAndWrittenOnceThereIsRoom) {
  auto store = Open();
  const LeaseToken token = Make(*store, Key("alpha"), "first");
  Make(*store, Key("beta"), "other");
  store->Dispose();  // as a crash leaves it
  FillUp(disk_);

  store = Open();
  ASSERT_NE(store, nullptr);
  EXPECT_TRUE(store->CheckHealth().ok()) << "what is stored is served";
  EXPECT_TRUE(Warns(*store));
  EXPECT_EQ(Find(*store, Key("alpha"))->messages, std::vector<std::string>{"first"});
  EXPECT_EQ(Find(*store, Key("beta"))->messages, std::vector<std::string>{"other"});
  EXPECT_EQ(AddTurn(*store, Key("alpha"), token, "second"), "STORAGE_FULL");
  const auto created = store->Commit(Changes(Key("gamma"), random_).Create());
  EXPECT_TRUE(Is(created.status(), Reason::kStorageFull)) << created.status().message();
  EXPECT_TRUE(Is(store->Check().status(), Reason::kStorageFull));
  EXPECT_EQ(Find(*store, Key("alpha"))->messages, std::vector<std::string>{"first"});

  MakeRoom(disk_);
  clock_.Advance(absl::Seconds(5));
  EXPECT_EQ(AddTurn(*store, Key("alpha"), token, "second"), "OK");
  EXPECT_TRUE(store->Commit(Changes(Key("gamma"), random_).Create()).ok());
  EXPECT_FALSE(Warns(*store));
  store->Dispose();
  store = Open();
  EXPECT_EQ(Find(*store, Key("alpha"))->messages, (std::vector<std::string>{"first", "second"}));
  store->Dispose();
}

TEST_F(FullDisk, ReadsASessionWhoseRotationWasCut) {
  auto store = Open(4);
  const LeaseToken token = Make(*store, Key("alpha"), "first");
  store->Dispose();
  // The journal is the one before a rotation, as a crash between its steps leaves it.
  const auto journal = disk_.path() / "root" / fs::DirectoryOf(Key("alpha")) / "journal.log";
  const std::string before = ReadFile(journal);
  store = Open(4);
  EXPECT_EQ(AddTurn(*store, Key("alpha"), token, "second"), "OK");
  EXPECT_EQ(AddTurn(*store, Key("alpha"), token, "third"), "OK");
  store->Dispose();
  ASSERT_NE(ReadFile(journal), before) << "no rotation";
  WriteFile(journal, before);
  FillUp(disk_);

  store = Open(4);
  ASSERT_NE(store, nullptr);
  const std::vector<std::string> all = {"first", "second", "third"};
  EXPECT_EQ(Find(*store, Key("alpha"))->messages, all);
  EXPECT_EQ(AddTurn(*store, Key("alpha"), token, "fourth"), "STORAGE_FULL");
  MakeRoom(disk_);
  clock_.Advance(absl::Seconds(5));
  EXPECT_EQ(AddTurn(*store, Key("alpha"), token, "fourth"), "OK");
  EXPECT_EQ(Find(*store, Key("alpha"))->messages.size(), 4U);
  store->Dispose();
  store = Open(4);
  EXPECT_EQ(Find(*store, Key("alpha"))->messages.size(), 4U);
  store->Dispose();
}

TEST_F(FullDisk, DeletesASession) {
  // However much of its last block tombstones.log has left, a delete is whole or refused.
  constexpr int kCount = 40;
  auto store = Open();
  const auto key_of = [](int at) { return Key("s" + std::to_string(at)); };
  for (int at = 0; at < kCount; ++at) {
    const LeaseToken token = Make(*store, key_of(at), "text");
    ASSERT_TRUE(store->Commit(Changes(key_of(at), random_).Close(token)).ok());
  }
  std::vector<bool> deleted;
  for (int at = 0; at < kCount; ++at) {
    FillUp(disk_);
    const auto result = store->Commit(Changes(key_of(at), random_).Delete());
    const absl::Status status = result.ok() ? result->refusal : result.status();
    EXPECT_TRUE(status.ok() || Is(status, Reason::kStorageFull)) << status.message();
    EXPECT_TRUE(store->CheckHealth().ok());
    deleted.push_back(status.ok());
    // Another one is written where the refused one would have been.
    if (!status.ok()) {
      MakeRoom(disk_);
      EXPECT_TRUE(store->Commit(Changes(key_of(at), random_).Delete()).ok());
      deleted.back() = true;
    }
  }
  store->Dispose();
  FillUp(disk_);
  store = Open();
  for (int at = 0; at < kCount; ++at) EXPECT_EQ(Find(*store, key_of(at))->deleted, deleted[at]);
  store->Dispose();
}

}  // namespace
}  // namespace holdfast::test

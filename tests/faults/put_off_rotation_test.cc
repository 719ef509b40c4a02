// A rotation that finds no space: it is tried again now and then and not with every commit, the
// journal stays within what a restart opens, and once there is space it becomes short again.
#include "session/limits.h"
#include "session/refusal.h"
#include "store-fs/fs_store.h"
#include "tests/faults/workload.h"
#include "tests/support/breaking_files.h"
#include "tests/support/fake_clock.h"
#include "tests/support/memory_files.h"
#include "tests/support/seeded_random.h"
#include "tests/support/temp_dir.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::test {
namespace {

constexpr uint64_t kJournalBytes = 128 * 1024;

class PutOffRotation : public ::testing::Test {
 protected:
  void SetUp() override { Start(); }
  void TearDown() override { store_->Dispose(); }

  void Start() {
    fs::FsOptions options;
    options.root = root_ / "root";
    options.rotate_changes = 4;
    options.bounds.journal = journal_bytes_;
    options.note = [this](const std::string& what) { notes_.push_back(what); };
    options.wrap_files = BreakBy(disk_, [this](const FileOperation& asked) {
      const bool of_rotation = asked.path.find("/state/") != std::string::npos;
      if (asked.name == "create" && of_rotation) {
        ++tries_;
        if (full_) return absl::ResourceExhaustedError("injected");
      }
      return absl::OkStatus();
    });
    store_ = fs::MakeFsStore(std::move(options), clock_, random_);
    ASSERT_TRUE(store_->Init().ok());
  }
  void Restart() {
    store_->Dispose();
    Start();
  }
  void Create() {
    const auto created = store_->Commit(changes_.Create());
    ASSERT_TRUE(created.ok());
    token_ = *LeaseToken::Parse(created->receipt.token);
  }
  absl::Status Write(size_t bytes) {
    Change change = changes_.Write(token_);
    change.messages = {Text(std::string(bytes, 'm'))};
    const auto result = store_->Commit(change);
    if (result.ok() && result->refusal.ok()) ++written_;
    return result.ok() ? result->refusal : result.status();
  }
  std::string Journal() { return disk_.Read("t/default/alpha/journal.log"); }

  TempDir root_;
  MemoryDisk disk_;
  FakeClock clock_;
  SeededRandom random_;
  uint64_t journal_bytes_ = kJournalFileBytes;
  std::atomic<bool> full_ = true;
  std::atomic<int> tries_ = 0;
  std::vector<std::string> notes_;
  std::unique_ptr<SessionStore> store_;
  Changes changes_{Key("alpha"), random_};
  LeaseToken token_;
  size_t written_ = 0;
};

TEST_F(PutOffRotation, IsTriedNowAndThenAndSaidOnce) {
  Create();
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(Write(100).ok());
  EXPECT_EQ(tries_, 1) << "it was tried again though no time has passed";
  int before = tries_;
  for (int i = 0; i < 600; ++i) {
    clock_.Advance(absl::Seconds(1));
    ASSERT_TRUE(Write(10).ok());
  }
  EXPECT_GT(tries_, before);
  EXPECT_LE(tries_, 20) << "it does not back off";
  EXPECT_EQ(notes_.size(), 1U) << "one line says that there is no space";

  full_ = false;
  clock_.Advance(absl::Minutes(5));
  ASSERT_TRUE(Write(10).ok());
  EXPECT_LT(Journal().size(), 1024U) << "there is space, and it was not rotated";
  EXPECT_EQ(notes_.size(), 2U) << "and one that there is room again";
  EXPECT_EQ(Find(*store_, Key("alpha"))->messages.size(), written_);
}

TEST_F(PutOffRotation, LeavesAJournalThatIsOpenedAndIsRotatedOnceThereIsSpace) {
  journal_bytes_ = kJournalBytes;
  Restart();
  Create();
  absl::Status status;
  while (status.ok() && written_ < 1000) status = Write(1000);
  EXPECT_TRUE(Is(status, Reason::kStorageFull)) << status.message();
  EXPECT_LE(Journal().size(), kJournalBytes);
  EXPECT_GT(Journal().size(), kJournalBytes - 4096);
  EXPECT_TRUE(store_->CheckHealth().ok());
  EXPECT_EQ(Find(*store_, Key("alpha"))->messages.size(), written_);

  Restart();
  ASSERT_TRUE(Find(*store_, Key("alpha")).ok()) << "what could be written cannot be opened";
  EXPECT_EQ(Find(*store_, Key("alpha"))->messages.size(), written_);
  EXPECT_TRUE(Is(Write(1000), Reason::kStorageFull));
  full_ = false;
  clock_.Advance(absl::Minutes(5));
  // The refused one has found the space: the next is written.
  Write(1000).IgnoreError();
  EXPECT_TRUE(Write(1000).ok());
  Restart();
  EXPECT_EQ(Find(*store_, Key("alpha"))->messages.size(), written_);
}

TEST_F(PutOffRotation, LeavesNoFileThatNothingNames) {
  Create();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(Write(100).ok());
  const auto names = disk_.Digest();
  EXPECT_EQ(tries_, 1);
  full_ = false;
  EXPECT_EQ(disk_.Digest(), names);
}

}  // namespace
}  // namespace holdfast::test

// What people do with directories: copied, edited, removed, linked and restored
// ones.
#include "session/refusal.h"
#include "store-fs/fs_store.h"
#include "store-fs/recovery.h"
#include "tests/faults/workload.h"
#include "tests/support/fake_clock.h"
#include "tests/support/seeded_random.h"
#include "tests/support/temp_dir.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>

namespace holdfast::test {
namespace {

namespace stdfs = std::filesystem;

class Directories : public ::testing::Test {
 protected:
  void SetUp() override { Start(); }
  void TearDown() override { Stop(); }

  absl::Status TryStart(bool adopt = false) {
    fs::FsOptions options;
    options.root = Root();
    options.adopt = adopt;
    store_ = fs::MakeFsStore(std::move(options), clock_, random_);
    return store_->Init();
  }
  void Start() { ASSERT_TRUE(TryStart().ok()); }
  void Stop() {
    if (store_ == nullptr) return;
    store_->Deactivate().IgnoreError();
    store_->Dispose();
    store_.reset();
  }
  LeaseToken Create(const SessionKey& key) {
    const auto result = store_->Commit(Changes(key, random_).Create());
    EXPECT_TRUE(result.ok());
    return *LeaseToken::Parse(result->receipt.token);
  }
  std::string Load(const SessionKey& key) {
    const auto loaded = store_->LoadForDecision(key, std::nullopt);
    return loaded.ok() ? "OK" : std::string(RowOf(RefusalOf(loaded.status()).reason()).name);
  }
  std::string CommitReason(const Change& change) {
    const auto result = store_->Commit(change);
    const absl::Status refusal = result.ok() ? result->refusal : result.status();
    return refusal.ok() ? "OK" : std::string(RowOf(RefusalOf(refusal).reason()).name);
  }
  [[nodiscard]] stdfs::path Root() const { return directory_.path() / "root"; }
  [[nodiscard]] stdfs::path PathOf(const SessionKey& key) const {
    return Root() / fs::DirectoryOf(key);
  }

  TempDir directory_;
  FakeClock clock_;
  SeededRandom random_;
  std::unique_ptr<SessionStore> store_;
  const SessionKey alpha_ = Key("alpha");
};

TEST_F(Directories, EverythingIsForTheOwnerAlone) {
  Create(alpha_);
  for (const auto& entry : stdfs::recursive_directory_iterator(Root())) {
    const stdfs::perms expected = entry.is_directory()
                                      ? stdfs::perms::owner_all
                                      : stdfs::perms::owner_read | stdfs::perms::owner_write;
    EXPECT_EQ(entry.status().permissions(), expected) << entry.path();
  }
}

TEST_F(Directories, RefusesSecondProcessAndNamesTheFirst) {
  fs::FsOptions options;
  options.root = Root();
  const auto second = fs::MakeFsStore(std::move(options), clock_, random_);
  const absl::Status status = second->Init();
  EXPECT_THAT(std::string(status.message()),
              ::testing::HasSubstr("process " + std::to_string(getpid())));
}

TEST_F(Directories, ARootThatOthersReachIsRefused) {
  Stop();
  stdfs::permissions(Root(), stdfs::perms::group_write, stdfs::perm_options::add);
  EXPECT_THAT(std::string(TryStart().message()), ::testing::HasSubstr("others can reach it"));
}

TEST_F(Directories, ACopiedRootIsRefusedUntilItIsAdopted) {
  const LeaseToken token = Create(alpha_);
  const StoreDescription before = store_->Describe();
  Stop();
  stdfs::copy(Root(), directory_.path() / "copy", stdfs::copy_options::recursive);
  stdfs::remove_all(Root());
  stdfs::rename(directory_.path() / "copy", Root());
  stdfs::permissions(Root(), stdfs::perms::owner_all);
  EXPECT_THAT(std::string(TryStart().message()), ::testing::HasSubstr("store adopt"));
  Stop();
  ASSERT_TRUE(TryStart(/*adopt=*/true).ok());
  EXPECT_EQ(store_->Describe().store, before.store);
  EXPECT_EQ(store_->Describe().incarnation, before.incarnation.Next());
  // A token of before the copy is of another incarnation.
  EXPECT_EQ(CommitReason(Changes(alpha_, random_).Begin(token)), "FENCED");
  Stop();
  EXPECT_TRUE(TryStart().ok()) << "adopted once, it is an ordinary root";
}

TEST_F(Directories, ARenamedRootIsTheSame) {
  Create(alpha_);
  Stop();
  stdfs::rename(Root(), directory_.path() / "elsewhere");
  stdfs::rename(directory_.path() / "elsewhere", Root());
  Start();
  EXPECT_EQ(Load(alpha_), "OK");
}

TEST_F(Directories, ASessionCopiedUnderAnotherNameIsDrift) {
  Create(alpha_);
  stdfs::copy(PathOf(alpha_), PathOf(Key("beta")), stdfs::copy_options::recursive);
  EXPECT_EQ(Load(Key("beta")), "MANIFEST_DRIFT");
  EXPECT_EQ(Load(alpha_), "OK");
}

TEST_F(Directories, ADirectoryWithoutAManifestIsDamageAndIsKept) {
  stdfs::create_directories(PathOf(alpha_));
  WriteFile(PathOf(alpha_) / "notes.txt", "mine");
  EXPECT_EQ(Load(alpha_), "DAMAGED");
  EXPECT_EQ(CommitReason(Changes(alpha_, random_).Create()), "DAMAGED");
  EXPECT_EQ(ReadFile(PathOf(alpha_) / "notes.txt"), "mine");
}

TEST_F(Directories, ARemovedDirectoryIsNeverAcknowledgedTo) {
  const LeaseToken token = Create(alpha_);
  stdfs::remove_all(PathOf(alpha_));
  EXPECT_EQ(CommitReason(Changes(alpha_, random_).Begin(token)), "SESSION_NOT_FOUND");
}

TEST_F(Directories, AReplacedDirectoryIsNeverAcknowledgedTo) {
  const LeaseToken token = Create(alpha_);
  stdfs::copy(PathOf(alpha_), directory_.path() / "backup", stdfs::copy_options::recursive);
  ASSERT_EQ(CommitReason(Changes(alpha_, random_).Update({{"title", "later"}})), "OK");
  stdfs::remove_all(PathOf(alpha_));
  stdfs::rename(directory_.path() / "backup", PathOf(alpha_));
  EXPECT_EQ(CommitReason(Changes(alpha_, random_).Begin(token)), "SESSION_NOT_FOUND");
  // From then on the older state is served, and a resume that knows a later revision is refused.
  EXPECT_EQ(Load(alpha_), "OK");
  Change resume = Changes(alpha_, random_).Resume(LeaseRule::kForce);
  resume.guard.known_revision = Revision(5);
  EXPECT_EQ(CommitReason(resume), "REVISION_AHEAD");
}

TEST_F(Directories, LinksAreNeverFollowed) {
  Create(alpha_);
  const stdfs::path outside = directory_.path() / "outside";
  stdfs::create_directories(outside);
  stdfs::create_directory_symlink(outside, PathOf(Key("beta")));
  EXPECT_EQ(Load(Key("beta")), "DAMAGED");
  EXPECT_EQ(CommitReason(Changes(Key("beta"), random_).Create()), "DAMAGED");
  Stop();
  stdfs::rename(PathOf(alpha_) / "manifest.json", outside / "manifest.json");
  stdfs::create_symlink(outside / "manifest.json", PathOf(alpha_) / "manifest.json");
  Start();
  EXPECT_EQ(Load(alpha_), "DAMAGED");
  EXPECT_EQ(std::distance(stdfs::directory_iterator(outside), stdfs::directory_iterator()), 1);
}

TEST_F(Directories, ADeletedSessionThatReappearsIsKeptAndNeverRead) {
  Create(alpha_);
  stdfs::copy(PathOf(alpha_), directory_.path() / "backup", stdfs::copy_options::recursive);
  clock_.Advance(absl::Hours(1));
  ASSERT_EQ(CommitReason(Changes(alpha_, random_).Delete()), "OK");
  EXPECT_FALSE(stdfs::exists(PathOf(alpha_)));
  Create(Key("beta"));
  auto check = store_->Check();
  ASSERT_TRUE(check.ok());
  EXPECT_TRUE(check->reappeared.empty());
  stdfs::rename(directory_.path() / "backup", PathOf(alpha_));
  EXPECT_EQ(Load(alpha_), "TOMBSTONED");
  check = store_->Check();
  ASSERT_TRUE(check.ok());
  EXPECT_EQ(check->reappeared, std::vector<SessionKey>{alpha_});
  Stop();
  Start();
  EXPECT_EQ(Load(alpha_), "TOMBSTONED");
}

TEST_F(Directories, ACheckNamesABoundedNumberOfSessionsThatReappeared) {
  const auto key = [](size_t nth) { return Key("s" + std::to_string(nth)); };
  constexpr size_t kSessions = kReappearedShown + 5;
  for (size_t nth = 0; nth < kSessions; ++nth) Create(key(nth));
  clock_.Advance(absl::Hours(1));
  for (size_t nth = 0; nth < kSessions; ++nth) {
    ASSERT_EQ(CommitReason(Changes(key(nth), random_).Delete()), "OK");
  }
  // Whatever lies in them: the store does not look into them.
  for (size_t nth = 0; nth < kSessions; ++nth) stdfs::create_directories(PathOf(key(nth)));
  const auto check = store_->Check();
  ASSERT_TRUE(check.ok());
  EXPECT_EQ(check->reappeared.size(), kReappearedShown);
}

TEST_F(Directories, ATenantNamedLockIsATenant) {
  const SessionKey key = Key("alpha", "lock");
  Create(key);
  Stop();
  Start();
  EXPECT_EQ(Load(key), "OK");
}

}  // namespace
}  // namespace holdfast::test

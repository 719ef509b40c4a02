// The directory of a deleted session that could not be removed, or that is there again, and a
// session in its place.
#include "session/refusal.h"
#include "store-fs/fs_store.h"
#include "store-fs/recovery.h"
#include "tests/faults/workload.h"
#include "tests/support/breaking_files.h"
#include "tests/support/fake_clock.h"
#include "tests/support/seeded_random.h"
#include "tests/support/temp_dir.h"

#include "absl/strings/match.h"
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace holdfast::test {
namespace {

namespace stdfs = std::filesystem;

class Removals : public ::testing::Test {
 protected:
  void SetUp() override { Open(); }
  void TearDown() override { Close(); }

  void Open() {
    fs::FsOptions options;
    options.root = Root();
    options.wrap_files = BreakBy([this](const FileOperation& asked) {
      const bool removes = asked.name == "rename" && absl::EndsWith(asked.path, ".deleted");
      return lacking_ && removes ? absl::ResourceExhaustedError("injected") : absl::OkStatus();
    });
    store_ = fs::MakeFsStore(std::move(options), clock_, random_);
    ASSERT_TRUE(store_->Init().ok() && store_->Activate().ok());
  }
  void Close() {
    store_->Deactivate().IgnoreError();
    store_->Dispose();
  }
  void Reopen() {
    Close();
    Open();
  }

  [[nodiscard]] stdfs::path Root() const { return directory_.path() / "root"; }
  [[nodiscard]] stdfs::path Place() const { return Root() / fs::DirectoryOf(key_); }

  absl::Status Commit(const Change& change) {
    const auto result = store_->Commit(change);
    return result.ok() ? result->refusal : result.status();
  }
  static std::string Reasoned(const absl::Status& status) {
    return status.ok() ? "OK" : std::string(RowOf(RefusalOf(status).reason()).name);
  }
  std::string Load() { return Reasoned(store_->LoadForDecision(key_, std::nullopt).status()); }
  SessionUid CreateAndDelete() {
    const Change create = changes_.Create();
    EXPECT_TRUE(Commit(create).ok());
    Change gone = changes_.Delete();
    gone.guard.lease = LeaseRule::kForce;
    EXPECT_EQ(Reasoned(Commit(gone)), "OK");
    return create.create->uid;
  }
  Change CreateInPlaceOf(const SessionUid& former) {
    Change change = changes_.Create();
    change.create->replaces = former;
    return change;
  }

  TempDir directory_;
  FakeClock clock_;
  SeededRandom random_;
  std::atomic<bool> lacking_ = false;
  const SessionKey key_ = Key("alpha");
  Changes changes_{key_, random_};
  std::unique_ptr<SessionStore> store_;
};

TEST_F(Removals, AreFinishedByACreationInTheSamePlace) {
  lacking_ = true;
  const SessionUid former = CreateAndDelete();
  EXPECT_TRUE(stdfs::exists(Place()));
  EXPECT_EQ(Load(), "TOMBSTONED");
  const absl::Status early = Commit(CreateInPlaceOf(former));
  EXPECT_EQ(Reasoned(early), "STORE_UNAVAILABLE");
  EXPECT_TRUE(RefusalOf(early).retry_after().has_value());
  EXPECT_EQ(Load(), "TOMBSTONED");
  lacking_ = false;
  EXPECT_EQ(Reasoned(Commit(CreateInPlaceOf(former))), "OK");
  EXPECT_EQ(Load(), "OK");
  Reopen();
  EXPECT_EQ(Load(), "OK");
  EXPECT_TRUE(store_->Check()->reappeared.empty());
}

TEST_F(Removals, OfADirectoryThatIsThereAgainAreLeftToTheOperator) {
  ASSERT_TRUE(Commit(changes_.Create()).ok());
  stdfs::copy(Place(), directory_.path() / "copy", stdfs::copy_options::recursive);
  const SessionUid former = store_->LoadForDecision(key_, std::nullopt)->head.uid;
  Change gone = changes_.Delete();
  gone.guard.lease = LeaseRule::kForce;
  ASSERT_TRUE(Commit(gone).ok());
  stdfs::rename(directory_.path() / "copy", Place());
  EXPECT_EQ(Reasoned(Commit(CreateInPlaceOf(former))), "STORE_UNAVAILABLE");
  EXPECT_EQ(store_->Check()->reappeared.size(), 1U);
  Reopen();
  EXPECT_EQ(Load(), "TOMBSTONED");
  stdfs::remove_all(Place());
  EXPECT_EQ(Reasoned(Commit(CreateInPlaceOf(former))), "OK");
  EXPECT_TRUE(store_->Check()->reappeared.empty());
  Reopen();
  EXPECT_EQ(Load(), "OK");
}

}  // namespace
}  // namespace holdfast::test

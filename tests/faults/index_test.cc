// The listing over a restart: after an orderly end its rows come from the index, after any other
// from the sessions themselves, and what was done to directories meanwhile is seen.
#include "session/refusal.h"
#include "session/sessions.h"
#include "store-fs/fs_store.h"
#include "store-fs/recovery.h"
#include "store-fs/root.h"
#include "tests/support/breaking_files.h"
#include "tests/support/changes.h"
#include "tests/support/fake_clock.h"
#include "tests/support/seeded_random.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wait.h"

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/synchronization/mutex.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

using ::testing::ElementsAre;

namespace stdfs = std::filesystem;

class Index : public ::testing::Test {
 protected:
  void SetUp() override { Start(); }
  void TearDown() override { EndInOrder(); }

  void Start() {
    fs::FsOptions options;
    options.root = Root();
    options.rotate_changes = rotate_changes_;
    options.wrap_files = BreakBy([this](const FileOperation& asked) {
      if (asked.name == "open" && asked.path.ends_with("journal.log")) ++opened_;
      const absl::MutexLock lock(&mutex_);
      const auto passes = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return held_.empty() || !absl::StrContains(asked.path, held_);
      };
      mutex_.Await(absl::Condition(&passes));
      if (throws_ && throws_at_(asked)) throw std::runtime_error("thrown by a test");
      if (!missing_once_.empty() && absl::StrContains(asked.path, missing_once_)) {
        missing_once_.clear();
        return absl::NotFoundError("missing by a test");
      }
      return absl::OkStatus();
    });
    options.note = [this](const std::string& what) {
      const absl::MutexLock lock(&mutex_);
      notes_.push_back(what);
    };
    opened_ = 0;
    store_ = fs::MakeFsStore(std::move(options), clock_, random_);
    ASSERT_TRUE(store_->Init().ok());
    ASSERT_TRUE(store_->Activate().ok());
  }
  void EndInOrder() {
    EXPECT_TRUE(store_->Deactivate().ok());
    store_->Dispose();
  }
  // As a killed process would: no clean mark.
  void EndAtOnce() { store_->Dispose(); }

  void Create(const std::string& id) {
    ASSERT_TRUE(store_->Commit(Changes(Key(id), random_).Create()).ok());
  }
  void Update(const std::string& id, const std::string& title) {
    const auto done = store_->Commit(Changes(Key(id), random_).Update({{"title", title}}));
    ASSERT_TRUE(done.ok() && done->refusal.ok());
  }
  // Each row as "id state", once the listing is complete.
  std::vector<std::string> Rows() {
    ListQuery query;
    query.tenant = Key("any").tenant;
    query.limit = 100;
    ListPage page;
    EXPECT_TRUE(testing::WaitUntil([&] {
      page = *store_->List(query);
      return page.complete;
    }));
    std::vector<std::string> rows;
    for (const SessionRow& row : page.rows) {
      const bool ok = row.condition == SessionRow::Condition::kOk;
      rows.push_back(row.id.value() + (ok ? "" : " damaged"));
    }
    std::ranges::sort(rows);
    return rows;
  }
  // The newest session of the project that all sessions belong to.
  absl::StatusOr<std::pair<SessionId, Head>> Latest() {
    return Sessions(*store_, random_).Latest({.tenant = Key("any").tenant}, "/projects/engine");
  }
  void Hold(const std::string& path) {
    const absl::MutexLock lock(&mutex_);
    held_ = path;
  }
  bool Sweep() {
    return store_->ListDue(DueKind::kAbandoned, absl::Minutes(1), std::nullopt, 1).ok();
  }
  // Until a change of a file has another time than what was changed before.
  void LetTheClockTick() {
    const auto now = [&] {
      WriteFile(Root().parent_path() / "probe", "");
      return stdfs::last_write_time(Root().parent_path() / "probe");
    };
    const auto before = now();
    EXPECT_TRUE(testing::WaitUntil([&] { return now() > before; }));
  }
  void Damage(const std::string& id) { WriteFile(PathOf(id) / "manifest.json", "{}"); }

  [[nodiscard]] stdfs::path Root() const { return directory_.path() / "root"; }
  [[nodiscard]] stdfs::path PathOf(const std::string& id) const {
    return Root() / fs::DirectoryOf(Key(id));
  }

 private:
  TempDir directory_;

 protected:
  FakeClock clock_;

 private:
  SeededRandom random_;
  std::unique_ptr<SessionStore> store_;

 protected:
  std::vector<std::string> Notes() {
    const absl::MutexLock lock(&mutex_);
    return notes_;
  }

  std::atomic<int> opened_ = 0;                          // journals, since the start
  std::function<bool(const FileOperation&)> throws_at_;  // set while the store is closed
  std::atomic<bool> throws_ = false;                     // such operations throw
  absl::Mutex mutex_;
  std::vector<std::string> notes_ ABSL_GUARDED_BY(mutex_);
  std::string held_ ABSL_GUARDED_BY(mutex_);  // operations on paths that contain it wait
  // The first operation on a path that contains it finds no file; set while the store is closed.
  std::string missing_once_ ABSL_GUARDED_BY(mutex_);
  size_t rotate_changes_ = fs::FsOptions().rotate_changes;  // from the next start on
};

TEST_F(Index, LatestIsUnavailableUntilEverySessionWasLookedAt) {
  Create("one");
  clock_.Advance(absl::Seconds(1));
  Create("two");
  EndAtOnce();
  Hold("/two/");
  Start();
  const auto before = Latest();
  EXPECT_TRUE(Is(before.status(), Reason::kStoreUnavailable)) << before.status();
  EXPECT_TRUE(RefusalOf(before.status()).retry_after().has_value());
  Hold("");
  EXPECT_THAT(Rows(), ElementsAre("one", "two"));
  const auto after = Latest();
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_EQ(after->first.value(), "two");
}

TEST_F(Index, GoesOnBehindASessionWhoseFilesThrow) {
  for (const char* id : {"one", "three", "two-a", "two-b"}) Create(id);
  EndAtOnce();
  throws_at_ = [](const FileOperation& asked) { return absl::StrContains(asked.path, "/two-"); };
  throws_ = true;
  Start();
  EXPECT_THAT(Rows(), ElementsAre("one", "three", "two-a damaged", "two-b damaged"));
  EXPECT_THAT(Notes(), ElementsAre(::testing::HasSubstr("thrown by a test"))) << "logged once";
  throws_ = false;
}

TEST_F(Index, ASessionThatIsRotatedWhileItIsLookedAtIsNotDamaged) {
  EndInOrder();
  rotate_changes_ = 2;
  Start();
  Create("one");
  Update("one", "rotated");
  EndAtOnce();
  {
    // As the next rotation does to a reader that has read the manifest.
    const absl::MutexLock lock(&mutex_);
    missing_once_ = "/one/state/head.";
  }
  Start();
  EXPECT_THAT(Rows(), ElementsAre("one"));
  const absl::MutexLock lock(&mutex_);
  EXPECT_EQ(missing_once_, "") << "nothing read the file";
}

TEST_F(Index, CompletesTheListingWithALaterComparisonWhenTheRootThrows) {
  Create("one");
  EndAtOnce();
  throws_at_ = [](const FileOperation& asked) {
    return asked.name == "list" && asked.path == fs::kSessions;
  };
  throws_ = true;
  Start();
  EXPECT_TRUE(testing::WaitUntil([&] { return !Notes().empty(); }));
  throws_ = false;
  ASSERT_TRUE(Sweep());
  EXPECT_THAT(Rows(), ElementsAre("one"));
}

TEST_F(Index, AfterAnOrderlyEndNoSessionIsOpenedForTheListing) {
  Create("one");
  Create("two");
  LetTheClockTick();
  EndInOrder();
  EXPECT_TRUE(stdfs::exists(Root() / "index"));
  Start();
  EXPECT_THAT(Rows(), ElementsAre("one", "two"));
  EXPECT_EQ(opened_, 0);
  EXPECT_FALSE(stdfs::exists(Root() / "index")) << "it is old from the next commit on";
}

TEST_F(Index, AfterAnyOtherEndEverySessionIsLookedAt) {
  Create("one");
  EndInOrder();
  stdfs::copy(Root() / "index", Root() / "kept");
  Start();
  Create("two");
  EndAtOnce();
  stdfs::rename(Root() / "kept", Root() / "index");
  Start();
  EXPECT_THAT(Rows(), ElementsAre("one", "two")) << "an old index was believed";
  EXPECT_EQ(opened_, 2);
}

TEST_F(Index, OneThatIsNotWhatWasWrittenIsNotBelieved) {
  Create("one");
  LetTheClockTick();
  EndInOrder();
  const std::string whole = ReadFile(Root() / "index");
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string bytes = whole;
    bytes[at] ^= 0x20;
    WriteFile(Root() / "index", bytes);
    Start();
    EXPECT_THAT(Rows(), ElementsAre("one")) << "byte " << at;
    EXPECT_EQ(opened_, 1) << "byte " << at;
    EndInOrder();
  }
  Start();
}

TEST_F(Index, WhatWasDoneToDirectoriesMeanwhileIsSeen) {
  Create("one");
  Create("two");
  Create("four");
  LetTheClockTick();
  EndInOrder();
  stdfs::rename(PathOf("two"), PathOf("three"));
  stdfs::remove_all(PathOf("one"));
  Damage("four");
  Start();
  EXPECT_THAT(Rows(), ElementsAre("four damaged", "three damaged"))
      << "the manifest of three names another session";
}

}  // namespace
}  // namespace holdfast::test

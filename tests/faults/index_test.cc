// The listing over a restart: after an orderly end its rows come from the index, after any other
// from the sessions themselves, and what was done to directories meanwhile is seen.
#include "store-fs/fs_store.h"
#include "store-fs/recovery.h"
#include "tests/support/breaking_files.h"
#include "tests/support/changes.h"
#include "tests/support/fake_clock.h"
#include "tests/support/seeded_random.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wait.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
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
    options.wrap_files = [this](std::unique_ptr<fs::Files> files) {
      return MakeBreakingFiles(std::move(files), [this](const FileOperation& asked) {
        if (asked.name == "open" && asked.path.ends_with("journal.log")) ++opened_;
        return absl::OkStatus();
      });
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
      const bool ok = row.mark == SessionRow::Mark::kOk;
      rows.push_back(row.id.value() + (ok ? "" : " damaged"));
    }
    std::ranges::sort(rows);
    return rows;
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
  FakeClock clock_;
  SeededRandom random_;
  std::unique_ptr<SessionStore> store_;

 protected:
  std::atomic<int> opened_ = 0;  // journals, since the start
};

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

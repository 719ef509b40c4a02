// A process without a descriptor or memory to spare says nothing about the disk: a call that needs
// one is refused with its outcome known, and the store goes on.
#include "session/refusal.h"
#include "store-fs/fs_store.h"
#include "tests/faults/workload.h"
#include "tests/support/breaking_files.h"
#include "tests/support/fake_clock.h"
#include "tests/support/memory_files.h"
#include "tests/support/seeded_random.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wait.h"

#include "absl/strings/match.h"
#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <memory>
#include <optional>
#include <set>
#include <string>

namespace holdfast::test {
namespace {

// Operations that write, or make durable what was written: after one of them that failed a store
// stops.
bool Writes(const std::string& operation) {
  static const std::set<std::string> kWriting = {"write", "sync", "sync directory", "truncate"};
  return kWriting.contains(operation);
}

// Fails the n-th operation for want of a descriptor, or nothing. Only a stat takes none.
struct Shortage {
  size_t at = 0;
  size_t seen = 0;
  std::string hit;  // the operation that failed

  absl::Status operator()(const FileOperation& asked) {
    if (asked.name == "stat" || ++seen != at) return absl::OkStatus();
    hit = asked.name;
    return absl::AbortedError("injected: too many open files");
  }
};

class World {
 public:
  std::unique_ptr<SessionStore> Make(Shortage& shortage) {
    fs::FsOptions options;
    options.root = root_ / "root";
    options.rotate_changes = 7;
    options.open_sessions = 2;  // sessions are closed and opened again
    options.wrap_files =
        BreakBy(disk_, [&shortage](const FileOperation& asked) { return shortage(asked); });
    return fs::MakeFsStore(std::move(options), clock, random);
  }

  FakeClock clock;
  SeededRandom random;

 private:
  TempDir root_;
  MemoryDisk disk_;
};

bool OutcomeIsUnknown(const absl::Status& status) {
  const auto facts = RefusalOf(status).facts();
  const auto outcome = facts.find("outcome");
  return outcome != facts.end() && outcome->second == "unknown";
}

// What the store is after a shortage in the middle of its service.
void CheckAfterShortage(size_t n, const Shortage& shortage, const absl::Status& ended,
                        SessionStore& store, const Workload& workload) {
  const bool stopped = !store.CheckHealth().ok();
  EXPECT_TRUE(!stopped || Writes(shortage.hit)) << n << ": " << shortage.hit << " stopped it";
  EXPECT_TRUE(ended.ok() || Is(ended, Reason::kStoreUnavailable))
      << n << ": " << shortage.hit << ": " << ended.message();
  if (stopped) return;
  EXPECT_EQ(workload.Check(store), "") << n << ": " << shortage.hit;
  EXPECT_EQ(workload.GoOn(store), "") << n << ": " << shortage.hit;
}

// Runs the workload with a shortage at its n-th operation. False when it ended untouched.
bool RunWithShortage(size_t n, size_t& went_on) {
  World world;
  Workload workload(world.random);
  Shortage shortage{.at = n};
  const auto store = world.Make(shortage);
  const absl::Status opened = store->Init();
  bool may_have_gone_on = false;
  if (opened.ok()) {
    const absl::Status ended = workload.Run(*store);
    shortage.at = 0;  // what follows looks at what is there
    CheckAfterShortage(n, shortage, ended, *store, workload);
    may_have_gone_on = store->CheckHealth().ok();
    if (may_have_gone_on) ++went_on;
    // It may have stopped behind a change that it had acknowledged, and refused the next one.
    const bool before = absl::StrContains(ended.message(), "the store has failed");
    EXPECT_TRUE(ended.ok() || OutcomeIsUnknown(ended) || may_have_gone_on || before)
        << n << ": " << shortage.hit << ": " << ended.message();
  } else {
    EXPECT_TRUE(Is(opened, Reason::kStoreUnavailable)) << n << ": " << opened.message();
  }
  store->Dispose();
  Shortage none;
  const auto again = world.Make(none);
  EXPECT_TRUE(again->Init().ok()) << n;
  if (!may_have_gone_on) {
    EXPECT_EQ(workload.Check(*again), "") << n;
  }
  EXPECT_EQ(workload.GoOn(*again), "") << n;
  again->Dispose();
  return !shortage.hit.empty();
}

TEST(Shortages, AtAnyOperationThatWritesNothingStopNoStore) {
  size_t n = 1;
  size_t went_on = 0;
  while (!HasFailure() && RunWithShortage(n, went_on)) ++n;
  EXPECT_GE(n, 300U);
  EXPECT_GE(went_on, n / 2);
  std::printf("figure: %zu fault points\n", n - 1);
}

class LastingShortage : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::FsOptions options;
    options.root = root_ / "root";
    options.rotate_changes = 4;
    options.wrap_files = BreakBy([this](const FileOperation& asked) {
      static const std::set<std::string> kOpening = {"open", "create", "list", "make directory",
                                                     "sync directory"};
      if (!short_ || !kOpening.contains(asked.name)) return absl::OkStatus();
      if (asked.name == "list" && asked.path == "t") ++comparisons_;
      return absl::Status(absl::AbortedError("injected"));
    });
    store_ = fs::MakeFsStore(std::move(options), clock_, random_);
    ASSERT_TRUE(store_->Init().ok());
  }
  void TearDown() override { store_->Dispose(); }

  std::atomic<bool> short_ = false;
  std::atomic<int> comparisons_ = 0;  // of the disk with the listing, that a shortage ended
  TempDir root_;
  FakeClock clock_;
  SeededRandom random_;
  std::unique_ptr<SessionStore> store_;
};

TEST_F(LastingShortage, LeavesOpenSessionsInUseAndNothingDamaged) {
  Changes alpha(Key("alpha"), random_);
  Change create = alpha.Create();
  create.slots = {MakeSlot("plan", "none")};
  const auto created = store_->Commit(create);
  ASSERT_TRUE(created.ok());
  const LeaseToken token = *LeaseToken::Parse(created->receipt.token);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(store_->Commit(alpha.Write(token)).ok());
  short_ = true;
  for (int i = 0; i < 20; ++i) {
    const auto written = store_->Commit(alpha.Write(token));
    ASSERT_TRUE(written.ok()) << written.status().message();
  }
  const auto slots = store_->ReadSlots(Key("alpha"), {});
  EXPECT_TRUE(Is(slots.status(), Reason::kStoreUnavailable)) << "the slot lies in a segment";
  const auto other = store_->Commit(Changes(Key("beta"), random_).Create());
  EXPECT_TRUE(Is(other.status(), Reason::kStoreUnavailable)) << other.status().message();
  EXPECT_FALSE(OutcomeIsUnknown(other.status()));
  EXPECT_TRUE(store_->CheckHealth().ok());
  short_ = false;
  EXPECT_FALSE(store_->ReadSlots(Key("alpha"), {})->slots.back().damaged);
  EXPECT_TRUE(store_->Commit(Changes(Key("beta"), random_).Create()).ok());
}

TEST_F(LastingShortage, LeavesTheListingIncompleteAndMarksNothing) {
  ASSERT_TRUE(store_->Commit(Changes(Key("alpha"), random_).Create()).ok());
  store_->Dispose();
  SetUp();
  short_ = true;
  ASSERT_TRUE(store_->Activate().ok());
  const auto sweep = [&] {
    return store_->ListDue(DueKind::kAbandoned, absl::Hours(1), std::nullopt, 10);
  };
  ASSERT_TRUE(testing::WaitUntil([&] { return comparisons_ > 0; })) << "no scan";
  sweep().status().IgnoreError();
  ListQuery all{.limit = 10};
  all.tenant = *TenantId::Parse("default");
  EXPECT_TRUE(store_->List(all)->rows.empty());
  EXPECT_FALSE(store_->List(all)->complete);
  short_ = false;
  sweep().status().IgnoreError();
  const auto page = store_->List(all);
  ASSERT_EQ(page->rows.size(), 1U);
  EXPECT_EQ(page->rows.front().condition, SessionRow::Condition::kOk);
  EXPECT_TRUE(page->complete);
}

}  // namespace
}  // namespace holdfast::test

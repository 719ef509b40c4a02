// How many sessions are open, and the space their journals take ahead: given back when a session is
// closed, pushed out or idle, and never at the cost of a change.
#include "store-fs/fs_store.h"
#include "store-fs/recovery.h"
#include "tests/faults/admitted.h"
#include "tests/support/changes.h"
#include "tests/support/fake_clock.h"
#include "tests/support/seeded_random.h"
#include "tests/support/temp_dir.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::test {
namespace {

constexpr uintmax_t kTakenAhead = 64 * 1024;

class OpenSessions : public ::testing::Test {
 protected:
  void Start(size_t open_sessions) {
    fs::FsOptions options;
    options.root = directory_ / "root";
    options.open_sessions = open_sessions;
    store_ = fs::MakeFsStore(std::move(options), clock_, random_);
    ASSERT_TRUE(store_->Init().ok());
  }
  void TearDown() override { store_->Dispose(); }

  // Creates the session and begins a turn, which is the first append to its journal.
  LeaseToken Begin(const std::string& id) {
    Changes changes(Key(id), random_);
    const auto created = store_->Commit(changes.Create());
    EXPECT_TRUE(created.ok());
    const LeaseToken token = *LeaseToken::Parse(created->receipt.token);
    EXPECT_TRUE(store_->Commit(changes.Begin(token)).ok());
    return token;
  }
  [[nodiscard]] uintmax_t JournalBytes(const std::string& id) const {
    return std::filesystem::file_size(directory_.path() / "root" / fs::DirectoryOf(Key(id)) /
                                      "journal.log");
  }

  TempDir directory_;
  FakeClock clock_;
  SeededRandom random_;
  std::unique_ptr<SessionStore> store_;
};

TEST_F(OpenSessions, TheFirstAppendTakesSpaceAhead) {
  Start(8);
  Begin("alpha");
  EXPECT_EQ(JournalBytes("alpha"), kTakenAhead);
}

TEST_F(OpenSessions, AClosedOneGivesItBack) {
  Start(8);
  const LeaseToken token = Begin("alpha");
  EXPECT_TRUE(store_->Commit(Changes(Key("alpha"), random_).Close(token)).ok());
  EXPECT_LT(JournalBytes("alpha"), kTakenAhead);
}

TEST_F(OpenSessions, OneThatIsIdleForTenMinutesGivesItBack) {
  Start(8);
  Begin("alpha");
  clock_.Advance(absl::Minutes(9));
  Begin("beta");
  clock_.Advance(absl::Minutes(2));
  ASSERT_TRUE(store_->ListDue(DueKind::kAbandoned, absl::Hours(1), std::nullopt, 1).ok());
  EXPECT_LT(JournalBytes("alpha"), kTakenAhead);
  EXPECT_EQ(JournalBytes("beta"), kTakenAhead) << "it was changed two minutes ago";
}

TEST_F(OpenSessions, OneThatIsPushedOutGivesItBack) {
  Start(2);
  Begin("alpha");
  Begin("beta");
  Begin("gamma");
  EXPECT_LT(JournalBytes("alpha"), kTakenAhead);
  EXPECT_EQ(JournalBytes("gamma"), kTakenAhead);
}

// Sessions are pushed out and opened again all the time, each changed by several callers.
TEST_F(OpenSessions, PushingOutLosesNothing) {
  constexpr int kSessions = 6;
  constexpr int kCallers = 12;
  constexpr int kRounds = 60;
  Start(2);
  for (int at = 0; at < kSessions; ++at) Begin("s" + std::to_string(at));
  const auto events = [&] {
    uint64_t sum = 0;
    for (int at = 0; at < kSessions; ++at) {
      const auto loaded = store_->LoadForDecision(Key("s" + std::to_string(at)), std::nullopt);
      EXPECT_TRUE(loaded.ok()) << loaded.status();
      if (loaded.ok()) sum += loaded->head.last_event.value();
    }
    return sum;
  };
  const uint64_t before = events();
  std::atomic<int> applied = 0;
  {
    std::vector<std::jthread> callers;
    for (int caller = 0; caller < kCallers; ++caller) {
      callers.emplace_back([&, caller] {
        for (int round = 0; round < kRounds; ++round) {
          Changes changes(Key("s" + std::to_string((caller + round) % kSessions)), random_);
          Change change = changes.Update({{"title", std::to_string(round)}});
          change.events = {{.name = "Touched"}};
          const auto result = CommitAdmitted(*store_, change);
          if (result.ok() && result->kind == CommitResult::Kind::kApplied) ++applied;
        }
      });
    }
  }
  EXPECT_EQ(applied, kCallers * kRounds);
  store_->Dispose();
  Start(2);
  EXPECT_EQ(events() - before, uint64_t{kCallers * kRounds});
}

}  // namespace
}  // namespace holdfast::test

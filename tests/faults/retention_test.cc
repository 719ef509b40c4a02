// How long a store of files keeps events.
#include "session/limits.h"
#include "session/refusal.h"
#include "store-fs/fs_store.h"
#include "tests/support/changes.h"
#include "tests/support/fake_clock.h"
#include "tests/support/seeded_random.h"
#include "tests/support/temp_dir.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace holdfast::test {
namespace {

constexpr PageLimit kPage{.items = 10, .bytes = 1 << 20};
constexpr size_t kEventsOfAChange = 100;
constexpr size_t kRetainedRotateChanges = 4;

const SessionKey kRetainedSession = Key("alpha");

class FsRetention : public ::testing::Test {
 protected:
  // Opens the store, and a session in it that has more events than are kept in any case.
  void Fill(const Retention& retention) {
    fs::FsOptions options;
    options.root = directory_ / "root";
    options.retention = retention;
    options.rotate_changes = kRetainedRotateChanges;
    store_ = fs::MakeFsStore(std::move(options), clock_, random_);
    ASSERT_TRUE(store_->Init().ok() && store_->Activate().ok());
    ASSERT_TRUE(store_->Commit(changes_.Create()).ok());
    for (size_t made = 0; made < 2 * kEventsKeptLeast; made += kEventsOfAChange) Update();
    Rotate();
  }
  void Update() {
    Change many = changes_.Update({{"title", "x"}});
    many.events = std::vector<EventDraft>(kEventsOfAChange, EventDraft{.name = "Many"});
    ASSERT_TRUE(store_->Commit(many).ok());
  }
  // Enough changes for a rotation, which the call behind them waits for.
  void Rotate() {
    for (size_t change = 0; change <= kRetainedRotateChanges; ++change) {
      ASSERT_TRUE(store_->Commit(changes_.Update({{"title", "y"}})).ok());
    }
  }
  void Advance(absl::Duration passed) { clock_.Advance(passed); }
  absl::Status ReadFirst() {
    return store_->ReadEvents(kRetainedSession, EventSeq(), kPage).status();
  }

 private:
  FakeClock clock_;
  SeededRandom random_;
  TempDir directory_;
  Changes changes_{kRetainedSession, random_};
  std::unique_ptr<SessionStore> store_;
};

TEST_F(FsRetention, OlderEventsThanConfiguredGoWithARotation) {
  Fill({.events = absl::Hours(2)});
  Advance(absl::Hours(1));
  Rotate();
  EXPECT_EQ(ReadFirst(), absl::OkStatus());
  Advance(absl::Hours(2));
  Rotate();
  EXPECT_TRUE(Is(ReadFirst(), Reason::kEventsCompacted)) << ReadFirst();
}

TEST_F(FsRetention, EventsAreKeptForSevenDaysByDefault) {
  Fill({});
  Advance(absl::Hours(24 * 6));
  Rotate();
  EXPECT_EQ(ReadFirst(), absl::OkStatus());
  Advance(absl::Hours(24 * 2));
  Rotate();
  EXPECT_TRUE(Is(ReadFirst(), Reason::kEventsCompacted)) << ReadFirst();
}

}  // namespace
}  // namespace holdfast::test

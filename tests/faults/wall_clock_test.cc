// The clock for people set to anything, before, between and across restarts: no retry acts twice,
// no lease ends early, no upload is swept early, and no event goes early.
#include "session/limits.h"
#include "store-fs/fs_store.h"
#include "tests/faults/session_picture.h"
#include "tests/support/changes.h"
#include "tests/support/fake_clock.h"
#include "tests/support/memory_files.h"
#include "tests/support/seeded_random.h"
#include "tests/support/temp_dir.h"

#include <gtest/gtest.h>

#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

using Kind = CommitResult::Kind;

constexpr absl::Duration kDay = absl::Hours(24);
constexpr size_t kClockRotateChanges = 5;

// How the store ends before it is opened again.
enum class EndBeforeReopening { kNot, kInOrder, kKilled };

struct Step {
  absl::Duration by;
  EndBeforeReopening end = EndBeforeReopening::kNot;
  bool machine_too = false;  // the machine was restarted: the boot clock begins anew
};

std::ostream& operator<<(std::ostream& out, const Step& step) {
  static constexpr const char* kEnds[] = {"", " ended in order", " killed"};
  return out << step.by / kDay << " days" << kEnds[static_cast<size_t>(step.end)]
             << (step.machine_too ? ", machine restarted" : "");
}

class WallClockSteps : public ::testing::TestWithParam<Step> {
 protected:
  WallClockSteps() { Open(); }
  ~WallClockSteps() override { store_->Dispose(); }

  void Open() {
    fs::FsOptions options;
    options.root = root_ / "root";  // only its lock is real
    options.rotate_changes = kClockRotateChanges;
    options.wrap_files = OnDisk(disk_);
    store_ = fs::MakeFsStore(std::move(options), *clock_, random_);
    ASSERT_TRUE(store_->Init().ok());
  }
  // The step of this case, with a restart before or behind it if it has one.
  void StepClock() {
    const Step& step = GetParam();
    if (step.end == EndBeforeReopening::kInOrder) {
      ASSERT_TRUE(store_->Deactivate().ok());
    }
    if (step.end != EndBeforeReopening::kNot) store_->Dispose();
    if (step.machine_too) clock_ = std::make_unique<FakeClock>();
    clock_->JumpWall(step.by);
    if (step.end != EndBeforeReopening::kNot) Open();
  }

  CommitResult Must(const Change& change) {
    auto result = store_->Commit(change);
    EXPECT_TRUE(result.ok() && result->refusal.ok()) << result.status();
    return result.ok() ? *std::move(result) : CommitResult();
  }
  Change Title(int number) { return changes_.Update({{"title", std::to_string(number)}}); }

  FakeClock& clock() { return *clock_; }
  SessionStore& store() { return *store_; }
  Changes& changes() { return changes_; }
  SeededRandom& random() { return random_; }

 private:
  TempDir root_;
  std::unique_ptr<FakeClock> clock_ = std::make_unique<FakeClock>();
  SeededRandom random_;
  MemoryDisk disk_;
  Changes changes_{Key("alpha"), random_};
  std::unique_ptr<SessionStore> store_;
};

TEST_P(WallClockSteps, NoRetryActsTwice) {
  std::vector<Change> sent = {changes().Create()};
  for (int number = 0; number < 12; ++number) sent.push_back(Title(number));
  for (const Change& change : sent) {
    Must(change);
    clock().Advance(absl::Minutes(10));
  }
  StepClock();
  // Some change, so that what is too old is dropped, if it is taken for that.
  for (int number = 0; number < 7; ++number) Must(Title(number));
  for (const Change& change : sent) {
    EXPECT_EQ(Must(change).kind, Kind::kRepeated);
    const auto loaded = store().LoadForDecision(change.key, change.request->id);
    EXPECT_TRUE(loaded.ok() && loaded->request);
  }
}

TEST_P(WallClockSteps, RepliesStillGoADayOfServiceLater) {
  const Change create = changes().Create();
  Must(create);
  const Change once = Title(0);
  Must(once);
  StepClock();
  clock().Advance(kRequestsKept - absl::Hours(1));
  EXPECT_EQ(Must(once).kind, Kind::kRepeated);
  clock().Advance(absl::Hours(2));
  EXPECT_EQ(Must(once).kind, Kind::kApplied);
}

TEST_P(WallClockSteps, GrantsAreShownForADay) {
  Must(changes().Create());
  StepClock();
  clock().Advance(absl::Minutes(2));
  Must(changes().Resume());
  EXPECT_EQ(store().LoadForDecision(Key("alpha"), std::nullopt)->head.grants.size(), 2U);
  clock().Advance(kDay - absl::Minutes(1));
  EXPECT_EQ(store().LoadForDecision(Key("alpha"), std::nullopt)->head.grants.size(), 1U);
}

TEST_P(WallClockSteps, NoLeaseEndsEarlyOrLate) {
  const LeaseToken token = *LeaseToken::Parse(Must(changes().Create()).receipt.token);
  clock().Advance(absl::Seconds(30));
  const bool restarted = GetParam().end != EndBeforeReopening::kNot;
  StepClock();
  const absl::Duration left = absl::Seconds(restarted ? 60 : 30);
  const auto state = [&] {
    return store().LoadForDecision(Key("alpha"), std::nullopt)->head.lease.state;
  };
  clock().Advance(left - absl::Seconds(1));
  EXPECT_EQ(state(), LeaseState::kLive);
  clock().Advance(absl::Seconds(1));
  EXPECT_EQ(state(), LeaseState::kExpired);
}

TEST_P(WallClockSteps, NoUploadIsSweptEarly) {
  const LeaseToken token = *LeaseToken::Parse(Must(changes().Create()).receipt.token);
  if (GetParam().end != EndBeforeReopening::kNot) StepClock();  // none outlives the process
  const UploadId id = *UploadId::Parse(UuidText(random().Bytes(16), 4));
  ASSERT_TRUE(store().StageUpload(Key("alpha"), id, 0, "bytes").ok());
  if (GetParam().end == EndBeforeReopening::kNot) StepClock();
  const auto sweep = [&] {
    return store().ListDue(DueKind::kAbandoned, absl::Hours(1), std::nullopt, 1).ok();
  };
  clock().Advance(kUploadsKept - absl::Minutes(1));
  ASSERT_TRUE(sweep());
  Change write = changes().Write(token);
  write.guard.lease = LeaseRule::kNone;
  write.upload = UploadLink{.id = id, .bytes = 5, .sha256 = Sha256("bytes")};
  EXPECT_EQ(Must(write).kind, Kind::kApplied);
}

TEST_P(WallClockSteps, NoEventGoesEarly) {
  Must(changes().Create());
  for (int number = 0; number < 2200; ++number) {
    Change change = Title(number);
    change.events = {{.name = "Touched", .payload = {}, .given = {}}};
    Must(change);
  }
  StepClock();
  for (int number = 0; number < 20; ++number) Must(Title(number));
  const auto events =
      store().ReadEvents(Key("alpha"), EventSeq(), {.items = 1, .bytes = size_t{1} << 20});
  EXPECT_TRUE(events.ok()) << ReasonNameOf(events.status());
}

const Step kSteps[] = {
    {.by = -20'000 * kDay},
    {.by = -2 * kDay},
    {.by = 2 * kDay},
    {.by = 400 * kDay},
    {.by = -20'000 * kDay, .end = EndBeforeReopening::kInOrder},
    {.by = 400 * kDay, .end = EndBeforeReopening::kInOrder},
    {.by = -20'000 * kDay, .end = EndBeforeReopening::kKilled},
    {.by = 400 * kDay, .end = EndBeforeReopening::kKilled},
    {.by = 400 * kDay, .end = EndBeforeReopening::kInOrder, .machine_too = true},
    {.by = -20'000 * kDay, .end = EndBeforeReopening::kKilled, .machine_too = true},
};

std::string StepName(const ::testing::TestParamInfo<Step>& info) {
  static constexpr const char* kEnds[] = {"", "EndedInOrder", "Killed"};
  const Step& step = info.param;
  return (step.by < absl::ZeroDuration() ? "Back" : "Ahead") +
         std::to_string(absl::AbsDuration(step.by) / kDay) + kEnds[static_cast<size_t>(step.end)] +
         (step.machine_too ? "MachineToo" : "");
}

INSTANTIATE_TEST_SUITE_P(By, WallClockSteps, ::testing::ValuesIn(kSteps), StepName);

}  // namespace
}  // namespace holdfast::test

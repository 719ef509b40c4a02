// What a reader of the disk would not open is never acknowledged: random changes at and over every
// bound, then a restart.
#include "session/limits.h"

#include "session/refusal.h"
#include "store-fs/frame.h"
#include "store-fs/fs_store.h"
#include "store-fs/index.h"
#include "tests/faults/admitted.h"
#include "tests/faults/workload.h"
#include "tests/support/breaking_files.h"
#include "tests/support/fake_clock.h"
#include "tests/support/memory_files.h"
#include "tests/support/seeded_random.h"
#include "tests/support/temp_dir.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

// Small ones, which writer and reader share as they share the real ones.
constexpr fs::Bounds kSmall{.change = 6 * kKiB, .journal = 16 * kKiB, .head = 3 * kKiB};
constexpr size_t kLimitedSessions = 4;
constexpr size_t kChangesPerRun = 50;

class Limits {
 public:
  explicit Limits(uint64_t seed) : numbers_(seed) { Start(); }
  ~Limits() { store_->Dispose(); }
  Limits(const Limits&) = delete;
  Limits& operator=(const Limits&) = delete;

  // Makes a change of one of the sessions and notes whether it was acknowledged.
  void Step() {
    const size_t at = Upto(kLimitedSessions - 1);
    Session& session = sessions_.at(at);
    Changes changes(Key("s" + std::to_string(at)), random_);
    if (!session.made) return Create(session, changes);
    Change change = Upto(1) == 0 ? changes.Write(session.token) : changes.Update({});
    Fill(change);
    const auto messages = change.messages;
    const auto result = Settle(store_->Commit(change));
    if (!result.ok()) return;
    for (const Message& message : messages) session.messages.push_back(message.data.str());
    session.revision = result->head.revision;
  }

  // What was acknowledged is found again; empty, or what is not as it was.
  std::string RestartAndCheck() {
    store_->Dispose();
    Start();
    for (size_t at = 0; at < kLimitedSessions; ++at) {
      const Session& session = sessions_.at(at);
      const SessionKey key = Key("s" + std::to_string(at));
      const auto loaded = store_->LoadForDecision(key, std::nullopt);
      if (!session.made) {
        if (Is(loaded.status(), Reason::kSessionNotFound)) continue;
        return key.session.value() + " is there though its creation was refused";
      }
      if (!loaded.ok()) {
        return key.session.value() +
               " was acknowledged and cannot be opened: " + std::string(loaded.status().message());
      }
      if (loaded->head.revision != session.revision) return "another revision";
      const auto found = Find(*store_, key);
      if (!found.ok() || found->messages != session.messages) return "other messages";
    }
    return "";
  }

  [[nodiscard]] size_t acknowledged() const { return acknowledged_; }
  [[nodiscard]] size_t too_large() const { return too_large_; }
  [[nodiscard]] size_t full() const { return full_; }

 private:
  struct Session {
    bool made = false;
    LeaseToken token;
    Revision revision;
    std::vector<std::string> messages;
  };

  void Start() {
    fs::FsOptions options;
    options.root = root_ / "root";
    options.rotate_changes = 8;
    options.bounds = kSmall;
    options.wrap_files = OnDisk(disk_);
    store_ = fs::MakeFsStore(std::move(options), clock_, random_);
    ASSERT_TRUE(store_->Init().ok());
  }

  void Create(Session& session, Changes& changes) {
    Change change = changes.Create();
    Fill(change);
    // Its manifest.json has a bound of its own.
    if (Upto(7) == 0) change.create->project_root = "/" + std::string(Upto(20 * kKiB), '\x01');
    const auto messages = change.messages;
    const auto result = Settle(store_->Commit(change));
    if (!result.ok()) return;
    session = {.made = true, .token = *LeaseToken::Parse(result->receipt.token)};
    for (const Message& message : messages) session.messages.push_back(message.data.str());
    session.revision = result->head.revision;
  }

  // Pieces of every kind that together come near the bound of a change, or are over it.
  void Fill(Change& change) {
    static constexpr size_t kAim[] = {100, kSmall.change / 2, kSmall.change, kSmall.change * 2};
    size_t left = Upto(kAim[Upto(3)]);
    if (Upto(3) == 0) left = kSmall.change - 500 + Upto(600);
    const auto take = [&] {
      const size_t taken = std::min(left, Upto(kSmall.change));
      left -= taken;
      return std::string(taken, static_cast<char>('a' + Upto(25)));
    };
    const bool snapshot = change.snapshot || change.create;
    for (size_t i = Upto(4); i > 0; --i) {
      switch (Upto(4)) {
        case 0:
          if (snapshot) change.messages.push_back(Text(take()));
          break;
        case 1:
          if (snapshot) change.slots.push_back(MakeSlot("o" + std::to_string(Upto(40)), take()));
          break;
        case 2:
          change.attributes["k" + std::to_string(Upto(3))] = take().substr(0, 1500);
          break;
        case 3:
          change.events.push_back({.name = "Said", .payload = {{"what", take()}}});
          break;
        default:
          if (change.audit) change.audit->data["fact"] = take();
      }
    }
    std::map<std::string, Slot> once;
    for (Slot& slot : change.slots) once[slot.owner] = std::move(slot);
    change.slots.clear();
    for (auto& [owner, slot] : once) change.slots.push_back(std::move(slot));
  }

  absl::StatusOr<CommitResult> Settle(absl::StatusOr<CommitResult> result) {
    if (result.ok() && !result->refusal.ok()) result = result->refusal;
    if (result.ok()) ++acknowledged_;
    if (Is(result.status(), Reason::kTooLarge)) ++too_large_;
    if (Is(result.status(), Reason::kStorageFull)) ++full_;
    const bool known = result.ok() || Is(result.status(), Reason::kTooLarge) ||
                       Is(result.status(), Reason::kStorageFull);
    EXPECT_TRUE(known) << result.status().message();
    clock_.Advance(absl::Seconds(1));
    return result;
  }

  size_t Upto(size_t most) { return std::uniform_int_distribution<size_t>(0, most)(numbers_); }

  std::mt19937_64 numbers_;
  TempDir root_;
  MemoryDisk disk_;
  FakeClock clock_;
  SeededRandom random_;
  std::unique_ptr<SessionStore> store_;
  std::vector<Session> sessions_{kLimitedSessions};
  size_t acknowledged_ = 0;
  size_t too_large_ = 0;
  size_t full_ = 0;
};

void TryRandomChanges(size_t count) {
  size_t acknowledged = 0;
  size_t too_large = 0;
  size_t full = 0;
  for (uint64_t run = 0; run * kChangesPerRun < count; ++run) {
    Limits limits(run);
    for (size_t i = 0; i < kChangesPerRun; ++i) limits.Step();
    ASSERT_EQ(limits.RestartAndCheck(), "") << "run " << run;
    acknowledged += limits.acknowledged();
    too_large += limits.too_large();
    full += limits.full();
  }
  EXPECT_GT(acknowledged, count / 4);
  EXPECT_GT(too_large, count / 20);
  EXPECT_GT(full, 0U);
}

TEST(Limits, AcknowledgesNothingThatARestartWouldNotOpen) { TryRandomChanges(3'000); }

TEST(LongLimits, AcknowledgesNothingThatARestartWouldNotOpen) { TryRandomChanges(100'000); }

TEST(Limits, AFrameIsNotEncodedOverItsBound) {
  const std::string most(kFramePayloadBytes, '\0');
  const auto frame = fs::EncodeFrame({}, most, 0);
  ASSERT_TRUE(frame.ok());
  EXPECT_EQ(fs::ReadFrame(frame->bytes, 0, std::nullopt).state, fs::FrameState::kValid);
  EXPECT_TRUE(Is(fs::EncodeFrame({}, most + "x", 0).status(), Reason::kTooLarge));
}

TEST(Limits, AnIndexOverItsBoundIsNotWritten) {
  MemoryDisk disk;
  const auto files = disk.Open();
  ASSERT_TRUE(files->MakeDirectory("tmp").ok());
  fs::IndexRow row{.tenant = *TenantId::Parse("default"), .row = {}};
  row.row.id = *SessionId::Parse("alpha");
  for (size_t most = 0; most < 4 * kKiB; most += 7) {
    const std::vector<fs::IndexRow> rows(1 + most % 40, row);
    ASSERT_TRUE(fs::WriteIndex(*files, rows, most).ok());
    EXPECT_LE(disk.Read("index").size(), most);
    const auto taken = fs::TakeIndex(*files);
    ASSERT_TRUE(taken.ok());
    if (*taken) {
      EXPECT_EQ((*taken)->rows.size(), rows.size());
    }
  }
  ASSERT_TRUE(fs::WriteIndex(*files, {row}).ok());
  EXPECT_FALSE(disk.Read("index").empty());
}

// The real bounds, by one change and by many at once.
class RealLimits : public ::testing::Test {
 protected:
  void SetUp() override { Start(); }
  void TearDown() override { store_->Dispose(); }
  void Start() {
    fs::FsOptions options;
    options.root = root_ / "root";
    options.wrap_files = BreakBy([this](const FileOperation& asked) {
      const bool of_journal = asked.name == "write" && asked.path.ends_with("/journal.log");
      if (of_journal) longest_ = std::max<uint64_t>(longest_, asked.bytes);
      return absl::OkStatus();
    });
    store_ = fs::MakeFsStore(std::move(options), clock_, random_);
    ASSERT_TRUE(store_->Init().ok());
  }

  std::atomic<uint64_t> longest_ = 0;  // of what was written to a journal at once
  TempDir root_;
  FakeClock clock_;
  SeededRandom random_;
  std::unique_ptr<SessionStore> store_;
};

TEST_F(RealLimits, AChangeOverItsEncodedBoundIsTooLarge) {
  Changes changes(Key("alpha"), random_);
  const auto created = store_->Commit(changes.Create());
  ASSERT_TRUE(created.ok());
  Change large = changes.Write(*LeaseToken::Parse(created->receipt.token));
  large.messages = {Text(std::string(kFramePayloadBytes + 1, 'm'))};
  const auto result = store_->Commit(large);
  const absl::Status refusal = result.ok() ? result->refusal : result.status();
  EXPECT_TRUE(Is(refusal, Reason::kTooLarge)) << refusal.message();
  store_->Dispose();
  Start();
  const auto found = Find(*store_, Key("alpha"));
  ASSERT_TRUE(found.ok()) << "what was acknowledged is " << found.status().message();
  EXPECT_TRUE(found->messages.empty());
}

TEST_F(RealLimits, ABatchOfManyHeadsFitsIntoAFrame) {
  constexpr size_t kCallers = 24;
  constexpr size_t kBytes = 4 * kMiB;  // of an audit record, which no count of data sees
  ASSERT_TRUE(store_->Commit(Changes(Key("alpha"), random_).Create()).ok());
  std::vector<Change> all;
  for (size_t at = 0; at < kCallers; ++at) {
    Change change = Changes(Key("alpha"), random_).Update({{"title", std::to_string(at)}});
    change.audit.emplace();
    change.audit->data["fact"] = std::string(kBytes, 'f');
    all.push_back(std::move(change));
  }
  std::vector<absl::Status> statuses(kCallers);
  {
    std::vector<std::jthread> callers;
    for (size_t at = 0; at < kCallers; ++at) {
      callers.emplace_back([&, at] { statuses[at] = CommitAdmitted(*store_, all[at]).status(); });
    }
  }
  for (const absl::Status& status : statuses) EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_LE(longest_, kEncodedChangeBytes + kMiB);
  store_->Dispose();
  Start();
  const auto page = store_->ReadAudit(Key("alpha"), AuditSeq(), {.items = 1000, .bytes = 1});
  EXPECT_TRUE(page.ok()) << page.status().message();
  const auto loaded = store_->LoadForDecision(Key("alpha"), std::nullopt);
  ASSERT_TRUE(loaded.ok()) << "what was acknowledged is " << loaded.status().message();
  EXPECT_EQ(loaded->head.last_audit.value(), kCallers + 1);
}

}  // namespace
}  // namespace holdfast::test

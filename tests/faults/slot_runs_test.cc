// Slots whose versions lie in runs: read as from one map over rotations, compactions and restarts,
// at a cost that follows what is changed and what is named, and with damage that stays where it is.
#include "session/limits.h"
#include "session/refusal.h"
#include "store-fs/fs_store.h"
#include "store-fs/layout.h"
#include "store-fs/recovery.h"
#include "tests/faults/indexed_session.h"
#include "tests/support/breaking_files.h"
#include "tests/support/changes.h"
#include "tests/support/fake_clock.h"
#include "tests/support/memory_files.h"
#include "tests/support/sealed_items.h"
#include "tests/support/seeded_random.h"
#include "tests/support/temp_dir.h"

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

using Slots = std::map<std::string, std::string>;

class SlotRuns : public IndexedSession {
 protected:
  Change WriteOf(std::vector<Slot> slots) {
    Change change = changes_->Write(token_);
    change.slots = std::move(slots);
    return change;
  }
  // Slots `first` to `end`, in as many changes as they need.
  void Fill(uint64_t first, uint64_t end) {
    while (first < end) {
      std::vector<Slot> slots;
      for (; first < end && slots.size() < kSlotsPerChange; ++first) {
        slots.push_back(MakeSlot(Owner(first), "filled"));
      }
      Must(WriteOf(std::move(slots)));
    }
  }
  static std::string Owner(uint64_t number) { return "an owner of slot " + std::to_string(number); }

  Slots Read(const SlotQuery& query) {
    Slots found;
    const auto page = store_->ReadSlots(key(), query);
    EXPECT_TRUE(page.ok()) << page.status();
    if (!page.ok()) return found;
    for (const SlotView& view : page->slots) {
      if (view.slot.owner == kStoreSlotOwner) continue;
      found[view.slot.owner] = view.damaged ? "(damaged)" : view.slot.data.str();
    }
    return found;
  }
};

// Random changes of slots, and what is read of every snapshot that is kept.
class SlotHistory {
 public:
  explicit SlotHistory(uint64_t seed) : numbers_(seed) {}

  uint64_t Below(uint64_t end) { return numbers_() % end; }
  std::string AnyOwner() { return "owner " + std::to_string(Below(kOwners)); }
  std::string AnyData() { return std::string(1 + Below(300), static_cast<char>('a' + Below(26))); }

  Slots now;
  Slots pending;
  std::map<Revision, Slots> at;

 private:
  static constexpr uint64_t kOwners = 30;
  std::mt19937_64 numbers_;
};

class SlotRunsHistory : public SlotRuns, public ::testing::WithParamInterface<uint64_t> {
 protected:
  void Check(const SlotHistory& history) {
    const auto loaded = store_->LoadForDecision(key(), std::nullopt);
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    EXPECT_EQ(Read({}), history.now);
    for (const SnapshotRecord& snapshot : loaded->head.snapshots) {
      const auto expected = history.at.find(snapshot.at.revision);
      if (expected == history.at.end()) continue;  // it has been written to between turns since
      EXPECT_EQ(Read({.revision = snapshot.at.revision}), expected->second);
    }
    for (const auto& [owner, data] : history.now) {
      EXPECT_EQ(Read({.owners = {owner}}), (Slots{{owner, data}}));
    }
    EXPECT_EQ(Read({.owners = {"absent"}}), Slots());
  }

  // A snapshot: slots of it, and the pending ones of its turn.
  void Snapshot(SlotHistory& history, Change change, bool applies) {
    if (applies) {
      for (const auto& [owner, data] : std::exchange(history.pending, {}))
        history.now[owner] = data;
    }
    Slots written;
    for (uint64_t left = history.Below(6); left > 0; --left) {
      written[history.AnyOwner()] = history.AnyData();
    }
    for (uint64_t left = history.Below(3); left > 0; --left) {
      const std::string owner = history.AnyOwner();
      if (written.contains(owner) || std::ranges::count(change.deleted_slots, owner) > 0) continue;
      change.deleted_slots.push_back(owner);
      history.now.erase(owner);
    }
    for (const auto& [owner, data] : written) {
      change.slots.push_back(MakeSlot(owner, data));
      history.now[owner] = data;
    }
    history.at[Must(change).revision] = history.now;
  }

  void Turn(SlotHistory& history) {
    const TurnNumber turn = Must(changes_->Begin(token_)).turn;
    uint64_t entry = 0;
    const uint64_t steps = history.Below(8);
    for (uint64_t step = 0; step < steps; ++step) {
      if (history.Below(6) == 0) {
        Snapshot(history, changes_->KeepTurn(token_, turn), true);
        continue;
      }
      const std::string owner = history.AnyOwner();
      const std::string data = history.AnyData();
      Must(changes_->Append(token_, turn, {SlotUpdate(turn, ++entry, MakeSlot(owner, data))}));
      history.pending[owner] = data;
    }
    if (history.Below(4) > 0) return Snapshot(history, changes_->CommitTurn(token_, turn), true);
    Must(changes_->Abandon(token_, turn));
    history.pending.clear();
  }
};

TEST_P(SlotRunsHistory, IsReadAsFromAMap) {
  SCOPED_TRACE(absl::StrCat("seed ", GetParam()));
  SlotHistory history(GetParam());
  inline_entries_ = GetParam() % 3 * 1000;
  Restart();
  size_t most_runs = 0;
  for (int round = 0; round < 60 && !HasFailure(); ++round) {
    for (uint64_t left = 1 + history.Below(6); left > 0; --left) {
      if (history.Below(3) > 0) {
        Turn(history);
      } else {
        Snapshot(history, changes_->Write(token_), false);
      }
    }
    most_runs = std::max(most_runs, Files("run.").size());
    if (history.Below(3) == 0) {
      Check(history);
      Sweep();
    }
    if (history.Below(4) == 0) Restart();
    Check(history);
  }
  EXPECT_GT(most_runs, 0U);
}

INSTANTIATE_TEST_SUITE_P(Seeds, SlotRunsHistory, ::testing::Range(uint64_t{1}, uint64_t{13}),
                         ::testing::PrintToStringParamName());

// Logs of which most is dead, each with a slot that stays: runs name it at its former place.
TEST_F(SlotRuns, AreFoundWhereACompactionHasMovedThem) {
  Slots expected;
  for (uint64_t round = 0; round < 60; ++round) {
    const std::string kept = "kept " + std::to_string(round);
    const std::string replaced(2000, static_cast<char>('a' + round % 26));
    Must(WriteOf({MakeSlot(Owner(round), kept), MakeSlot("replaced", replaced)}));
    expected[Owner(round)] = kept;
    expected["replaced"] = replaced;
  }
  const auto logs = Files("log.");
  EXPECT_THAT(Files("run."), Not(IsEmpty()));
  Sweep();
  EXPECT_LT(Files("log.").size(), logs.size() / 2);
  EXPECT_EQ(Read({}), expected);
  for (const auto& [owner, data] : expected) {
    EXPECT_EQ(Read({.owners = {owner}}), (Slots{{owner, data}}));
  }
  Restart();
  EXPECT_EQ(Read({}), expected);
}

TEST_F(SlotRuns, AreFew) {
  for (uint64_t round = 0; round < 1200; ++round) {
    Must(WriteOf({MakeSlot(Owner(round % 300), "data")}));
    if (round % 40 == 0) Sweep();
  }
  Sweep();
  EXPECT_LE(Files("run.").size(), 24U) << "of 300 rotations";
}

// A session with few slots has no further file.
TEST_F(SlotRuns, AreNotMadeForFewSlots) {
  inline_entries_ = fs::kInlineEntryBytes;
  Restart();
  for (uint64_t round = 0; round < 400; ++round) {
    Must(WriteOf({MakeSlot(Owner(round % 20), "data")}));
  }
  EXPECT_THAT(Files("run."), IsEmpty());
  EXPECT_THAT(Files("head."), Not(IsEmpty()));
}

TEST_F(SlotRuns, ASlotIsReadAtACostThatDoesNotGrowWithThem) {
  rotate_changes_ = 16;
  Restart();
  const auto reads_of = [&](uint64_t owner) {
    Read({.owners = {Owner(owner)}});  // which may read a directory
    const size_t before = reads_;
    EXPECT_EQ(Read({.owners = {Owner(owner)}}).size(), 1U);
    return reads_ - before;
  };
  Fill(0, 10);
  Rotate();
  const size_t few = reads_of(5);
  Fill(10, 4000);
  Rotate();
  Sweep();
  size_t most = 0;
  for (uint64_t owner = 0; owner < 4000; owner += 37) most = std::max(most, reads_of(owner));
  EXPECT_GE(few, 2U) << "a block of a run, and the record";
  EXPECT_LE(most, few + 1) << "a filter may be wrong once";
}

// What a rotation writes is what has changed, and a constant.
class CostOfSlots : public SlotRuns {
 protected:
  static constexpr uint64_t kRotations = 24;
  static constexpr size_t kChanged = 3;  // slots of a change

  struct Cost {
    uint64_t most = 0;  // bytes of a rotation
    uint64_t all = 0;
  };

  // Of rotations each of which finds as many slots changed, in a session of so many.
  Cost CostWith(const std::string& session, uint64_t slots) {
    Create(session);
    Fill(0, slots);
    Rotate();
    Sweep();
    Cost cost;
    uint64_t next = 0;
    for (uint64_t rotations = 0; rotations < kRotations;) {
      std::vector<Slot> changed;
      for (size_t at = 0; at < kChanged; ++at) {
        changed.push_back(MakeSlot(Owner(next++ % slots), "changed"));
      }
      const uint64_t before = bytes_;
      const auto heads = Files("head.");
      Must(WriteOf(std::move(changed)));
      if (Files("head.") == heads) continue;
      ++rotations;
      cost.most = std::max(cost.most, bytes_ - before);
      cost.all += bytes_ - before;
      Sweep();
    }
    return cost;
  }
};

TEST_F(CostOfSlots, OfARotationIsThatOfTheChangedOnes) {
  rotate_changes_ = 16;
  inline_entries_ = fs::kInlineEntryBytes;
  Restart();
  const Cost few = CostWith("few", 50);
  const Cost many = CostWith("many", 4000);
  std::cout << "bytes of " << kRotations << " rotations: " << few.all << " with 50 slots (most "
            << few.most << "), " << many.all << " with 4,000 (most " << many.most << ")\n";
  EXPECT_GT(few.all, 0U);
  EXPECT_LE(many.all, 3 * few.all);
  EXPECT_LE(many.most, 3 * few.most);
}

TEST_F(SlotRuns, TheirNumberIsBounded) {
  rotate_changes_ = 5;
  Restart();
  const auto write = [&](std::vector<Slot> slots) {
    return Commit(WriteOf(std::move(slots))).status();
  };
  Fill(0, kSlotsPerSession);
  EXPECT_TRUE(Is(write({MakeSlot("one more", "data")}), Reason::kTooLarge));
  for (uint64_t round = 0; round < 12; ++round) {
    EXPECT_TRUE(write({MakeSlot(Owner(round * 300), "again")}).ok()) << round;
    EXPECT_TRUE(Is(write({MakeSlot("one more", "data")}), Reason::kTooLarge)) << round;
  }
  Restart();
  EXPECT_TRUE(Is(write({MakeSlot("one more", "data")}), Reason::kTooLarge));
  Change instead = WriteOf({MakeSlot("one more", "data")});
  instead.deleted_slots = {Owner(7)};
  EXPECT_TRUE(Commit(instead).ok());
  EXPECT_TRUE(Is(write({MakeSlot(Owner(7), "data")}), Reason::kTooLarge));
  Sweep();
  Change fewer = WriteOf({});
  fewer.deleted_slots = {Owner(8), "never there"};
  EXPECT_TRUE(Commit(fewer).ok());
  EXPECT_TRUE(write({MakeSlot(Owner(7), "data")}).ok());
  EXPECT_TRUE(Is(write({MakeSlot(Owner(8), "data")}), Reason::kTooLarge));
  // Updates of a turn count when it is committed.
  const TurnNumber turn = Must(changes_->Begin(token_)).turn;
  Must(changes_->Append(token_, turn, {SlotUpdate(turn, 1, MakeSlot(Owner(9), "there"))}));
  Must(changes_->Append(token_, turn, {SlotUpdate(turn, 2, MakeSlot(Owner(8), "too many"))}));
  Rotate();
  EXPECT_TRUE(Is(Commit(changes_->CommitTurn(token_, turn)).status(), Reason::kTooLarge));
  Must(changes_->Abandon(token_, turn));
  EXPECT_EQ(Read({}).size(), kSlotsPerSession);
}

// The upload of a slot goes with the last version that names it, also when a run names it.
TEST_F(SlotRuns, AnUploadIsKeptAsLongAsAVersionNamesIt) {
  const TurnNumber turn = Must(changes_->Begin(token_)).turn;
  const std::string bytes = "streamed bytes";
  const UploadId id = *UploadId::Parse(UuidText(random_.Bytes(16), 4));
  ASSERT_TRUE(store_->StageUpload(key(), id, 0, bytes).ok());
  Slot slot = MakeSlot("streamed", "");
  slot.staged =
      StagedBytes{.upload = id, .offset = 0, .size = bytes.size(), .digest = Sha256(bytes)};
  Change commit = changes_->CommitTurn(token_, turn);
  commit.slots = {slot};
  commit.upload = UploadLink{.id = id, .bytes = bytes.size(), .sha256 = Sha256(bytes)};
  Must(commit);
  Rotate();
  EXPECT_THAT(Files("run."), Not(IsEmpty()));
  Must(WriteOf({MakeSlot("streamed", "small")}));
  for (size_t snapshot = 0; snapshot + 2 < kSnapshotsKeptDefault; ++snapshot) Must(WriteOf({}));
  Rotate();
  Restart();
  EXPECT_THAT(Files("upload."), Not(IsEmpty())) << "the oldest snapshot shows it";
  EXPECT_TRUE(store_->ReadStaged(key(), *slot.staged, 0, bytes.size()).ok());
  Must(WriteOf({}));
  Must(WriteOf({}));
  Rotate();
  EXPECT_THAT(Files("upload."), IsEmpty());
  EXPECT_EQ(Read({.owners = {"streamed"}}), (Slots{{"streamed", "small"}}));
}

class DamagedSlotRuns : public SlotRuns {
 protected:
  // A run with a slot that a newer one hides, and with one that is nowhere else.
  void SetUp() override {
    SlotRuns::SetUp();
    Must(WriteOf({MakeSlot("hidden", "old"), MakeSlot("alone", "alone")}));
    Rotate();
    run_ = Files("run.").back();
    Must(WriteOf({MakeSlot("hidden", "new"), MakeSlot("other", "other")}));
    Rotate();
    ASSERT_NE(Files("run.").back(), run_);
  }
  void ExpectDamage() {
    EXPECT_TRUE(Is(store_->ReadSlots(key(), {}).status(), Reason::kDamaged));
    EXPECT_EQ(Read({.owners = {"alone", "hidden", "other"}}),
              (Slots{{"alone", "(damaged)"}, {"hidden", "new"}, {"other", "other"}}));
  }
  // Whatever is damaged, the session is opened, written to, rotated and compacted.
  void ExpectService() {
    for (uint64_t round = 0; round < 60; ++round) {
      Must(WriteOf({MakeSlot("more", std::to_string(round))}));
    }
    Sweep();
    Restart();
    EXPECT_TRUE(store_->LoadForDecision(key(), std::nullopt).ok());
    EXPECT_EQ(Read({.owners = {"more"}}), (Slots{{"more", "59"}}));
  }

  std::string run_;
};

TEST_F(DamagedSlotRuns, FailTheReadsThatNeedThem) {
  Flip(run_, 3);
  ExpectDamage();
  Restart();
  ExpectDamage();
  ExpectService();
  ExpectDamage();
  EXPECT_THAT(notes_, Not(IsEmpty()));
  for (const std::string& note : notes_) EXPECT_THAT(note, HasSubstr("is not compacted"));
}

TEST_F(DamagedSlotRuns, AreReplacedByWhatIsWrittenSince) {
  Flip(run_, 3);
  Must(WriteOf({MakeSlot("alone", "again")}));
  EXPECT_EQ(Read({.owners = {"alone"}}), (Slots{{"alone", "again"}}));
  Rotate();
  EXPECT_EQ(Read({.owners = {"alone"}}), (Slots{{"alone", "again"}}));
  Restart();
  EXPECT_EQ(Read({.owners = {"alone"}}), (Slots{{"alone", "again"}}));
}

TEST_F(DamagedSlotRuns, WithADamagedDirectoryOrWithoutAFileAreTheSame) {
  const std::string whole = disk_.Read(PathOf(run_));
  Flip(run_, whole.size() - 2);
  Restart();
  EXPECT_TRUE(Is(store_->ReadSlots(key(), {}).status(), Reason::kDamaged));
  ExpectService();
  ASSERT_TRUE(disk_.Open()->RemoveFile(PathOf(run_)).ok());
  Restart();
  EXPECT_TRUE(Is(store_->ReadSlots(key(), {}).status(), Reason::kDamaged));
  ExpectService();
}

// Every byte of a run: an answer is the right one, or says that it is damaged.
TEST_F(DamagedSlotRuns, AreNeverAWrongAnswer) {
  const std::string whole = disk_.Read(PathOf(run_));
  const Slots right = Read({.owners = {"alone", "hidden", "other", "absent"}});
  for (size_t at = 0; at < whole.size(); ++at) {
    Flip(run_, at);
    Restart();
    for (const auto& [owner, data] : Read({.owners = {"alone", "hidden", "other", "absent"}})) {
      const auto expected = right.find(owner);
      const bool is_right = expected != right.end() && data == expected->second;
      EXPECT_TRUE(is_right || data == "(damaged)") << at << ": " << owner << " is " << data;
    }
    EXPECT_TRUE(Is(store_->ReadSlots(key(), {}).status(), Reason::kDamaged)) << at;
    disk_.Write(PathOf(run_), whole);
  }
  Restart();
  EXPECT_EQ(Read({.owners = {"alone", "hidden", "other", "absent"}}), right);
}

}  // namespace
}  // namespace holdfast::test

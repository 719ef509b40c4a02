// The slot versions of a session against a list of all of them: what is read at each position that
// is kept, the live bytes of sealed logs, uploads, and the number of slots.
#include "store-fs/slot_versions.h"

#include "session/checkpoint.h"
#include "session/kept.h"
#include "store-fs/pins.h"
#include "store-fs/run_merge.h"
#include "store-fs/slot_lookup.h"
#include "tests/support/index_disk.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

constexpr uint64_t kSlotSeeds = 25;
constexpr int kSlotSteps = 300;
constexpr uint64_t kOwners = 24;
constexpr uint64_t kUploads = 5;
constexpr size_t kSnapshots = 4;

// A version with its end, as a list would hold it.
struct ListedVersion {
  fs::SlotVersion version;
  Position from;
  std::optional<Position> until;
};

UploadId Upload(uint64_t number) {
  return *UploadId::Parse("11111111-2222-4333-8444-55555555555" + std::to_string(number));
}

class ModelledSlots {
 public:
  explicit ModelledSlots(uint64_t seed) : numbers_(seed) { TakeSnapshot(); }

  void Step() {
    const uint64_t step = Below(100);
    if (step < 50) return Change();
    if (step < 65) return TakeSnapshot();
    if (step < 80) return Rotate();
    if (step < 85) return Merge();
    if (step < 88) return Pin();
    if (step < 91) return Unpin();
    Compare();
  }

  void Rotate() {
    slots_.Seal(++file_);
    for (ListedVersion& listed : list_) {
      if (listed.version.where.file == 0) listed.version.where.file = file_;
    }
    ASSERT_TRUE(slots_.Settle(disk_.where(), head_, pins_).ok());
    // What is counted once a rotation has settled it is exact.
    EXPECT_EQ(slots_.at_most(), Current().size());
    CompareUploads();
    CompareLiveBytes();
    if (Below(3) > 0) {
      ASSERT_TRUE(slots_.WriteRun(disk_.where(), file_, head_, pins_).ok());
      CompareUploads();
      CompareLiveBytes();
    }
    Reopen();  // nothing has changed since
  }

  void Compare() {
    const fs::IndexView view = slots_.ViewOf({});
    for (const SnapshotRecord& snapshot : head_.snapshots) CompareAt(view, snapshot.at);
    for (const Revision pinned : pinned_) {
      CompareAt(view, {.revision = pinned,
                       .journal = JournalNumber(std::numeric_limits<uint64_t>::max())});
    }
    CompareAt(view, PositionOf(head_));
    const auto count = slots_.Count(disk_.where());
    ASSERT_TRUE(count.ok()) << count.status();
    EXPECT_EQ(*count, Current().size());
    EXPECT_GE(slots_.at_most(), Current().size());
    for (uint64_t number = 0; number < kOwners; ++number) {
      const std::string owner = Owner(number);
      const auto has = slots_.Has(disk_.where(), owner);
      ASSERT_TRUE(has.ok()) << has.status();
      EXPECT_EQ(*has, owner == kStoreSlotOwner ? *has : Current().contains(owner)) << owner;
    }
  }

 private:
  uint64_t Below(uint64_t end) { return numbers_() % end; }
  static std::string Owner(uint64_t number) {
    return number == 0 ? kStoreSlotOwner : "owner " + std::to_string(number);
  }

  // Several slots at one position; now and then one of them twice.
  void Change() {
    if (Below(2) == 0) head_.revision = head_.revision.Next();
    head_.journal = JournalNumber(head_.journal.value() + 1);
    const Position now = PositionOf(head_);
    for (uint64_t left = 1 + Below(5); left > 0; --left) {
      const std::string owner = Owner(Below(kOwners));
      if (Below(3) == 0) {
        slots_.Delete(owner, now);
        End(owner, now);
      } else {
        Put(owner, now);
      }
    }
    Prune();
  }

  void Put(const std::string& owner, Position now) {
    fs::SlotVersion version;
    version.meta.owner = owner;
    version.meta.version = "1.0." + std::to_string(++puts_);
    version.meta.revision = now.revision;
    version.size = puts_;
    version.where = {.file = 0, .offset = puts_, .size = 10 + Below(100), .crc = 7};
    if (Below(4) == 0) {
      version.meta.staged = StagedBytes{.upload = Upload(Below(kUploads)), .size = puts_};
    }
    slots_.Put(version, now);
    End(owner, now);
    list_.push_back({.version = version, .from = now, .until = std::nullopt});
  }

  void End(const std::string& owner, Position at) {
    std::erase_if(list_, [&](const ListedVersion& listed) {
      return listed.version.meta.owner == owner && listed.from == at;
    });
    for (ListedVersion& listed : list_) {
      if (listed.version.meta.owner == owner && !listed.until) listed.until = at;
    }
  }

  void TakeSnapshot() {
    head_.revision = head_.revision.Next();
    head_.snapshots.push_back(
        {.at = PositionOf(head_), .generation = Generation(), .messages = MessageSeq()});
    if (head_.snapshots.size() > kSnapshots) head_.snapshots.erase(head_.snapshots.begin());
    Prune();
  }

  void Prune() {
    const Position oldest = OldestKept(head_);
    slots_.Prune(oldest, pins_);
    PruneList(oldest);
  }

  void PruneList(Position oldest) {
    std::erase_if(list_, [&](const ListedVersion& listed) {
      const auto shows = [&](Revision pinned) {
        return listed.from.revision <= pinned && pinned < listed.until->revision;
      };
      return listed.until && *listed.until <= oldest && std::ranges::none_of(pinned_, shows);
    });
  }

  void Pin() {
    const SnapshotRecord& record = head_.snapshots[Below(head_.snapshots.size())];
    Checkpoint checkpoint;
    checkpoint.kind = static_cast<CheckpointKind>(1 + Below(kCheckpointKinds));
    checkpoint.snapshot.record = record;
    const Item item = EncodeCheckpoint(checkpoint);
    pins_.Put(item.name, item.data);
    pinned_.insert(record.at.revision);
  }

  void Unpin() {
    if (pinned_.empty()) return;
    const auto which = std::next(pinned_.begin(), static_cast<ptrdiff_t>(Below(pinned_.size())));
    bool has_unpinned = false;
    for (uint64_t kind = 1; kind <= kCheckpointKinds; ++kind) {
      const ItemName name = CheckpointItemName(static_cast<CheckpointKind>(kind), *which);
      has_unpinned = pins_.Delete(name) || has_unpinned;
    }
    EXPECT_TRUE(has_unpinned);
    pinned_.erase(which);
    slots_.Unpin(OldestKept(head_), pins_);
    PruneList(OldestKept(head_));
  }

  // Any adjacent runs, as merges by size choose them.
  void Merge() {
    const fs::Runs runs = slots_.runs();
    if (runs.empty()) return;
    const size_t first = Below(runs.size());
    const size_t count = 1 + Below(runs.size() - first);
    const fs::Runs part(runs.begin() + static_cast<ptrdiff_t>(first),
                        runs.begin() + static_cast<ptrdiff_t>(first + count));
    std::set<uint64_t> files;
    for (const auto& run : part) files.insert(run->info().file);
    const fs::KeptSlots kept{
        .oldest = OldestKept(head_), .pins = pins_, .is_whole = part.size() == runs.size()};
    const std::string path = disk_.PathOf(++file_);
    const auto merged =
        fs::MergeRuns(disk_.where(), part, {.path = path, .suffix = fs::kSlotKeySuffix},
                      [&](const fs::IndexEntry& entry, const fs::IndexEntry* next) {
                        return kept.Contain(entry, next);
                      });
    ASSERT_TRUE(merged.ok()) << merged.status();
    std::optional<fs::RunInfo> info = *merged;
    if (info) info->file = file_;
    slots_.ReplaceRuns(files, info);
  }

  // A head file is written when all is settled.
  void Reopen() {
    Encoder out;
    slots_.Put(out);
    Decoder in(out.bytes());
    fs::SlotVersions read = fs::SlotVersions::Read(in);
    ASSERT_TRUE(in.Done());
    Encoder again;
    read.Put(again);
    EXPECT_EQ(again.bytes(), out.bytes());
    slots_ = std::move(read);
  }

  void CompareAt(const fs::IndexView& view, Position at) {
    std::map<std::string, std::string> expected;
    for (const ListedVersion& listed : list_) {
      if (listed.from > at || (listed.until && *listed.until <= at)) continue;
      expected[listed.version.meta.owner] = WordsOf(listed.version);
    }
    const auto found = fs::SlotsAt(disk_.where(), view, at);
    ASSERT_TRUE(found.ok()) << found.status();
    std::map<std::string, std::string> all;
    for (const fs::SlotVersion& version : *found) all[version.meta.owner] = WordsOf(version);
    EXPECT_EQ(all, expected);
    for (uint64_t number = 0; number < kOwners; ++number) {
      const std::string owner = Owner(number);
      const fs::IndexView one = slots_.ViewOf({owner});
      const auto entry = fs::FindSlot(disk_.where(), one, fs::SlotKey(owner, at));
      ASSERT_TRUE(entry.ok()) << entry.status();
      const bool has = *entry && (*entry)->version;
      ASSERT_EQ(has, expected.contains(owner)) << owner;
      if (has) {
        EXPECT_EQ(WordsOf(*(*entry)->version), expected[owner]);
      }
    }
  }

  void CompareUploads() {
    for (uint64_t number = 0; number < kUploads; ++number) {
      const bool is_named = std::ranges::any_of(list_, [&](const ListedVersion& listed) {
        return listed.version.meta.staged && listed.version.meta.staged->upload == Upload(number);
      });
      EXPECT_EQ(slots_.Names(Upload(number)), is_named) << number;
    }
  }

  void CompareLiveBytes() {
    std::map<uint64_t, uint64_t> expected;
    for (const ListedVersion& listed : list_)
      expected[listed.version.where.file] += listed.version.where.size;
    std::map<uint64_t, uint64_t> live;
    slots_.AddLiveBytes(live);
    EXPECT_EQ(live, expected);
  }

  // The owners that have a slot, but for the store's own.
  std::set<std::string> Current() {
    std::set<std::string> owners;
    for (const ListedVersion& listed : list_) {
      if (!listed.until) owners.insert(listed.version.meta.owner);
    }
    owners.erase(kStoreSlotOwner);
    return owners;
  }

  static std::string WordsOf(const fs::SlotVersion& version) {
    return version.meta.owner + " " + version.meta.version + " in " +
           std::to_string(version.where.file) + " at " + std::to_string(version.where.offset) +
           (version.meta.staged ? " of " + version.meta.staged->upload.value() : "");
  }

  std::mt19937_64 numbers_;
  IndexDisk disk_;
  Head head_;
  fs::SlotVersions slots_;
  fs::Pins pins_;
  std::set<Revision> pinned_;  // what `pins_` should have
  std::vector<ListedVersion> list_;
  uint64_t file_ = 0;
  uint64_t puts_ = 0;
};

TEST(SlotVersions, EqualAListOfAllVersions) {
  for (uint64_t seed = 1; seed <= kSlotSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    ModelledSlots slots(seed);
    for (int step = 0; step < kSlotSteps; ++step) {
      slots.Step();
      if (::testing::Test::HasFailure()) return;
    }
    slots.Rotate();
    slots.Compare();
  }
}

}  // namespace
}  // namespace holdfast::test

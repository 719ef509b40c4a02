// Files that were cut or changed: recovered, or refused as damage, and never wrong.
#include "session/refusal.h"
#include "store-fs/frame.h"
#include "store-fs/fs_store.h"
#include "store-fs/recovery.h"
#include "tests/faults/workload.h"
#include "tests/support/fake_clock.h"
#include "tests/support/memory_files.h"
#include "tests/support/seeded_random.h"
#include "tests/support/temp_dir.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace holdfast::test {
namespace {

constexpr PageLimit kAllItems{.items = 1000, .bytes = size_t{1} << 24};

// A session of three snapshots on a disk in memory, and what a reader found of it at each revision.
class Damage : public ::testing::Test {
 protected:
  void Fill(size_t rotate_changes) {
    rotate_changes_ = rotate_changes;
    const auto store = Open();
    ASSERT_TRUE(store->Init().ok());
    Changes changes(key_, random_);
    LeaseToken token = Take(*store, changes.Create());
    for (int turn = 1; turn <= 3; ++turn) {
      const TurnNumber number = Begin(*store, changes.Begin(token));
      Change commit = changes.CommitTurn(token, number);
      commit.messages = {Text("message " + std::to_string(turn))};
      commit.slots = {MakeSlot("memory", std::to_string(turn))};
      Take(*store, commit);
    }
    store->Dispose();
  }

  std::unique_ptr<SessionStore> Open() {
    fs::FsOptions options;
    options.root = root_ / "root";
    options.rotate_changes = rotate_changes_;
    options.report_cut_tail = [this](const fs::CutTail& tail) { tails_.push_back(tail); };
    options.wrap_files = OnDisk(disk_);
    return fs::MakeFsStore(std::move(options), clock_, random_);
  }

  // What a freshly opened store says of the session: the reason of its refusal, or what it found.
  std::string Look() {
    const auto store = Open();
    const absl::Status opened = store->Init();
    if (!opened.ok()) return std::string(opened.message());
    const auto found = Find(*store, key_);
    store->Dispose();
    if (!found.ok()) return std::string(RowOf(RefusalOf(found.status()).reason()).name);
    return Words(*found);
  }

  // Changes the file by `change` at every offset, looks, and restores it.
  void AtEveryOffset(const std::string& path, const std::set<std::string>& allowed,
                     const std::function<std::string(std::string, size_t)>& change) {
    const std::string whole = disk_.Read(path);
    ASSERT_FALSE(whole.empty());
    // Behind the last frame there are only zeros: a few represent all of them.
    const size_t used = whole.find_last_not_of('\0') + 1;
    const size_t end = std::min(whole.size(), used + 130);
    for (size_t at = 0; at < end && !HasFailure(); ++at) {
      disk_.Write(path, change(whole, at));
      const std::string said = Look();
      EXPECT_TRUE(allowed.contains(said)) << path << " at " << at << ": " << said;
      disk_.Write(path, whole);
    }
  }

  LeaseToken Take(SessionStore& store, const Change& change) {
    const auto result = store.Commit(change);
    EXPECT_TRUE(result.ok() && result->refusal.ok());
    return LeaseToken::Parse(result->receipt.token).value_or(LeaseToken());
  }
  TurnNumber Begin(SessionStore& store, const Change& change) {
    return store.Commit(change)->receipt.turn;
  }
  [[nodiscard]] std::string PathOf(const std::string& name) const {
    return fs::DirectoryOf(key_) + "/" + name;
  }
  [[nodiscard]] std::set<std::string> Refused() const { return {"DAMAGED", "MANIFEST_DRIFT"}; }
  // Whole, or refused: nothing that was acknowledged may silently be missing.
  std::set<std::string> WholeOrRefused() {
    std::set<std::string> allowed = Refused();
    allowed.insert(Look());
    return allowed;
  }

  const SessionKey key_ = Key("alpha");
  TempDir root_;
  FakeClock clock_;
  SeededRandom random_;
  MemoryDisk disk_;
  size_t rotate_changes_ = 64;
  std::vector<fs::CutTail> tails_;  // that were reported
};

std::string Cut(std::string bytes, size_t at) { return bytes.substr(0, at); }

std::string Flip(std::string bytes, size_t at) {
  bytes[at] = static_cast<char>(bytes[at] ^ 0x10);
  return bytes;
}

TEST_F(Damage, AJournalCutAnywhereIsWholeOrRefused) {
  Fill(64);
  AtEveryOffset(PathOf("journal.log"), WholeOrRefused(), Cut);
}

// The beginning of a frame behind the last one: a write that was never finished.
TEST_F(Damage, AnUnfinishedWriteIsCutCountedAndReported) {
  Fill(64);
  const std::string whole = Look();
  EXPECT_TRUE(tails_.empty());
  std::string journal = disk_.Read(PathOf("journal.log"));
  size_t end = 0;
  while (journal.compare(end, 4, "HLFJ") == 0) {
    uint32_t length = 0;
    std::memcpy(&length, journal.data() + end + 8, sizeof length);
    end +=
        (fs::kFrameHeader + length + 4 + fs::kFrameAlign - 1) / fs::kFrameAlign * fs::kFrameAlign;
  }
  journal.replace(end, fs::kFrameHeader, journal, 2 * fs::kFrameAlign, fs::kFrameHeader);
  journal.resize(end + fs::kFrameHeader);
  disk_.Write(PathOf("journal.log"), journal);
  EXPECT_EQ(Look(), whole);
  ASSERT_EQ(tails_.size(), 1U);
  EXPECT_EQ(tails_[0].file, PathOf("journal.log"));
  EXPECT_GT(tails_[0].bytes, 0U);
  EXPECT_LE(tails_[0].bytes, fs::kFrameHeader);
  EXPECT_EQ(tails_[0].count, 1U);
  EXPECT_EQ(Look(), whole);
  EXPECT_EQ(tails_.size(), 1U) << "it was cut off once";
}

TEST_F(Damage, AJournalWithAByteFlippedIsWholeOrRefused) {
  Fill(64);
  AtEveryOffset(PathOf("journal.log"), WholeOrRefused(), Flip);
}

TEST_F(Damage, AManifestCutOrFlippedAnywhereIsWholeOrRefused) {
  for (const size_t rotate_changes : {size_t{64}, size_t{3}}) {
    Fill(rotate_changes);
    std::set<std::string> allowed = WholeOrRefused();
    allowed.insert("RESUME_MISMATCH");  // a flipped store id is another store's
    AtEveryOffset(PathOf("manifest.json"), allowed, Cut);
    AtEveryOffset(PathOf("manifest.json"), allowed, Flip);
    disk_ = MemoryDisk();
  }
}

TEST_F(Damage, AHeadFileWithAByteFlippedIsRefused) {
  Fill(7);  // one rotation, behind the last change
  AtEveryOffset(PathOf("state/head.1"), Refused(), Flip);
}

TEST_F(Damage, ADamagedMessageFailsItsOwnReadAlone) {
  Fill(7);
  const std::string path = PathOf("state/log.1");
  const std::string bytes = disk_.Read(path);
  disk_.Write(path, Flip(bytes, bytes.find("message 1")));
  const auto store = Open();
  ASSERT_TRUE(store->Init().ok());
  EXPECT_TRUE(store->LoadForDecision(key_, std::nullopt).ok());
  EXPECT_TRUE(Is(store->ReadMessages(key_, std::nullopt, MessageSeq(), kAllItems).status(),
                 Reason::kDamaged));
  const auto rest = store->ReadMessages(key_, std::nullopt, MessageSeq(1), kAllItems);
  ASSERT_TRUE(rest.ok());
  EXPECT_EQ(rest->messages.size(), 2U);
  store->Dispose();
}

TEST_F(Damage, ReadsOtherSlotsWhenOneIsDamaged) {
  Fill(7);
  const std::string path = PathOf("state/log.1");
  const std::string bytes = disk_.Read(path);
  disk_.Write(path, Flip(bytes, bytes.rfind("memory")));
  const auto store = Open();
  ASSERT_TRUE(store->Init().ok());
  const auto slots = store->ReadSlots(key_, {});
  ASSERT_TRUE(slots.ok());
  ASSERT_EQ(slots->slots.size(), 2U);
  EXPECT_FALSE(slots->slots[0].damaged);
  EXPECT_EQ(slots->slots[1].slot.owner, "memory");
  EXPECT_TRUE(slots->slots[1].damaged);
  store->Dispose();
}

}  // namespace
}  // namespace holdfast::test

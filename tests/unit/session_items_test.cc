// The items of a session against a map, through rotations, merges, compactions and restarts: what
// is read in either direction, the live bytes of sealed logs, and what a head file keeps.
#include "store-fs/session_items.h"

#include "store-fs/item_entry.h"
#include "store-fs/layout.h"
#include "store-fs/run_merge.h"
#include "store-fs/run_writer.h"
#include "tests/support/index_disk.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

constexpr uint64_t kItemSeeds = 40;
constexpr int kItemSteps = 300;
constexpr uint64_t kItemNames = 60;
constexpr uint64_t kMovedFar = 1'000'000;

using Model = std::map<std::string, fs::ItemEntry>;  // by key of the index
using ItemWrite = std::function<void(fs::SessionItems& items)>;

ItemName Named(uint64_t number) {
  return {.collection = number % 2 == 0 ? "even" : "odd", .key = std::to_string(number / 2)};
}

fs::ItemEntry ItemAt(uint64_t number, const fs::Extent& data) {
  fs::ItemEntry item;
  item.name = Named(number);
  item.version = ItemVersion(number);
  item.facts = "facts";
  item.data = data;
  return item;
}

// The state that a head file has, and the one that the writes since then have made of it.
class ModelledItems {
 public:
  explicit ModelledItems(uint64_t seed) : numbers_(seed) {}

  void Step() {
    const uint64_t step = Below(100);
    if (step < 45) return Put();
    if (step < 65) return Delete();
    if (step < 76) return Rotate();
    if (step < 82) return Merge();
    if (step < 88) return Compact();
    if (step < 92) return Restart();
    Compare();
  }

  void Rotate() {
    items_.Seal(++file_);
    for (auto& [key, item] : model_) {
      for (fs::Extent* place : {&item.data, &item.facts_at}) {
        if (place->size > 0 && place->file == 0) place->file = file_;
      }
    }
    ASSERT_TRUE(items_.Settle(disk_.where()).ok());
    CompareLiveBytes();
    if (Below(3) > 0) {
      ASSERT_TRUE(items_.WriteRun(disk_.where(), file_).ok());
      CompareLiveBytes();
    }
    head_ = items_;
    head_model_ = model_;
    since_.clear();
    Restart();
  }

  void Compare() {
    const fs::RunFiles where = disk_.where();
    std::vector<fs::IndexEntry> expected;
    for (const auto& [key, item] : model_) expected.push_back(fs::EncodeItemEntry(item));
    for (const fs::Direction direction : {fs::Direction::kAscending, fs::Direction::kDescending}) {
      fs::IndexCursor cursor(where, {&items_.newer()}, items_.runs(), {.direction = direction});
      const auto found = EntriesLeft(cursor);
      ASSERT_TRUE(found.ok()) << found.status();
      EXPECT_TRUE(*found == expected);
      std::ranges::reverse(expected);
    }
    const fs::IndexView view{.newer = items_.newer().EntriesIn({}), .runs = items_.runs()};
    for (uint64_t number = 0; number < kItemNames; ++number) {
      const std::string key = fs::ItemKey(Named(number));
      const auto found = fs::FindEntry(where, view, key);
      ASSERT_TRUE(found.ok()) << found.status();
      const auto item = model_.find(key);
      ASSERT_EQ(found->has_value(), item != model_.end()) << key;
      if (*found) {
        EXPECT_EQ(**found, fs::EncodeItemEntry(item->second));
      }
    }
    EXPECT_EQ(items_.totals().items, model_.size());
  }

 private:
  uint64_t Below(uint64_t end) { return numbers_() % end; }

  void Write(const ItemWrite& write) {
    const ItemWrite whole = [write, totals = ItemTotals{.items = model_.size(), .bytes = puts_}](
                                fs::SessionItems& items) {
      write(items);
      items.SetTotals(totals);
    };
    whole(items_);
    since_.push_back(whole);
  }

  fs::Extent AnyPlace() {
    const uint64_t size = Below(4) == 0 ? 0 : 1 + Below(100);
    places_ += 100;
    return size == 0 ? fs::Extent()
                     : fs::Extent{.file = 0, .offset = places_, .size = size, .crc = 7};
  }

  void Put() {
    fs::ItemEntry item;
    item.name = Named(Below(kItemNames));
    item.version = ItemVersion(++puts_);
    item.bytes = 10 + Below(100);
    item.data = AnyPlace();
    item.facts_at = AnyPlace();
    if (item.facts_at.size == 0) item.facts = std::string(Below(200), 'f');
    model_[fs::ItemKey(item.name)] = item;
    Write([item](fs::SessionItems& items) { items.Put(item); });
  }

  void Delete() {
    const ItemName name = Named(Below(kItemNames));
    model_.erase(fs::ItemKey(name));
    Write([name](fs::SessionItems& items) { items.Delete(name); });
  }

  std::string PathOf(uint64_t file) {
    return fs::PathOf(disk_.where().key, fs::FileKind::kItemsRun, file);
  }

  // Any adjacent runs, as merges by size choose them.
  void Merge() {
    const fs::Runs runs = head_.runs();
    if (runs.empty()) return;
    const size_t first = Below(runs.size());
    const size_t count = 1 + Below(runs.size() - first);
    const fs::Runs part(runs.begin() + static_cast<ptrdiff_t>(first),
                        runs.begin() + static_cast<ptrdiff_t>(first + count));
    std::set<uint64_t> files;
    for (const auto& run : part) files.insert(run->info().file);
    const std::string path = PathOf(++file_);
    const auto merged = fs::MergeRuns(disk_.where(), part, {.path = path},
                                      [&](const fs::IndexEntry& entry, const fs::IndexEntry*) {
                                        return fs::IsItemKept(entry, first == 0);
                                      });
    ASSERT_TRUE(merged.ok()) << merged.status();
    std::optional<fs::RunInfo> info = *merged;
    if (info) info->file = file_;
    head_.ReplaceRuns(files, info);
    items_.ReplaceRuns(files, info);
  }

  // Gives what lies in some sealed logs places in another one, of all that the head file knows.
  void Compact() {
    std::set<uint64_t> sources;
    for (uint64_t file = 1; file <= file_; ++file) {
      if (Below(3) == 0) sources.insert(file);
    }
    const uint64_t target = ++file_;
    const auto moved_place = [&](const fs::Extent& from) -> std::optional<fs::Extent> {
      if (from.size == 0 || !sources.contains(from.file)) return std::nullopt;
      fs::Extent to = from;
      to.file = target;
      to.offset += kMovedFar;
      return to;
    };
    const auto move = [&](fs::ItemEntry& item) {
      bool has_moved = false;
      for (fs::Extent* place : {&item.data, &item.facts_at}) {
        const auto to = moved_place(*place);
        if (to) *place = *to;
        has_moved = has_moved || to;
      }
      return has_moved;
    };
    std::vector<fs::IndexEntry> moved;
    for (auto& [key, item] : head_model_) {
      const bool is_of_run = move(item) && head_.newer().Find(key) == nullptr;
      if (is_of_run) moved.push_back(fs::EncodeItemEntry(item));
    }
    for (auto& [key, item] : model_) move(item);
    std::optional<fs::RunInfo> info;
    if (!moved.empty()) {
      auto writer = fs::RunWriter::Create(disk_.where().files, PathOf(target), 0);
      ASSERT_TRUE(writer.ok());
      for (const fs::IndexEntry& entry : moved) ASSERT_TRUE(writer->Add(entry).ok());
      info = writer->Finish().value();
      info->file = target;
    }
    for (fs::SessionItems* items : {&head_, &items_}) {
      items->Move(moved_place);
      items->MoveLogs(sources, target);
      if (info) items->AddRun(*info);
    }
    const fs::SessionItems now = std::exchange(items_, head_);
    const Model model = std::exchange(model_, head_model_);
    CompareLiveBytes();
    items_ = now;
    model_ = model;
  }

  // The head file is read, and the journal applied to it.
  void Restart() {
    Encoder out;
    head_.Put(out);
    Decoder in(out.bytes());
    fs::SessionItems read = fs::SessionItems::Read(in);
    ASSERT_TRUE(in.Done());
    Encoder again;
    read.Put(again);
    EXPECT_EQ(again.bytes(), out.bytes());
    items_ = std::move(read);
    for (const ItemWrite& write : since_) write(items_);
  }

  // Of what was settled: without what the journal has.
  void CompareLiveBytes() {
    std::map<uint64_t, uint64_t> expected;
    for (const auto& [key, item] : model_) {
      for (const fs::Extent& place : {item.data, item.facts_at}) {
        if (place.size > 0) expected[place.file] += place.size;
      }
    }
    std::map<uint64_t, uint64_t> live;
    items_.AddLiveBytes(live);
    EXPECT_EQ(live, expected);
  }

  std::mt19937_64 numbers_;
  IndexDisk disk_;
  fs::SessionItems head_;
  Model head_model_;
  fs::SessionItems items_;
  Model model_;
  std::vector<ItemWrite> since_;  // the head file
  uint64_t file_ = 0;
  uint64_t puts_ = 0;
  uint64_t places_ = 0;
};

TEST(SessionItems, EqualAMap) {
  for (uint64_t seed = 1; seed <= kItemSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    ModelledItems items(seed);
    for (int step = 0; step < kItemSteps; ++step) {
      items.Step();
      if (::testing::Test::HasFailure()) return;
    }
    items.Rotate();
    items.Compare();
  }
}

TEST(SessionItems, OfASessionWithoutAnyTakeAByte) {
  Encoder out;
  fs::SessionItems().Put(out);
  EXPECT_EQ(out.bytes(), std::string(1, '\0'));
}

// Without runs a deletion hides nothing, and is not kept.
TEST(SessionItems, KeepNoDeletionThatHidesNothing) {
  fs::SessionItems items;
  items.Put(ItemAt(1, {}));
  items.Delete(Named(1));
  items.Delete(Named(2));
  EXPECT_TRUE(items.newer().entries().empty());
}

// What a run that cannot be read had of an item counts as there, so that no log goes too early.
TEST(SessionItems, CountWhatCannotBeReadAsThere) {
  IndexDisk disk;
  const fs::RunFiles where = disk.where();
  fs::SessionItems items;
  items.Put(ItemAt(1, {.file = 0, .offset = 10, .size = 30, .crc = 7}));
  items.Seal(1);
  ASSERT_TRUE(items.Settle(where).ok());
  ASSERT_TRUE(items.WriteRun(where, 1).ok());
  ASSERT_EQ(items.BytesInRuns(1), 30U);
  ASSERT_TRUE(where.files.RemoveFile(fs::PathOf(where.key, fs::FileKind::kItemsRun, 1)).ok());
  items.Delete(Named(1));
  items.Seal(2);
  EXPECT_TRUE(items.Settle(where).ok());
  EXPECT_EQ(items.BytesInRuns(1), 30U);
}

// A head file that was changed is refused, or read as something else; never with a crash.
TEST(SessionItems, AreReadFromAnyBytes) {
  fs::SessionItems items;
  for (uint64_t number = 0; number < 5; ++number) {
    items.Put(ItemAt(number, {.file = 1, .offset = 10 * number, .size = 10, .crc = 7}));
  }
  items.SetTotals({.items = 5, .bytes = 50});
  Encoder out;
  items.Put(out);
  for (size_t at = 0; at < out.bytes().size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string bytes(out.bytes());
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << bit));
      Decoder in(bytes);
      const fs::SessionItems read = fs::SessionItems::Read(in);
      EXPECT_LE(read.newer().entries().size(), 5U);
    }
  }
}

}  // namespace
}  // namespace holdfast::test

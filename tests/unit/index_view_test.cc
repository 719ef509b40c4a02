// The sorted index as a whole against a map: newer entries over runs over older runs, deletions,
// merges, in any order.
#include "store-fs/index_view.h"

#include "store-fs/index_layer.h"
#include "store-fs/run_merge.h"
#include "tests/support/index_disk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

using ::testing::Le;

constexpr uint64_t kIndexSeeds = 30;
constexpr int kIndexSteps = 400;
constexpr uint64_t kIndexKeys = 300;

// An index and the map that it must equal.
class ModelledIndex {
 public:
  explicit ModelledIndex(uint64_t seed) : numbers_(seed) {}

  void Step() {
    const uint64_t step = Below(100);
    if (step < 45) return Put();
    if (step < 65) return Delete();
    if (step < 72) return Flush();
    if (step < 76) return Merge();
    if (step < 90) return CompareOne();
    CompareRange();
  }

 private:
  uint64_t Below(uint64_t end) { return numbers_() % end; }
  std::string AnyKey() { return "key " + std::to_string(Below(kIndexKeys)); }

  void Put() {
    const std::string key = AnyKey();
    const std::string value = "value " + std::to_string(++puts_) + std::string(Below(500), 'v');
    layer_.Put({.key = key, .value = value});
    model_[key] = value;
  }

  void Delete() {
    const std::string key = AnyKey();
    layer_.Put({.key = key, .value = std::nullopt});
    model_.erase(key);
  }

  // What a rotation does.
  void Flush() {
    if (layer_.entries().empty()) return;
    runs_.push_back(disk_.Write(++file_, layer_.EntriesIn({})));
    layer_.Clear();
  }

  // A merge that is due, or any other one of adjacent runs, which must change nothing either.
  void Merge() {
    std::vector<fs::RunSize> sizes;
    for (const auto& run : runs_) sizes.push_back({.bytes = run->info().bytes()});
    fs::RunRange chosen = fs::ChooseRuns(sizes);
    if (chosen.count == 0 && !runs_.empty()) {
      chosen.first = Below(runs_.size());
      chosen.count = 1 + Below(runs_.size() - chosen.first);
    }
    if (chosen.count == 0) return;
    const auto begin = runs_.begin() + static_cast<ptrdiff_t>(chosen.first);
    const auto end = begin + static_cast<ptrdiff_t>(chosen.count);
    const bool whole = chosen.first == 0;
    const auto keep = [&](const fs::IndexEntry& entry, const fs::IndexEntry*) {
      return entry.value.has_value() || !whole;
    };
    const std::string path = disk_.PathOf(++file_);
    const auto merged = fs::MergeRuns(disk_.where(), {begin, end}, {.path = path}, keep);
    ASSERT_TRUE(merged.ok()) << merged.status();
    runs_.erase(begin, end);
    if (!*merged) return;
    fs::RunInfo info = **merged;
    info.file = file_;
    runs_.insert(runs_.begin() + static_cast<ptrdiff_t>(chosen.first),
                 std::make_shared<const fs::SortedRun>(info));
  }

  void CompareOne() {
    const std::string key = AnyKey();
    const fs::IndexView view = ViewOf({.from = key, .to = key + '\0'});
    const auto found = fs::FindEntry(disk_.where(), view, key);
    ASSERT_TRUE(found.ok()) << found.status();
    const auto expected = model_.find(key);
    ASSERT_EQ(found->has_value(), expected != model_.end()) << key;
    if (*found) {
      EXPECT_EQ((*found)->value, expected->second) << key;
    }
  }

  void CompareRange() {
    fs::KeyRange range{.from = AnyKey(), .to = AnyKey()};
    if (Below(4) == 0) range.to.clear();
    if (Below(4) == 0) range.from.clear();
    std::vector<fs::IndexEntry> expected;
    for (auto at = model_.lower_bound(range.from); at != model_.end(); ++at) {
      if (range.EndsBefore(at->first)) break;
      expected.push_back({.key = at->first, .value = at->second});
    }
    CompareRange(range, fs::Direction::kAscending, expected);
    std::ranges::reverse(expected);
    CompareRange(range, fs::Direction::kDescending, expected);
  }

  // Of a copy of the newer entries, and of these themselves.
  void CompareRange(const fs::KeyRange& range, fs::Direction direction,
                    const std::vector<fs::IndexEntry>& expected) {
    const std::string what = range.from + " to " + range.to;
    const auto found = EntriesIn(disk_.where(), ViewOf(range), range, direction);
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_TRUE(*found == expected) << what;
    const fs::RunFiles where = disk_.where();
    fs::IndexCursor cursor(where, {&layer_}, runs_, {.range = range, .direction = direction});
    const auto again = EntriesLeft(cursor);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_TRUE(*again == expected) << what;
  }

  fs::IndexView ViewOf(const fs::KeyRange& range) {
    return {.newer = layer_.EntriesIn(range), .runs = runs_};
  }

  std::mt19937_64 numbers_;
  IndexDisk disk_;
  fs::IndexLayer layer_;
  fs::Runs runs_;
  uint64_t file_ = 0;
  uint64_t puts_ = 0;
  std::map<std::string, std::string> model_;
};

TEST(IndexView, EqualsAMap) {
  for (uint64_t seed = 1; seed <= kIndexSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    ModelledIndex index(seed);
    for (int step = 0; step < kIndexSteps; ++step) index.Step();
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(IndexView, TheNewestEntryOfAKeyCounts) {
  IndexDisk disk;
  const fs::Runs runs = {disk.Write(1, {{.key = "a", .value = "1"}, {.key = "b", .value = "1"}}),
                         disk.Write(2, {{.key = "a", .value = "2"}, {.key = "c", .value = "2"}}),
                         disk.Write(3, {{.key = "b", .value = std::nullopt}})};
  const fs::IndexView view{.newer = {{.key = "c", .value = "3"}}, .runs = runs};
  const auto all = EntriesIn(disk.where(), view, {});
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_EQ(*all,
            (std::vector<fs::IndexEntry>{{.key = "a", .value = "2"}, {.key = "c", .value = "3"}}));
  EXPECT_EQ(fs::FindEntry(disk.where(), view, "a").value()->value, "2");
  EXPECT_EQ(fs::FindEntry(disk.where(), view, "b").value(), std::nullopt);
  EXPECT_EQ(fs::FindEntry(disk.where(), view, "c").value()->value, "3");
}

TEST(IndexView, OfLayersTheFirstOneCounts) {
  IndexDisk disk;
  const fs::RunFiles where = disk.where();
  const fs::Runs runs = {disk.Write(1, {{.key = "a", .value = "1"}, {.key = "b", .value = "1"}})};
  fs::IndexLayer upper;
  upper.Put({.key = "b", .value = std::nullopt});
  upper.Put({.key = "c", .value = "3"});
  upper.Put({.key = "d", .value = std::nullopt});
  fs::IndexLayer lower;
  lower.Put({.key = "b", .value = "2"});
  lower.Put({.key = "c", .value = "2"});
  lower.Put({.key = "d", .value = "2"});
  lower.Put({.key = "e", .value = "2"});
  std::vector<fs::IndexEntry> expected = {
      {.key = "a", .value = "1"}, {.key = "c", .value = "3"}, {.key = "e", .value = "2"}};
  fs::IndexCursor ascending(where, {&upper, &lower}, runs, {});
  EXPECT_EQ(EntriesLeft(ascending).value(), expected);
  std::ranges::reverse(expected);
  fs::IndexCursor descending(where, {&upper, &lower}, runs,
                             {.direction = fs::Direction::kDescending});
  EXPECT_EQ(EntriesLeft(descending).value(), expected);
  fs::IndexCursor shown(where, {&upper, &lower}, runs,
                        {.range = {.from = "b", .to = "c"}, .deleted = fs::Deleted::kShow});
  EXPECT_EQ(EntriesLeft(shown).value(),
            (std::vector<fs::IndexEntry>{{.key = "b", .value = std::nullopt}}));
}

// What lies above is answered whatever is damaged below; what does not is not answered wrongly.
TEST(IndexView, ADamagedRunFailsTheReadsThatNeedIt) {
  IndexDisk disk;
  const fs::Runs runs = {disk.Write(1, {{.key = "a", .value = "1"}, {.key = "b", .value = "1"}}),
                         disk.Write(2, {{.key = "a", .value = "2"}, {.key = "m", .value = "2"}}),
                         disk.Write(3, {{.key = "a", .value = "3"}})};
  std::string bytes = disk.disk().Read(disk.PathOf(2));
  bytes[1] = static_cast<char>(bytes[1] ^ 0x10);
  disk.disk().Write(disk.PathOf(2), bytes);
  const fs::IndexView view{.newer = {}, .runs = runs};
  EXPECT_EQ(fs::FindEntry(disk.where(), view, "a").value()->value, "3");
  EXPECT_TRUE(absl::IsDataLoss(fs::FindEntry(disk.where(), view, "m").status()));
  EXPECT_TRUE(absl::IsDataLoss(EntriesIn(disk.where(), view, {}).status()));
}

class RunChoice : public ::testing::Test {
 protected:
  static fs::RunRange Choose(const std::vector<uint64_t>& bytes,
                             const std::vector<size_t>& damaged = {}) {
    std::vector<fs::RunSize> runs;
    for (const uint64_t size : bytes) runs.push_back({.bytes = size});
    for (const size_t at : damaged) runs[at].readable = false;
    return fs::ChooseRuns(runs);
  }
};

TEST_F(RunChoice, IsEightOfLikeSize) {
  EXPECT_EQ(Choose({}).count, 0U);
  EXPECT_EQ(Choose(std::vector<uint64_t>(7, 10)).count, 0U);
  EXPECT_EQ(Choose(std::vector<uint64_t>(8, 10)), (fs::RunRange{.first = 0, .count = 8}));
  EXPECT_EQ(Choose({900, 10, 10, 10, 10, 10, 10, 10, 10}), (fs::RunRange{.first = 1, .count = 8}));
  EXPECT_EQ(Choose({10, 10, 10, 10, 10, 10, 10, 40}), (fs::RunRange{.first = 0, .count = 8}));
  EXPECT_EQ(Choose({900, 900, 900, 900, 10, 10, 10, 10}).count, 0U);
}

TEST_F(RunChoice, TakesTheLargerGroupThatItFills) {
  std::vector<uint64_t> runs(7, 80);
  runs.insert(runs.end(), 8, 10);
  EXPECT_EQ(Choose(runs), (fs::RunRange{.first = 0, .count = 15}));
  runs.erase(runs.begin());
  EXPECT_EQ(Choose(runs), (fs::RunRange{.first = 6, .count = 8}));
}

TEST_F(RunChoice, TakesAnOlderGroupWhenTheNewestIsNotFull) {
  std::vector<uint64_t> runs(8, 800);
  runs.insert(runs.end(), 3, 10);
  EXPECT_EQ(Choose(runs), (fs::RunRange{.first = 0, .count = 8}));
}

TEST_F(RunChoice, LeavesADamagedRunWhereItIs) {
  const std::vector<uint64_t> runs(12, 10);
  EXPECT_EQ(Choose(runs, {6}).count, 0U);
  EXPECT_EQ(Choose(runs, {0}), (fs::RunRange{.first = 4, .count = 8}));
  EXPECT_EQ(Choose(runs, {11}), (fs::RunRange{.first = 3, .count = 8}));
  EXPECT_EQ(Choose(runs, {10, 11}), (fs::RunRange{.first = 2, .count = 8}));
}

TEST_F(RunChoice, LeavesRunsWhoseMergeWouldBeTooLong) {
  EXPECT_EQ(Choose(std::vector<uint64_t>(16, uint64_t{1} << 28)).count, 0U);
}

// However runs come, there are few of them, and what is written stays within a logarithm of what
// came.
TEST_F(RunChoice, KeepsFewRunsAndWritesAnEntryFewTimes) {
  for (uint64_t seed = 1; seed <= kIndexSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 numbers(seed);
    std::vector<fs::RunSize> runs;
    uint64_t came = 0;
    uint64_t written = 0;
    for (int flush = 0; flush < 4000; ++flush) {
      const uint64_t bytes = 100 + numbers() % 4000;
      runs.push_back({.bytes = bytes});
      came += bytes;
      for (auto chosen = fs::ChooseRuns(runs); chosen.count > 0; chosen = fs::ChooseRuns(runs)) {
        const auto begin = runs.begin() + static_cast<ptrdiff_t>(chosen.first);
        const auto end = begin + static_cast<ptrdiff_t>(chosen.count);
        uint64_t together = 0;
        for (auto run = begin; run != end; ++run) together += run->bytes;
        written += together;
        *begin = {.bytes = together};
        runs.erase(begin + 1, end);
      }
    }
    EXPECT_THAT(runs.size(), Le(50U));
    EXPECT_THAT(written, Le(10 * came));
  }
}

}  // namespace
}  // namespace holdfast::test

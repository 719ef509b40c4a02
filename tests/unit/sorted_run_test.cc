// Runs of the index: what is written is read, a point read costs a block at most, and whatever is
// wrong with a file is found.
#include "store-fs/sorted_run.h"

#include "store-fs/bounds.h"
#include "store-fs/index_key.h"
#include "store-fs/run_writer.h"
#include "tests/support/index_disk.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

using IndexEntries = std::vector<fs::IndexEntry>;
using RunPointer = std::shared_ptr<const fs::SortedRun>;

std::string NumberedKey(uint64_t number) {
  std::string key;
  fs::PutKeyNumber(number, key);
  return key;
}

// Entries with every second number, each third of them a deletion.
IndexEntries Numbered(uint64_t count, size_t value_bytes = 20) {
  IndexEntries entries;
  for (uint64_t number = 0; number < count; ++number) {
    fs::IndexEntry& entry = entries.emplace_back();
    entry.key = NumberedKey(2 * number);
    if (number % 3 != 0)
      entry.value = std::string(value_bytes, static_cast<char>('a' + number % 26));
  }
  return entries;
}

// A fresh look at a file: the directory that another one has read is not known.
RunPointer Again(const RunPointer& run) {
  return std::make_shared<const fs::SortedRun>(run->info());
}

TEST(KeyFilter, HoldsItsKeysAndFewOthers) {
  constexpr uint64_t kKeys = 10'000;
  std::vector<uint64_t> hashes;
  for (uint64_t number = 0; number < kKeys; ++number) {
    hashes.push_back(fs::HashOfKey(NumberedKey(number)));
  }
  const fs::KeyFilter filter = fs::KeyFilter::Of(hashes);
  size_t others = 0;
  for (uint64_t number = 0; number < kKeys; ++number) {
    EXPECT_TRUE(filter.MayHold(fs::HashOfKey(NumberedKey(number)))) << number;
    others += filter.MayHold(fs::HashOfKey(NumberedKey(kKeys + number))) ? 1 : 0;
  }
  EXPECT_LT(others, kKeys / 50);
  EXPECT_TRUE(fs::KeyFilter().MayHold(hashes.front()));
}

class SortedRunTest : public ::testing::Test {
 protected:
  fs::RunFiles where() { return disk_.where(); }

  // What a lookup says of a key: its value, "deleted", "none", or "damaged".
  std::string Find(const fs::SortedRun& run, const std::string& key) {
    const auto found = run.FindAtOrBelow(where(), key);
    if (absl::IsDataLoss(found.status())) return "damaged";
    EXPECT_TRUE(found.ok()) << found.status();
    if (!found.ok() || !*found) return "none";
    EXPECT_EQ((*found)->key, key);
    return (*found)->value.value_or("deleted");
  }
  // The same of every key that the entries may have.
  std::vector<std::string> FindAll(const fs::SortedRun& run, const IndexEntries& entries) {
    std::vector<std::string> found;
    for (uint64_t number = 0; number < 2 * entries.size() + 1; ++number) {
      found.push_back(Find(run, NumberedKey(number)));
    }
    return found;
  }
  // Of a damaged run a lookup answers what the whole one does, or that it is damaged; and reading
  // all of it finds the damage.
  void ExpectFound(const RunPointer& run, const IndexEntries& entries,
                   const std::vector<std::string>& whole, const std::string& what) {
    const RunPointer hurt = Again(run);
    const std::vector<std::string> found = FindAll(*hurt, entries);
    for (size_t at = 0; at < whole.size(); ++at) {
      EXPECT_TRUE(found[at] == whole[at] || found[at] == "damaged") << what << ", key " << at;
    }
    EXPECT_TRUE(absl::IsDataLoss(EntriesOf(where(), *hurt).status())) << what;
  }

  IndexDisk disk_;
};

TEST_F(SortedRunTest, IsReadAsItWasWritten) {
  for (const uint64_t count : {1, 2, 100, 20'000}) {
    const IndexEntries entries = Numbered(count);
    const RunPointer run = disk_.Write(count, entries);
    EXPECT_EQ(run->info().bytes(), disk_.disk().Read(disk_.PathOf(count)).size());
    const auto read = EntriesOf(where(), *run);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_TRUE(*read == entries) << count;
    for (uint64_t number = 0; number < count; number += 1 + count / 100) {
      EXPECT_EQ(Find(*run, NumberedKey(2 * number)), entries[number].value.value_or("deleted"));
      EXPECT_EQ(Find(*run, NumberedKey(2 * number + 1)), "none");
    }
  }
}

TEST_F(SortedRunTest, IsReadInRanges) {
  const IndexEntries entries = Numbered(5000, 40);
  const RunPointer run = disk_.Write(1, entries);
  for (const auto& [from, to] : std::vector<std::pair<uint64_t, uint64_t>>{
           {0, 1}, {3, 4}, {1, 9}, {4, 9000}, {9998, 20'000}, {20'000, 30'000}}) {
    const fs::KeyRange range{.from = NumberedKey(from), .to = NumberedKey(to)};
    const auto read = EntriesIn(where(), {.newer = {}, .runs = {run}}, range);
    ASSERT_TRUE(read.ok()) << read.status();
    IndexEntries expected;
    for (const fs::IndexEntry& entry : entries) {
      if (entry.value && entry.key >= range.from && entry.key < range.to) expected.push_back(entry);
    }
    EXPECT_TRUE(*read == expected) << from << " to " << to;
    const auto back =
        EntriesIn(where(), {.newer = {}, .runs = {run}}, range, fs::Direction::kDescending);
    ASSERT_TRUE(back.ok()) << back.status();
    std::ranges::reverse(expected);
    EXPECT_TRUE(*back == expected) << to << " down to " << from;
  }
}

// From its end a range is read in as many blocks as it is asked for.
TEST_F(SortedRunTest, IsReadFromTheEndOfARangeBlockByBlock) {
  const IndexEntries entries = Numbered(300, 4000);
  const RunPointer run = disk_.Write(1, entries);
  const size_t blocks = run->LoadDirectory(where()).value()->blocks.size();
  ASSERT_GT(blocks, 10U);
  const fs::RunFiles files = where();
  for (const std::string& to : {NumberedKey(301), std::string()}) {
    fs::RunCursor cursor(files, *run, {.from = NumberedKey(3), .to = to},
                         fs::Direction::kDescending);
    disk_.TakeReads();
    const size_t last = to.empty() ? entries.size() - 1 : 150;
    for (size_t at = last; at >= 2; --at) {
      const auto entry = cursor.Next();
      ASSERT_TRUE(entry.ok() && *entry) << entry.status();
      EXPECT_TRUE(**entry == entries[at]) << at;
      if (at == last) {
        EXPECT_EQ(disk_.TakeReads(), 1U);
      }
    }
    EXPECT_EQ(cursor.Next().value(), std::nullopt);
    EXPECT_LT(disk_.TakeReads(), blocks);
  }
}

// What comes before a block that cannot be read is read, and nothing wrong behind it.
TEST_F(SortedRunTest, EndsAtADamagedBlockInEitherDirection) {
  const IndexEntries entries = Numbered(100, 4000);
  const RunPointer run = disk_.Write(1, entries);
  const auto directory = run->LoadDirectory(where()).value();
  ASSERT_GT(directory->blocks.size(), 3U);
  std::string bytes = disk_.disk().Read(disk_.PathOf(1));
  const fs::RunBlock& hurt = directory->blocks[2];
  bytes[hurt.offset + 5] = static_cast<char>(bytes[hurt.offset + 5] ^ 0x10);
  disk_.disk().Write(disk_.PathOf(1), bytes);
  const auto first = std::ranges::lower_bound(entries, hurt.first, {}, &fs::IndexEntry::key);
  const auto behind =
      std::ranges::lower_bound(entries, directory->blocks[3].first, {}, &fs::IndexEntry::key);
  const fs::RunFiles files = where();
  for (const fs::Direction direction : {fs::Direction::kAscending, fs::Direction::kDescending}) {
    const bool ascends = direction == fs::Direction::kAscending;
    IndexEntries expected =
        ascends ? IndexEntries(entries.begin(), first) : IndexEntries(behind, entries.end());
    if (!ascends) std::ranges::reverse(expected);
    fs::RunCursor cursor(files, *run, {}, direction);
    IndexEntries found;
    absl::StatusOr<std::optional<fs::IndexEntry>> entry = cursor.Next();
    for (; entry.ok() && *entry; entry = cursor.Next()) found.push_back(**entry);
    EXPECT_TRUE(absl::IsDataLoss(entry.status())) << entry.status();
    EXPECT_TRUE(found == expected) << found.size();
    EXPECT_EQ(cursor.Next().value(), std::nullopt) << "it is at its end";
  }
}

// Versions of one thing: the filter holds what they have in common.
TEST_F(SortedRunTest, FindsTheNewestVersionAtOrBelowAKey) {
  IndexEntries entries;
  for (const uint64_t thing : {2, 4, 6}) {
    for (uint64_t version = 10; version < 3000; version += 10) {
      entries.push_back({.key = NumberedKey(thing) + NumberedKey(version),
                         .value = std::to_string(thing) + "/" + std::to_string(version)});
    }
  }
  const RunPointer run = disk_.Write(1, entries, fs::kKeyNumberBytes);
  EXPECT_GT(run->LoadDirectory(where()).value()->blocks.size(), 0U);
  disk_.TakeReads();
  size_t lookups = 0;
  for (uint64_t thing = 1; thing < 8; ++thing) {
    for (uint64_t version = 5; version < 3010; version += 5) {
      const auto found = run->FindAtOrBelow(where(), NumberedKey(thing) + NumberedKey(version));
      ASSERT_TRUE(found.ok()) << found.status();
      ++lookups;
      std::optional<std::string> expected;
      if (thing % 2 == 0 && version >= 10) {
        const uint64_t newest = std::min<uint64_t>(version / 10 * 10, 2990);
        expected = std::to_string(thing) + "/" + std::to_string(newest);
      }
      EXPECT_EQ(*found ? (*found)->value : std::nullopt, expected) << thing << " " << version;
    }
  }
  EXPECT_LE(disk_.TakeReads(), lookups);
}

TEST_F(SortedRunTest, APointReadTouchesOneBlockWhateverTheRunHolds) {
  for (const uint64_t count : {10, 100'000}) {
    const RunPointer run = disk_.Write(count, Numbered(count));
    ASSERT_TRUE(run->LoadDirectory(where()).ok());
    size_t absent = 0;
    constexpr uint64_t kAsked = 100;
    for (uint64_t asked = 0; asked < kAsked; ++asked) {
      const uint64_t number = asked * 997 % count;
      disk_.TakeReads();
      EXPECT_NE(Find(*run, NumberedKey(2 * number)), "none");
      EXPECT_EQ(disk_.TakeReads(), 1U) << count;
      Find(*run, NumberedKey(2 * number + 1));
      absent += disk_.TakeReads();
      Find(*run, NumberedKey(2 * count + number));
      EXPECT_EQ(disk_.TakeReads(), 0U) << "out of the range";
    }
    EXPECT_LE(absent, kAsked / 10) << count;
  }
}

TEST_F(SortedRunTest, AnyByteThatIsChangedIsFound) {
  const IndexEntries entries = Numbered(12);
  const RunPointer run = disk_.Write(1, entries);
  const std::vector<std::string> whole = FindAll(*run, entries);
  const std::string bytes = disk_.disk().Read(disk_.PathOf(1));
  for (size_t at = 0; at < bytes.size() && !HasFailure(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string hurt = bytes;
      hurt[at] = static_cast<char>(hurt[at] ^ (1 << bit));
      disk_.disk().Write(disk_.PathOf(1), hurt);
      ExpectFound(run, entries, whole, "bit " + std::to_string(bit) + " at " + std::to_string(at));
    }
  }
}

TEST_F(SortedRunTest, OfSeveralBlocksAnyByteThatIsChangedIsFound) {
  const IndexEntries entries = Numbered(60, 4000);
  const RunPointer run = disk_.Write(1, entries);
  ASSERT_GT(run->LoadDirectory(where()).value()->blocks.size(), 1U);
  const std::vector<std::string> whole = FindAll(*run, entries);
  const std::string bytes = disk_.disk().Read(disk_.PathOf(1));
  for (size_t at = 0; at < bytes.size() && !HasFailure(); at += 1009) {
    std::string hurt = bytes;
    hurt[at] = static_cast<char>(hurt[at] ^ 0x10);
    disk_.disk().Write(disk_.PathOf(1), hurt);
    ExpectFound(run, entries, whole, "at " + std::to_string(at));
  }
}

TEST_F(SortedRunTest, ThatIsCutIsFound) {
  const IndexEntries entries = Numbered(12);
  const RunPointer run = disk_.Write(1, entries);
  const std::vector<std::string> whole = FindAll(*run, entries);
  const std::string bytes = disk_.disk().Read(disk_.PathOf(1));
  for (size_t left = 0; left < bytes.size(); ++left) {
    disk_.disk().Write(disk_.PathOf(1), bytes.substr(0, left));
    ExpectFound(run, entries, whole, "cut to " + std::to_string(left));
  }
}

TEST_F(SortedRunTest, ThatIsMissingIsNotFound) {
  const fs::SortedRun run({.file = 9, .blocks_bytes = 10, .directory_bytes = 10});
  EXPECT_TRUE(absl::IsNotFound(run.FindAtOrBelow(where(), "key").status()));
  EXPECT_TRUE(absl::IsNotFound(EntriesOf(where(), run).status()));
}

// What a head says of a run is bounded before anything is read.
TEST_F(SortedRunTest, IsNotNamedWithLengthsThatNoWriterMakes) {
  const fs::RunInfo good = disk_.Write(1, Numbered(12))->info();
  const auto is_read = [](const fs::RunInfo& info) {
    Encoder out;
    fs::PutRun(info, out);
    Decoder in(out.bytes());
    const fs::RunInfo read = fs::ReadRun(in);
    return in.Done() && read == info;
  };
  EXPECT_TRUE(is_read(good));
  for (const uint64_t size : {uint64_t{0}, ~uint64_t{0}, uint64_t{1} << 40}) {
    fs::RunInfo info = good;
    info.blocks_bytes = size;
    EXPECT_FALSE(is_read(info)) << size;
    info = good;
    info.directory_bytes = size;
    EXPECT_FALSE(is_read(info)) << size;
  }
  EXPECT_FALSE(is_read({.file = 0, .blocks_bytes = 1, .directory_bytes = 1}));
}

// The checksum is right and the directory is not: no count or length in it is believed.
TEST_F(SortedRunTest, ADirectoryThatNoWriterMakesIsFound) {
  fs::RunDirectory good{.suffix = 0,
                        .blocks = {{.offset = 0, .size = 10, .crc = 1, .first = "b"},
                                   {.offset = 10, .size = 20, .crc = 2, .first = "d"}},
                        .last = "e",
                        .filter = fs::KeyFilter("12345678")};
  const auto is_read = [](const fs::RunDirectory& directory, uint64_t bytes) {
    return fs::DecodeDirectory(fs::EncodeDirectory(directory), bytes).has_value();
  };
  EXPECT_TRUE(is_read(good, 30));
  EXPECT_FALSE(is_read(good, 31)) << "blocks that do not fill the file";
  const auto changed = [&](const std::function<void(fs::RunDirectory&)>& change) {
    fs::RunDirectory directory = good;
    change(directory);
    return is_read(directory, 30);
  };
  EXPECT_FALSE(changed([](auto& it) { it.blocks.clear(); }));
  EXPECT_FALSE(changed([](auto& it) { it.blocks[1].first = "b"; })) << "the same first key";
  EXPECT_FALSE(changed([](auto& it) { it.last = "c"; })) << "a last key before the last block";
  EXPECT_FALSE(changed([](auto& it) { it.last = ""; }));
  EXPECT_FALSE(changed([](auto& it) { it.suffix = fs::kIndexKeyBytes + 1; }));
  EXPECT_FALSE(changed([](auto& it) { it.blocks[0].first.assign(fs::kIndexKeyBytes + 1, 'a'); }));
  EXPECT_FALSE(changed([](auto& it) { it.blocks[0].size = 0; }));
  EXPECT_FALSE(changed([](auto& it) { it.filter = fs::KeyFilter(std::string(5 << 20, 'f')); }));
  // Two lengths whose sum wraps around to the right one.
  EXPECT_FALSE(changed([](auto& it) {
    it.blocks[0].size = 31;
    it.blocks[1].size = ~uint64_t{0};
  }));
  std::string bytes = fs::EncodeDirectory(good);
  EXPECT_FALSE(fs::DecodeDirectory(bytes + "x", 30).has_value());
  bytes[0] = 2;
  EXPECT_FALSE(fs::DecodeDirectory(bytes, 30).has_value()) << "another version";
}

TEST_F(SortedRunTest, IsNotWrittenAsItWouldNotBeRead) {
  const auto add = [&](const IndexEntries& entries) {
    auto writer = fs::RunWriter::Create(where().files, disk_.PathOf(1), 0);
    EXPECT_TRUE(writer.ok()) << writer.status();
    absl::Status status;
    for (const fs::IndexEntry& entry : entries) status = writer->Add(entry);
    return status;
  };
  const std::string longest_key(fs::kIndexKeyBytes, 'k');
  const std::string longest_value(fs::kIndexValueBytes, 'v');
  EXPECT_TRUE(add({{.key = longest_key, .value = longest_value}}).ok());
  EXPECT_TRUE(absl::IsOutOfRange(add({{.key = longest_key + "k", .value = "v"}})));
  EXPECT_TRUE(absl::IsOutOfRange(add({{.key = "k", .value = longest_value + "v"}})));
  EXPECT_TRUE(absl::IsOutOfRange(add({{.key = "", .value = "v"}})));
  EXPECT_TRUE(absl::IsOutOfRange(add({{.key = "k", .value = "v"}, {.key = "k", .value = "w"}})));
  EXPECT_TRUE(absl::IsOutOfRange(add({{.key = "k", .value = "v"}, {.key = "j", .value = "w"}})));
  auto empty = fs::RunWriter::Create(where().files, disk_.PathOf(1), 0);
  ASSERT_TRUE(empty.ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(empty->Finish().status()));
}

}  // namespace
}  // namespace holdfast::test

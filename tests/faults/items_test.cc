// Items over rotations, compactions, merges and restarts: read as from one map, at a cost that
// follows what is written and what is named, and with damage that stays where it is.
#include "session/codec/item_facts.h"
#include "session/limits.h"
#include "session/refusal.h"
#include "store-fs/fs_store.h"
#include "store-fs/item_entry.h"
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
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

using Texts = std::map<std::string, std::string>;  // data by key

constexpr char kNotes[] = "notes";
constexpr PageLimit kWhole{.items = 100'000, .bytes = size_t{1} << 30};

ItemDelete DeletionOf(const std::string& key) { return {.collection = kNotes, .keys = key}; }

class Items : public IndexedSession {
 protected:
  Receipt PutItems(std::vector<ItemPut> puts, std::vector<ItemDelete> deletes = {}) {
    return Must(changes_->PutItems({.deletes = std::move(deletes), .puts = std::move(puts)}));
  }
  static std::string KeyOf(uint64_t number) { return absl::StrCat("the key of item ", number); }

  Texts Read(ItemQuery query, PageLimit limit = kWhole) {
    query.collection = kNotes;
    query.data = true;
    Texts found;
    const auto page = store_->ReadItems(key(), query, limit);
    EXPECT_TRUE(page.ok()) << page.status();
    if (!page.ok()) return found;
    for (const ItemView& view : page->items) {
      found[view.item.name.key] = view.damaged ? "(damaged)" : view.item.data.str();
    }
    return found;
  }
  absl::Status ReadStatus() {
    return store_->ReadItems(key(), {.collection = kNotes, .data = true}, kWhole).status();
  }
  fs::SessionState State() { return SealedState(*disk_.Open(), key()); }
  // Of items, in all sealed logs, as the head file counts them.
  uint64_t LiveBytesOfItems() {
    std::map<uint64_t, uint64_t> live;
    State().items.AddLiveBytes(live);
    uint64_t bytes = 0;
    for (const auto& [file, of_items] : live) bytes += of_items;
    return bytes;
  }
  uint64_t SealedBytes() {
    uint64_t bytes = 0;
    for (const std::string& name : Files("log.")) bytes += disk_.Read(PathOf(name)).size();
    return bytes;
  }
};

// Random writes, and the items that there are.
class ItemsHistory : public Items, public ::testing::WithParamInterface<uint64_t> {
 protected:
  void SetUp() override {
    inline_entries_ = GetParam() % 3 * 1000;
    numbers_.seed(GetParam());
    Items::SetUp();
  }

  uint64_t Below(uint64_t end) { return numbers_() % end; }
  std::string AnyKey() { return absl::StrCat("key ", Below(60)); }

  // Items of up to some hundred bytes, and one in so many with facts that stay in the log.
  ItemPut AnyPut() {
    ItemPut put = Put(AnyKey(), std::string(Below(300), static_cast<char>('a' + Below(26))));
    put.item.labels = {{"round", static_cast<int64_t>(Below(5))}};
    if (Below(8) == 0) put.item.content_type = std::string(fs::kItemFactsInlineBytes, 't');
    return put;
  }

  void Write() {
    std::map<std::string, ItemPut> puts;
    for (uint64_t left = Below(6); left > 0; --left) {
      ItemPut put = AnyPut();
      puts.insert_or_assign(put.item.name.key, put);
    }
    ItemWrites writes;
    for (uint64_t left = Below(3) + (puts.empty() ? 1 : 0); left > 0; --left) {
      const std::string key = AnyKey();
      if (Below(4) > 0) {
        writes.deletes.push_back(DeletionOf(key));
        expected_.erase(key);
        continue;
      }
      const KeyRange range{.start = key, .end = key + "9"};
      writes.deletes.push_back({.collection = kNotes, .keys = range});
      std::erase_if(expected_, [&](const auto& item) { return range.Contains(item.first); });
    }
    for (const auto& [key, put] : puts) writes.puts.push_back(put);
    const Receipt receipt = Must(changes_->PutItems(writes));
    ASSERT_EQ(receipt.puts.size(), writes.puts.size());
    for (size_t at = 0; at < writes.puts.size(); ++at) {
      Item item = writes.puts[at].item;
      item.version = receipt.puts[at].version;
      expected_.insert_or_assign(item.name.key, item);
    }
  }

  void Check() {
    std::vector<Item> all;
    uint64_t bytes = 0;
    uint64_t live = 0;  // that lie in logs
    for (const auto& [key, item] : expected_) {
      all.push_back(item);
      bytes += ItemBytes(item);
      const size_t facts = EncodeItemFacts(item).size();
      live += item.data.size() + (facts > fs::kItemFactsInlineBytes ? facts : 0);
    }
    EXPECT_EQ(InPages({.collection = kNotes, .data = true}), all);
    std::ranges::reverse(all);
    EXPECT_EQ(InPages({.collection = kNotes, .descending = true, .data = true}), all);
    CheckPart();
    const Receipt none =
        PutItems({PutOnVersion("never", "", ItemVersion())}, {DeletionOf("never")});
    PutItems({}, {DeletionOf("never")});
    EXPECT_TRUE(none.puts.size() == 1 && !none.puts[0].existed);
    Rotate();
    EXPECT_EQ(State().items.totals(), (ItemTotals{.items = expected_.size(), .bytes = bytes}));
    EXPECT_EQ(LiveBytesOfItems(), live);
  }

  void CheckPart() {
    const std::string from = AnyKey();
    const std::string to = from + "~";
    ItemQuery query{.collection = kNotes, .range = {.start = from, .end = to}, .data = true};
    std::vector<Item> part;
    for (const auto& [key, item] : expected_) {
      if (query.range.Contains(key)) part.push_back(item);
    }
    EXPECT_EQ(InPages(query), part);
    query = {.collection = kNotes, .keys = {"absent", from, to}, .data = true};
    part.clear();
    if (expected_.contains(from)) part.push_back(expected_.at(from));
    EXPECT_EQ(InPages(query), part);
    query = {.collection = kNotes, .labels = {{"round", int64_t{3}}}, .data = true};
    part.clear();
    for (const auto& [key, item] : expected_) {
      if (HasLabels(item, query.labels)) part.push_back(item);
    }
    EXPECT_EQ(InPages(query), part);
  }

  // All items, read in pages, without the times that are the store's.
  std::vector<Item> InPages(ItemQuery query) {
    std::vector<Item> items;
    const PageLimit limit{.items = static_cast<uint32_t>(1 + Below(9)), .bytes = Below(1000)};
    for (;;) {
      auto page = store_->ReadItems(key(), query, limit);
      EXPECT_TRUE(page.ok()) << page.status();
      if (!page.ok()) return items;
      for (ItemView& view : page->items) {
        EXPECT_FALSE(view.damaged);
        EXPECT_EQ(view.size, view.item.data.size());
        view.item.created_at = absl::Time();
        view.item.updated_at = absl::Time();
        items.push_back(std::move(view.item));
      }
      if (page->end) return items;
      EXPECT_FALSE(page->items.empty());
      query.after = page->last;
    }
  }

  std::map<std::string, Item> expected_;
  std::mt19937_64 numbers_;
};

TEST_P(ItemsHistory, IsReadAsFromAMap) {
  SCOPED_TRACE(absl::StrCat("seed ", GetParam()));
  size_t most_runs = 0;
  for (int round = 0; round < 60 && !HasFailure(); ++round) {
    for (uint64_t left = 1 + Below(6); left > 0; --left) Write();
    most_runs = std::max(most_runs, Files("items.").size());
    if (Below(3) == 0) Check();
    if (Below(3) == 0) Sweep();
    if (Below(4) == 0) Restart();
    Check();
  }
  EXPECT_GT(most_runs, 0U);
}

INSTANTIATE_TEST_SUITE_P(Seeds, ItemsHistory, ::testing::Range(uint64_t{1}, uint64_t{13}),
                         ::testing::PrintToStringParamName());

// A compaction that is under way when items are put and deleted, and a rotation writes that to a
// run: the places that it gives their former data must not count.
class ItemsOfACompaction : public Items {
 protected:
  // Logs of which most is dead, each with an item that stays.
  void SetUp() override {
    Items::SetUp();
    for (uint64_t round = 0; round < 24; ++round) {
      const std::string filler(2000, static_cast<char>('a' + round % 26));
      PutItems({Put(KeyOf(round), absl::StrCat("kept ", round)), Put("replaced", filler)});
      expected_[KeyOf(round)] = absl::StrCat("kept ", round);
      expected_["replaced"] = filler;
    }
    Rotate();
  }

  // A sweep, after whose first copy `act` is done.
  void SweepWith(const std::function<void()>& act) {
    bool done = false;
    before_ = [&](const FileOperation& asked) {
      const bool is_copied = asked.path.starts_with("tmp/") && asked.path.ends_with(".index");
      if (!is_copied || asked.name != "sync" || std::exchange(done, true)) return;
      act();
    };
    const size_t logs = Files("log.").size();
    Sweep();
    before_ = nullptr;
    EXPECT_TRUE(done);
    EXPECT_LT(Files("log.").size(), logs);
  }
  void Expect() {
    EXPECT_EQ(Read({}), expected_);
    for (const auto& [key, data] : expected_) {
      EXPECT_EQ(Read({.keys = {key}}), (Texts{{key, data}}));
    }
  }
  void ExpectForEver() {
    Expect();
    Restart();
    Expect();
    Sweep();
    Expect();
  }

  Texts expected_;
};

TEST_F(ItemsOfACompaction, AreFoundWhereItHasMovedThem) {
  EXPECT_THAT(Files("items."), Not(IsEmpty()));
  SweepWith([] {});
  ExpectForEver();
}

TEST_F(ItemsOfACompaction, DoNotOutrankNewerDeletes) {
  SweepWith([&] {
    const size_t runs = Files("items.").size();
    PutItems({}, {DeletionOf(KeyOf(1)), DeletionOf(KeyOf(5)), DeletionOf("replaced")});
    Rotate();
    EXPECT_EQ(Files("items.").size(), runs + 1);
  });
  for (const std::string& deleted : {KeyOf(1), KeyOf(5), std::string("replaced")}) {
    expected_.erase(deleted);
  }
  ExpectForEver();
}

TEST_F(ItemsOfACompaction, DoNotOutrankNewerPuts) {
  SweepWith([&] {
    PutItems({Put(KeyOf(1), "again"), Put(KeyOf(23), "again")}, {DeletionOf(KeyOf(1))});
    Rotate();
  });
  expected_[KeyOf(1)] = "again";
  expected_[KeyOf(23)] = "again";
  ExpectForEver();
}

TEST_F(ItemsOfACompaction, DoNotOutrankWhatTheJournalHas) {
  SweepWith([&] { PutItems({Put(KeyOf(1), "again")}, {DeletionOf(KeyOf(5))}); });
  expected_[KeyOf(1)] = "again";
  expected_.erase(KeyOf(5));
  Expect();
  Rotate();
  ExpectForEver();
}

// Entries that head.<g> itself had when the copy was made, and that a rotation has written to a run
// since.
TEST_F(ItemsOfACompaction, AreMovedThoughTheyHaveGoneIntoARun) {
  inline_entries_ = fs::kInlineEntryBytes;
  Restart();
  PutItems({Put("inline 1", "one"), Put("inline 2", "two")});
  expected_["inline 1"] = "one";
  Rotate();
  const std::string filler(100, 'f');
  SweepWith([&] {
    std::vector<ItemPut> puts;
    for (uint64_t at = 0; at < 100; ++at) {
      puts.push_back(Put(absl::StrCat("more ", at), filler));
      expected_[absl::StrCat("more ", at)] = filler;
    }
    PutItems(std::move(puts), {DeletionOf("inline 2")});
    Rotate();
  });
  ExpectForEver();
}

// What a page has looked at is replaced before it is read: by a compaction, and by a merge of runs.
TEST_F(ItemsOfACompaction, AreReadThoughTheirFilesAreReplacedMeanwhile) {
  for (const std::string kind : {"/state/log.", "/state/items."}) {
    for (uint64_t round = 0; round < 40; ++round) {
      const std::string data = absl::StrCat("again ", kind, round);
      PutItems({Put(KeyOf(round % 3), data), Put("replaced", std::string(2000, 'r'))});
      expected_[KeyOf(round % 3)] = data;
      expected_["replaced"] = std::string(2000, 'r');
    }
    const size_t runs = Files("items.").size();
    size_t sweeps = 0;
    before_ = [&](const FileOperation& asked) {
      const bool is_first = asked.name == "open" && asked.path.find(kind) != std::string::npos;
      if (!is_first || sweeps > 0) return;
      ++sweeps;
      Sweep();
    };
    EXPECT_EQ(Read({.descending = true}), expected_) << kind;
    before_ = nullptr;
    EXPECT_EQ(sweeps, 1U);
    EXPECT_LT(Files("items.").size(), runs);
    ExpectForEver();
  }
}

// Nothing is lost or counted twice when a rotation ends with nothing switched.
TEST_F(ItemsOfACompaction, AreThereAfterARotationThatFoundNoSpace) {
  fails_ = [](const FileOperation& asked) {
    return asked.name == "write" && asked.path.find("/state/items.") != std::string::npos;
  };
  const auto runs = Files("items.");
  const auto heads = Files("head.");
  PutItems({Put(KeyOf(1), "again"), Put("new", "item")}, {DeletionOf(KeyOf(2))});
  expected_[KeyOf(1)] = "again";
  expected_["new"] = "item";
  expected_.erase(KeyOf(2));
  while (notes_.empty()) {
    const auto result = store_->Commit(changes_->Update({{"title", "rotate"}}));
    ASSERT_TRUE(result.ok() || !notes_.empty()) << result.status();
  }
  EXPECT_EQ(Files("head."), heads);
  EXPECT_EQ(Files("items."), runs);
  Expect();
  fails_ = nullptr;
  clock_.Advance(absl::Minutes(10));
  Sweep();
  PutItems({}, {DeletionOf("new"), DeletionOf(KeyOf(3))});
  expected_.erase("new");
  expected_.erase(KeyOf(3));
  Rotate();
  uint64_t live = 0;
  for (const auto& [key, data] : expected_) live += data.size();
  EXPECT_EQ(LiveBytesOfItems(), live);
  ExpectForEver();
}

// What is deleted or overwritten goes with the next compactions.
TEST_F(ItemsOfACompaction, LeaveNoDeadDataBehind) {
  Sweep();
  std::vector<ItemDelete> deletes;
  for (const auto& [key, data] : std::exchange(expected_, {})) deletes.push_back(DeletionOf(key));
  PutItems({}, std::move(deletes));
  PutItems({Put("last", "one")});
  expected_["last"] = "one";
  Rotate();
  Sweep();
  Expect();
  EXPECT_EQ(LiveBytesOfItems(), 3U);
}

TEST_F(Items, KeepsSpaceWithinTwiceWhatIsLive) {
  inline_entries_ = fs::kInlineEntryBytes;
  Restart();
  uint64_t live = 0;
  for (uint64_t round = 0; round < 2000; ++round) {
    PutItems({Put(KeyOf(round % 20), std::string(2000, 'd'))});
    if (round % 20 == 0) Sweep();
  }
  Rotate();
  Sweep();
  const auto bytes = State().LiveBytes();
  for (const auto& [file, of_log] : bytes) live += of_log;
  EXPECT_LE(SealedBytes(), 3 * live) << "the last journal may be whole";
}

TEST_F(Items, RunsAreFew) {
  for (uint64_t round = 0; round < 1200; ++round) {
    PutItems({Put(KeyOf(round % 300), "data")});
    if (round % 40 == 0) Sweep();
  }
  Sweep();
  EXPECT_LE(Files("items.").size(), 24U) << "of 300 rotations";
}

// Deletions go where nothing older may have their key. Eight runs are merged, of four changes each,
// the first of which has created the session.
TEST_F(Items, AMergeOfAllRunsLeavesNoDeletion) {
  for (uint64_t round = 0; round < 15; ++round) PutItems({Put(KeyOf(round), "data")});
  for (uint64_t round = 0; round < 15; ++round) PutItems({}, {DeletionOf(KeyOf(round))});
  Rotate();
  ASSERT_EQ(Files("items.").size(), 8U);
  for (int sweep = 0; sweep < 3; ++sweep) Sweep();
  EXPECT_EQ(Read({}), Texts());
  EXPECT_THAT(Files("items."), IsEmpty());
  PutItems({Put(KeyOf(3), "again")});
  EXPECT_EQ(Read({}), (Texts{{KeyOf(3), "again"}}));
}

TEST_F(Items, NoFileIsMadeForNone) {
  inline_entries_ = fs::kInlineEntryBytes;
  Restart();
  for (int round = 0; round < 40; ++round) Must(changes_->Update({{"title", "none"}}));
  EXPECT_THAT(Files("items."), IsEmpty());
  const std::string head = disk_.Read(PathOf(Files("head.").back()));
  for (uint64_t round = 0; round < 20; ++round) PutItems({Put(KeyOf(round), "data")});
  EXPECT_THAT(Files("items."), IsEmpty()) << "few items have no further file";
  EXPECT_GT(disk_.Read(PathOf(Files("head.").back())).size(), head.size());
}

TEST_F(Items, OneIsReadAndPutAtACostThatDoesNotGrowWithThem) {
  rotate_changes_ = 16;
  Restart();
  const auto fill = [&](uint64_t first, uint64_t end) {
    while (first < end) {
      std::vector<ItemPut> puts;
      for (; first < end && puts.size() < 1000; ++first) puts.push_back(Put(KeyOf(first), "data"));
      PutItems(std::move(puts));
    }
    Rotate();
    Sweep();
  };
  const auto reads_of = [&](uint64_t item) {
    const auto page =  // which may read a directory
        store_->ReadItems(key(), {.collection = kNotes, .keys = {KeyOf(item)}}, kWhole);
    EXPECT_TRUE(page.ok() && page->items.size() == 1) << page.status();
    if (!page.ok() || page->items.empty()) return reads_;
    size_t before = reads_;
    EXPECT_EQ(Read({.keys = {KeyOf(item)}}).size(), 1U);
    const size_t by_key = reads_ - before;
    before = reads_;
    PutItems({PutOnVersion(KeyOf(item), "data", page->items[0].item.version)});
    return by_key + reads_ - before;
  };
  fill(0, 10);
  const size_t few = reads_of(5);
  fill(10, 20'000);
  size_t most = 0;
  for (uint64_t item = 10; item < 20'000; item += 1371) most = std::max(most, reads_of(item));
  EXPECT_GE(few, 3U) << "a block of a run, and the record; a block";
  EXPECT_LE(most, few + 4) << "a filter may be wrong";
  const size_t before = reads_;
  EXPECT_EQ(Read({.range = {.start = KeyOf(777)}, .descending = true}, {.items = 5, .bytes = 1000})
                .size(),
            5U);
  EXPECT_LE(reads_ - before, 40U) << "a page descends from the end";
}

// What is compacted is newer than the run that has nearly all items.
TEST_F(Items, ACompactionReadsNoRunThatIsOlderThanItsLogs) {
  for (uint64_t first = 0; first < 12'000; first += 4000) {
    std::vector<ItemPut> puts;
    for (uint64_t at = first; at < first + 4000; ++at) puts.push_back(Put(KeyOf(at), ""));
    PutItems(std::move(puts));
  }
  ASSERT_EQ(Files("items.").size(), 1U);
  const std::string large = Files("items.").back();
  for (uint64_t round = 0; round < 12; ++round) {
    PutItems({Put(absl::StrCat("new ", round), "data")});
    Rotate();
  }
  size_t read = 0;
  before_ = [&](const FileOperation& asked) {
    if (asked.name == "read" && asked.path == PathOf(large)) ++read;
  };
  const size_t logs = Files("log.").size();
  Sweep();
  EXPECT_LT(Files("log.").size(), logs);
  EXPECT_EQ(read, 0U);
  EXPECT_EQ(Read({.range = KeysWithPrefix("new ")}).size(), 12U);
}

TEST_F(Items, ADeleteOfARangeCostsWhatItDeletes) {
  rotate_changes_ = 64;
  Restart();
  for (uint64_t first = 0; first < 20'000; first += 2000) {
    std::vector<ItemPut> puts;
    for (uint64_t at = first; at < first + 2000; ++at) {
      puts.push_back(Put(absl::StrCat("group ", at / 100, " item ", at), "data"));
    }
    PutItems(std::move(puts));
  }
  Rotate();
  Sweep();
  const KeyRange range = KeysWithPrefix("group 77 ");
  PutItems({}, {{.collection = kNotes, .keys = KeysWithPrefix("group 5 ")}});
  const uint64_t bytes = bytes_;
  const size_t reads = reads_;
  EXPECT_EQ(PutItems({}, {{.collection = kNotes, .keys = range}}).items_deleted, 100U);
  EXPECT_LE(bytes_ - bytes, 8 * kKiB);
  EXPECT_LE(reads_ - reads, 2 * Files("items.").size() + 2);
  EXPECT_EQ(Read({.range = range}), Texts());
  EXPECT_EQ(Read({}).size(), 19'800U);
}

// As many items as their bytes, by ItemBytes, have room in it; one that is larger has its own page.
TEST_F(Items, APageEndsAtItsBytes) {
  rotate_changes_ = 64;
  Restart();
  std::vector<ItemPut> puts;
  for (const char* key : {"a", "b", "c"}) puts.push_back(Put(key, std::string(100, 'd')));
  puts.push_back(Put("large", std::string(1000, 'd')));
  puts[1].item.content_type = std::string(2 * fs::kItemFactsInlineBytes, 't');
  PutItems(puts);
  const auto bytes_of = [&](size_t at, bool data) {
    return ItemBytes(puts[at].item) - (data ? 0 : puts[at].item.data.size());
  };
  const auto keys_of = [&](ItemQuery query, uint64_t bytes) {
    query.collection = kNotes;
    const auto page = store_->ReadItems(key(), query, {.items = 9, .bytes = bytes});
    std::string keys;
    EXPECT_TRUE(page.ok()) << page.status();
    if (!page.ok()) return keys;
    for (const ItemView& view : page->items) keys += view.item.name.key + " ";
    return keys + (page->end ? "end" : "");
  };
  for (const bool sealed : {false, true}) {
    if (sealed) Rotate();
    for (const bool data : {false, true}) {
      const uint64_t two = bytes_of(0, data) + bytes_of(1, data);
      EXPECT_EQ(keys_of({.data = data}, 0), "a ");
      EXPECT_EQ(keys_of({.data = data}, two - 1), "a ");
      EXPECT_EQ(keys_of({.data = data}, two), "a b ");
      EXPECT_EQ(keys_of({.after = "b", .data = data}, bytes_of(2, data)), "c ");
      EXPECT_EQ(keys_of({.descending = true, .data = data}, 1), "large ");
      EXPECT_EQ(keys_of({.keys = {"c", "large"}, .data = data}, 1), "c ");
      EXPECT_EQ(keys_of({.after = "c", .data = data}, 1), "large end");
      EXPECT_EQ(keys_of({.data = data}, 1 << 20), "a b c large end");
    }
  }
}

TEST_F(Items, AReplyIsTheSameWhenItIsAskedForAgain) {
  const Change change = changes_->PutItems({.puts = {Put("a", "1"), PutIfAbsent("b", "2")}});
  const Receipt first = Must(change);
  ASSERT_EQ(first.puts.size(), 2U);
  Rotate();
  Restart();
  const auto again = store_->Commit(change);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->kind, CommitResult::Kind::kRepeated);
  EXPECT_EQ(again->receipt.puts, first.puts);
  EXPECT_EQ(again->receipt.items_version, first.items_version);
}

// A page that has many deletions before its first item.
TEST_F(Items, AreFoundBehindManyDeletions) {
  rotate_changes_ = 512;
  Restart();
  for (uint64_t first = 0; first < 6000; first += 2000) {
    std::vector<ItemPut> puts;
    for (uint64_t at = first; at < first + 2000; ++at) {
      puts.push_back(Put(absl::StrCat(100'000 + at), ""));
    }
    PutItems(std::move(puts));
  }
  Rotate();
  PutItems({Put("a", "first"), Put("z", "last")},
           {{.collection = kNotes, .keys = KeyRange{.start = "1", .end = "2"}}});
  const auto ascending =
      store_->ReadItems(key(), {.collection = kNotes, .after = "0"}, {.items = 1, .bytes = 100});
  ASSERT_TRUE(ascending.ok() && ascending->items.size() == 1);
  EXPECT_EQ(ascending->items[0].item.name.key, "a");
  EXPECT_FALSE(ascending->end);
  const auto descending = store_->ReadItems(
      key(), {.collection = kNotes, .descending = true, .after = "9"}, {.items = 1, .bytes = 100});
  ASSERT_TRUE(descending.ok()) << descending.status();
  EXPECT_TRUE(descending->items.empty() && descending->end);
  ItemWrites append{
      .expected_last = ExpectedLast{.collection = kNotes, .range = KeysWithPrefix("1"), .key = ""},
      .puts = {Put("1", "one")}};
  Must(changes_->PutItems(append));
  EXPECT_EQ(Read({.range = KeysWithPrefix("1")}), (Texts{{"1", "one"}}));
}

class DamagedItems : public Items {
 protected:
  // A run with an item that a newer one hides, with one that is nowhere else, and one with facts
  // that stay in the log, which is mostly dead.
  void SetUp() override {
    Items::SetUp();
    ItemPut large = Put("large", "data of the large one");
    large.item.content_type = std::string(2 * fs::kItemFactsInlineBytes, 't');
    PutItems({Put("hidden", "old"), Put("alone", "data of the lone one"), large,
              Put("filler", std::string(20'000, 'f'))});
    Rotate();
    run_ = Files("items.").back();
    log_ = Files("log.").back();
    PutItems({Put("hidden", "new"), Put("other", "other")}, {DeletionOf("filler")});
    Rotate();
    ASSERT_NE(Files("items.").back(), run_);
  }
  Texts Named() { return Read({.keys = {"absent", "alone", "hidden", "large", "other"}}); }
  void ExpectDamage() {
    EXPECT_TRUE(Is(ReadStatus(), Reason::kDamaged));
    const Texts named = Named();
    EXPECT_EQ(named.at("alone"), "(damaged)");
    EXPECT_EQ(named.at("large"), "(damaged)");
    EXPECT_EQ(named.at("hidden"), "new");
    EXPECT_EQ(named.at("other"), "other");
    const auto put = store_->Commit(changes_->PutItems({.puts = {Put("alone", "again")}}));
    EXPECT_TRUE(Is(put.status(), Reason::kDamaged));
  }
  // Whatever is damaged, the session is opened, written to, rotated and compacted.
  void ExpectService() {
    for (uint64_t round = 0; round < 60; ++round) {
      PutItems({Put("other", absl::StrCat(round))});
    }
    Sweep();
    Restart();
    EXPECT_TRUE(store_->LoadForDecision(key(), std::nullopt).ok());
    EXPECT_EQ(Read({.keys = {"other"}}), (Texts{{"other", "59"}}));
    PutItems({Put("other", "other")});
  }
  // Changes the byte of `text` in the log of the first run.
  void FlipIn(const std::string& text) {
    const size_t at = disk_.Read(PathOf(log_)).find(text);
    ASSERT_NE(at, std::string::npos);
    Flip(log_, at + 1);
  }

  std::string run_;
  std::string log_;
};

TEST_F(DamagedItems, InARunFailTheReadsThatNeedThem) {
  Flip(run_, 3);
  ExpectDamage();
  Restart();
  ExpectDamage();
  ExpectService();
  ExpectDamage();
  EXPECT_THAT(notes_, Not(IsEmpty()));
  for (const std::string& note : notes_) EXPECT_THAT(note, HasSubstr("is not compacted"));
}

TEST_F(DamagedItems, WithADamagedDirectoryOrWithoutAFileAreTheSame) {
  Flip(run_, disk_.Read(PathOf(run_)).size() - 2);
  Restart();
  EXPECT_TRUE(Is(ReadStatus(), Reason::kDamaged));
  ExpectService();
  ASSERT_TRUE(disk_.Open()->RemoveFile(PathOf(run_)).ok());
  Restart();
  EXPECT_TRUE(Is(ReadStatus(), Reason::kDamaged));
  ExpectService();
}

TEST_F(DamagedItems, HideNoOther) {
  FlipIn("data of the lone one");
  FlipIn(std::string(fs::kItemFactsInlineBytes, 't'));
  const auto page = store_->ReadItems(key(), {.collection = kNotes, .data = true}, kWhole);
  ASSERT_TRUE(page.ok()) << page.status();
  std::vector<std::string> keys;
  for (const ItemView& view : page->items) {
    keys.push_back(view.item.name.key + (view.damaged ? " damaged" : ""));
  }
  EXPECT_THAT(keys, ElementsAre("alone damaged", "hidden", "large damaged", "other"));
  EXPECT_EQ(page->items[0].size, 20U) << "its size is in the index";
  EXPECT_EQ(page->items[0].item.data, "");
  const auto described = store_->ReadItems(key(), {.collection = kNotes}, kWhole);
  ASSERT_TRUE(described.ok() && described->items.size() == 4);
  EXPECT_FALSE(described->items[0].damaged) << "its data is not read";
  PutItems({Put("alone", "again"), Put("large", "again")});
  EXPECT_EQ(Read({}).at("alone"), "again");
  ExpectService();
}

// Every byte of a run: an answer is the right one, or says that it is damaged.
TEST_F(DamagedItems, AreNeverAWrongAnswer) {
  const std::string whole = disk_.Read(PathOf(run_));
  const Texts right = Named();
  ASSERT_EQ(right.size(), 4U);
  for (size_t at = 0; at < whole.size(); ++at) {
    Flip(run_, at);
    Restart();
    for (const auto& [key, data] : Named()) {
      const auto expected = right.find(key);
      const bool is_right = expected != right.end() && data == expected->second;
      EXPECT_TRUE(is_right || data == "(damaged)") << at << ": " << key << " is " << data;
    }
    EXPECT_TRUE(Is(ReadStatus(), Reason::kDamaged)) << at;
    disk_.Write(PathOf(run_), whole);
  }
  Restart();
  EXPECT_EQ(Named(), right);
}

}  // namespace
}  // namespace holdfast::test

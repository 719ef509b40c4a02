// Items: conditions, deletes, counters and bounds, and reading them.
#include "session/limits.h"
#include "tests/contract/suite.h"

#include "absl/strings/str_cat.h"

#include <atomic>
#include <cstdint>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

ItemDelete DeleteKey(const std::string& key) { return {.collection = "notes", .keys = key}; }
ItemDelete DeleteRange(KeyRange range) { return {.collection = "notes", .keys = std::move(range)}; }

ItemPut PutIn(const std::string& collection, const std::string& key, const std::string& data) {
  ItemPut put = Put(key, data);
  put.item.name.collection = collection;
  return put;
}

ItemPut Labelled(const std::string& key, ItemLabels labels) {
  ItemPut put = Put(key, key);
  put.item.labels = std::move(labels);
  return put;
}

ExpectedLast LastOf(const std::string& prefix, const std::string& key) {
  return {.collection = "notes", .range = KeysWithPrefix(prefix), .key = key};
}

// What became of the put of this index; nothing where the change was refused.
PutResult PutAt(const Receipt& receipt, size_t index) {
  return index < receipt.puts.size() ? receipt.puts[index] : PutResult();
}

std::vector<std::string> KeysOf(const ItemPage& page) {
  std::vector<std::string> keys;
  for (const ItemView& view : page.items) keys.push_back(view.item.name.key);
  return keys;
}

// A key of three digits, so that the order of keys is that of numbers.
std::string Numbered(int number) { return absl::StrCat(absl::Dec(number, absl::kZeroPad3)); }

std::vector<ItemPut> NumberedPuts(int first, int last) {
  std::vector<ItemPut> puts;
  for (int i = first; i <= last; ++i) puts.push_back(Put(Numbered(i), "data"));
  return puts;
}

TEST_P(Contract, C249_AnotherVersionThanExpectedIsStaleAndWritesNothing) {
  Create();
  PutItems({Put("a", "1")});
  const ItemVersion first = PutAt(PutItems({Put("a", "2"), Put("b", "1")}), 0).version;
  const absl::Status stale =
      RefusedItems({.deletes = {DeleteKey("b")},
                    .puts = {Put("c", "new"), PutOnVersion("a", "3", ItemVersion(1))}});
  EXPECT_EQ(ReasonIn(stale), "STALE_REVISION");
  EXPECT_EQ(FactIn(stale, "what"), "item");
  EXPECT_EQ(FactIn(stale, "field"), "puts[1].expected_version");
  EXPECT_EQ(FactIn(stale, "expected"), "1");
  EXPECT_EQ(FactIn(stale, "actual"), absl::StrCat(first.value()));
  // What the same change deletes is not there for its puts.
  EXPECT_EQ(ReasonIn(RefusedItems(
                {.deletes = {DeleteKey("a")}, .puts = {PutOnVersion("a", "3", first)}})),
            "STALE_REVISION");
  EXPECT_EQ(ReasonIn(RefusedItems({.puts = {PutOnVersion("x", "3", first)}})), "STALE_REVISION");
  EXPECT_THAT(ItemTexts(), ElementsAre("a=2", "b=1"));
}

TEST_P(Contract, C250_AnotherLastKeyThanExpectedIsStale) {
  Create();
  PutItems({Put("a/1", "1"), Put("a/2", "2"), Put("b/1", "3")});
  const absl::Status stale = RefusedItems(
      {.expected_last = LastOf("a/", "a/1"), .deletes = {DeleteKey("a/2")}, .puts = {}});
  EXPECT_EQ(ReasonIn(stale), "STALE_REVISION");
  EXPECT_EQ(FactIn(stale, "what"), "item");
  EXPECT_EQ(FactIn(stale, "field"), "expected_last.key");
  EXPECT_EQ(FactIn(stale, "actual"), "YS8y");  // web-safe base64 of a/2
  EXPECT_EQ(ReasonIn(RefusedItems({.expected_last = LastOf("a/", ""), .puts = {Put("a/3", "")}})),
            "STALE_REVISION");
  EXPECT_EQ(ReasonIn(RefusedItems({.expected_last = LastOf("c/", "c/1"), .puts = {Put("x", "")}})),
            "STALE_REVISION");
  // It is compared before the deletes of its change.
  Apply(changes().PutItems(
      {.expected_last = LastOf("a/", "a/2"), .deletes = {DeleteKey("a/2")}, .puts = {}}));
  Apply(changes().PutItems({.expected_last = LastOf("c/", ""), .puts = {Put("c/1", "4")}}));
  EXPECT_THAT(ItemTexts(), ElementsAre("a/1=1", "b/1=3", "c/1=4"));
}

TEST_P(Contract, C251_MoreItemsThanASessionMayHaveAreTooLarge) {
  under_test().SetItemBounds({.items = 5});
  Reopen();
  Create();
  PutItems(NumberedPuts(1, 5));
  const absl::Status refused = RefusedItems({.puts = {Put("006", ""), Put("007", "")}});
  EXPECT_EQ(ReasonIn(refused), "TOO_LARGE");
  EXPECT_EQ(FactIn(refused, "field"), "puts");
  EXPECT_EQ(FactIn(refused, "limit"), "5");
  EXPECT_EQ(FactIn(refused, "got"), "7");
  EXPECT_EQ(LoadHead().items_version, ItemVersion(5));
  // What leaves no more than there was is written.
  PutItems({Put("005", "again")});
  PutItems({Put("006", "")}, {DeleteKey("001")});
  Reopen();
  EXPECT_EQ(ReasonIn(RefusedItems({.puts = {Put("007", "")}})), "TOO_LARGE");
  PutItems({}, {DeleteKey("002"), DeleteKey("nothing")});
  PutItems({Put("007", "")});
  EXPECT_THAT(KeysOf(Items()), ElementsAre("003", "004", "005", "006", "007"));
  under_test().SetItemBounds({.items = 2});
  Reopen();
  PutItems({Put("007", "fewer than before")}, {DeleteKey("003")});
}

TEST_P(Contract, C252_MoreBytesThanASessionMayHaveAreTooLarge) {
  under_test().SetItemBounds({.bytes = 4096});
  Reopen();
  Create();
  PutItems({Put("a", std::string(2000, 'a'))});
  PutItems({Put("a", std::string(3000, 'b'))});
  const absl::Status refused = RefusedItems({.puts = {Put("b", std::string(1500, 'c'))}});
  EXPECT_EQ(ReasonIn(refused), "TOO_LARGE");
  EXPECT_EQ(FactIn(refused, "field"), "puts.data");
  EXPECT_EQ(FactIn(refused, "limit"), "4096");
  const ItemBounds bounds = under_test().item_bounds();
  const uint64_t got = ItemBytes(Put("a", std::string(3000, 'b')).item) +
                       ItemBytes(Put("b", std::string(1500, 'c')).item);
  EXPECT_GT(got, bounds.bytes);
  EXPECT_EQ(FactIn(refused, "got"), absl::StrCat(got));
  Reopen();
  EXPECT_EQ(ReasonIn(RefusedItems({.puts = {Put("b", std::string(1500, 'c'))}})), "TOO_LARGE");
  PutItems({Put("b", std::string(1500, 'c'))}, {DeleteKey("a")});
  PutItems({Put("a", std::string(2000, 'd'))});
}

TEST_P(Contract, C253_MoreDeletesThanOneChangeMayMakeAreTooLarge) {
  under_test().SetItemBounds({.deletes = 3});
  Reopen();
  Create();
  PutItems(NumberedPuts(1, 6));
  const absl::Status refused =
      RefusedItems({.deletes = {DeleteKey("001"), DeleteRange({.start = "002", .end = "005"})}});
  EXPECT_EQ(ReasonIn(refused), "TOO_LARGE");
  EXPECT_EQ(FactIn(refused, "field"), "deletes");
  EXPECT_EQ(FactIn(refused, "limit"), "3");
  EXPECT_EQ(FactIn(refused, "got"), "4");
  EXPECT_EQ(Items().items.size(), 6U);
  // One that is named twice counts once.
  const Receipt receipt =
      PutItems({}, {DeleteKey("002"), DeleteRange({.start = "002", .end = "005"})});
  EXPECT_EQ(receipt.items_deleted, 3U);
  EXPECT_THAT(KeysOf(Items()), ElementsAre("001", "005", "006"));
}

TEST_P(Contract, C254_EachPutGetsTheNextVersionAndMovesNoRevision) {
  const Receipt created = Create();
  const Receipt first = PutItems({Put("a", "1"), Put("b", "2")});
  EXPECT_THAT(first.puts, ElementsAre(PutResult{.version = ItemVersion(1)},
                                      PutResult{.version = ItemVersion(2)}));
  EXPECT_EQ(first.items_version, ItemVersion(2));
  EXPECT_EQ(first.revision, created.revision);
  const Receipt second = PutItems({Put("b", "3")}, {DeleteKey("a")});
  EXPECT_THAT(second.puts, ElementsAre(PutResult{.version = ItemVersion(4), .existed = true}));
  EXPECT_EQ(second.items_version, ItemVersion(4));
  EXPECT_EQ(LoadHead().items_version, ItemVersion(4));
  EXPECT_EQ(LoadHead().revision, created.revision);
  EXPECT_EQ(Items().items_version, ItemVersion(4));
  EXPECT_EQ(Items().items.at(0).item.version, ItemVersion(4));
}

TEST_P(Contract, C255_NoVersionIsGivenTwice) {
  Create();
  PutItems({Put("a", "1"), Put("b", "1")});
  EXPECT_EQ(PutAt(PutItems({PutIfAbsent("a", "2"), Put("c", "2")}), 1).version, ItemVersion(4));
  EXPECT_EQ(PutItems({}, {DeleteKey("c")}).items_version, ItemVersion(5));
  Reopen();
  EXPECT_EQ(PutAt(PutItems({Put("c", "3")}), 0).version, ItemVersion(6));
}

TEST_P(Contract, C256_APutWithoutKeyAppends) {
  Create();
  std::vector<std::string> expected;
  for (int round = 0; round < 3; ++round) {
    const Receipt receipt = PutItems({PutIn("log", "", "x"), PutIn("log", "", "y")});
    for (const PutResult& put : receipt.puts) {
      std::string key(sizeof(uint64_t), '\0');
      key.back() = static_cast<char>(put.version.value());
      expected.push_back(key);
      EXPECT_FALSE(put.existed);
    }
  }
  EXPECT_EQ(KeysOf(Items({.collection = "log"})), expected);
  // One change does not write one item twice.
  std::string taken(sizeof(uint64_t), '\0');
  taken.back() = static_cast<char>(LoadHead().items_version.value() + 1);
  const absl::Status refused =
      RefusedItems({.puts = {PutIn("log", "", "x"), PutIn("log", taken, "y")}});
  EXPECT_EQ(ReasonIn(refused), "INVALID_FIELD");
  EXPECT_EQ(FactIn(refused, "field"), "puts[1].item.key");
  EXPECT_EQ(KeysOf(Items({.collection = "log"})), expected);
}

TEST_P(Contract, C257_IfAbsentChangesNothingWhereThereIsAnItem) {
  Create();
  PutItems({Put("a", "1")});
  const Receipt receipt = PutItems({PutIfAbsent("a", "2"), PutIfAbsent("b", "3")});
  EXPECT_THAT(receipt.puts, ElementsAre(PutResult{.version = ItemVersion(1), .existed = true},
                                        PutResult{.version = ItemVersion(3), .existed = false}));
  EXPECT_THAT(ItemTexts(), ElementsAre("a=1", "b=3"));
  EXPECT_FALSE(PutAt(PutItems({PutIfAbsent("a", "4")}, {DeleteKey("a")}), 0).existed);
  EXPECT_THAT(ItemTexts(), ElementsAre("a=4", "b=3"));
}

TEST_P(Contract, C258_IfVersionWritesOnThatVersion) {
  Create();
  const ItemVersion none;
  const ItemVersion first = PutAt(PutItems({PutOnVersion("a", "1", none)}), 0).version;
  const Receipt second = PutItems({PutOnVersion("a", "2", first)});
  EXPECT_TRUE(PutAt(second, 0).existed);
  EXPECT_THAT(ItemTexts(), ElementsAre("a=2"));
  PutItems({PutOnVersion("a", "3", none)}, {DeleteKey("a")});
  EXPECT_THAT(ItemTexts(), ElementsAre("a=3"));
}

TEST_P(Contract, C259_APutKeepsTheTimeOfCreation) {
  Create();
  const absl::Time first = clock().Wall();
  PutItems({Put("a", "1"), Put("b", "1")});
  clock().Advance(absl::Seconds(5));
  const absl::Time second = clock().Wall();
  PutItems({Put("a", "2"), Put("b", "2")}, {DeleteKey("b")});
  Reopen();
  const ItemPage page = Items();
  ASSERT_EQ(page.items.size(), 2U);
  EXPECT_EQ(page.items[0].item.created_at, first);
  EXPECT_EQ(page.items[0].item.updated_at, second);
  EXPECT_EQ(page.items[1].item.created_at, second);
}

TEST_P(Contract, C260_DeletesComeBeforePuts) {
  Create();
  PutItems({Put("a", "1"), Put("b", "1")});
  const Receipt receipt =
      PutItems({Put("a", "2"), Put("c", "2")}, {DeleteKey("c"), DeleteKey("a"), DeleteKey("b")});
  EXPECT_FALSE(PutAt(receipt, 0).existed);
  EXPECT_EQ(receipt.items_deleted, 2U);
  EXPECT_THAT(ItemTexts(), ElementsAre("a=2", "c=2"));
}

TEST_P(Contract, C261_DeletesAKeyAndNothingElse) {
  Create();
  PutItems(
      {Put("a", "1"), Put(std::string("a\0", 2), "2"), Put("aa", "3"), PutIn("other", "a", "4")});
  PutItems({}, {DeleteKey("a")});
  EXPECT_THAT(KeysOf(Items()), ElementsAre(std::string("a\0", 2), "aa"));
  EXPECT_EQ(Items({.collection = "other"}).items.size(), 1U);
  Reopen();
  EXPECT_THAT(KeysOf(Items()), ElementsAre(std::string("a\0", 2), "aa"));
}

TEST_P(Contract, C262_DeletesARangeAndNothingElse) {
  Create();
  PutItems({Put("a", ""), Put("a/", ""), Put("a/1", ""), Put("a/\xff", ""), Put("a0", ""),
            PutIn("other", "a/1", ""), Put("\xff\xff", ""), Put("b", "")});
  PutItems({}, {DeleteRange(KeysWithPrefix("a/"))});
  EXPECT_THAT(KeysOf(Items()), ElementsAre("a", "a0", "b", "\xff\xff"));
  PutItems({}, {DeleteRange({.start = "a0", .end = "b"})});
  EXPECT_THAT(KeysOf(Items()), ElementsAre("a", "b", "\xff\xff"));
  PutItems({}, {DeleteRange(KeysWithPrefix("\xff"))});
  EXPECT_THAT(KeysOf(Items()), ElementsAre("a", "b"));
  PutItems({}, {DeleteRange({})});
  Reopen();
  EXPECT_THAT(KeysOf(Items()), IsEmpty());
  EXPECT_EQ(Items({.collection = "other"}).items.size(), 1U);
}

TEST_P(Contract, C263_CountsTheItemsThatItDeletes) {
  Create();
  PutItems(NumberedPuts(1, 4));
  const Change change =
      changes().PutItems({.deletes = {DeleteKey("001"), DeleteKey("nothing"), DeleteKey("neither"),
                                      DeleteRange({.start = "003", .end = "9"})},
                          .puts = {PutIfAbsent("002", ""), Put("004", "")}});
  const Receipt receipt = Apply(change);
  EXPECT_EQ(receipt.items_deleted, 3U);
  // A repeat is answered with the same, also when the store is opened again.
  for (int opened = 0; opened < 2; ++opened) {
    const auto repeated = store().Commit(change);
    ASSERT_TRUE(repeated.ok()) << repeated.status();
    EXPECT_EQ(repeated->kind, CommitResult::Kind::kRepeated);
    EXPECT_EQ(repeated->receipt.items_deleted, 3U);
    EXPECT_EQ(repeated->receipt.puts, receipt.puts);
    EXPECT_EQ(repeated->receipt.items_version, receipt.items_version);
    const auto row = LoadRequest(change.request->id);
    ASSERT_TRUE(row.has_value());
    EXPECT_EQ(row->receipt.puts, receipt.puts);
    EXPECT_EQ(row->receipt.items_deleted, 3U);
    Reopen();
  }
}

TEST_P(Contract, C264_HistoriesAndSnapshotsLeaveItemsAsTheyAre) {
  under_test().SetRetention({.snapshots = 2});
  Reopen();
  Create();
  PutItems({Put("a", "1"), Put("b", "1")});
  for (int round = 0; round < 12; ++round) {
    RunTurn({Text("message")}, {MakeSlot("memory", absl::StrCat(round))});
    PutItems({Put("b", absl::StrCat(round))});
  }
  Change replace = changes().Write(token());
  replace.replaces_history = true;
  replace.messages = {Text("anew")};
  Apply(replace);
  EXPECT_THAT(ItemTexts(), ElementsAre("a=1", "b=11"));
  Apply(changes().Abandon(token(), Begin()));
  Apply(changes().Close(token()));
  PutItems({Put("c", "closed")});
  EXPECT_THAT(ItemTexts(), ElementsAre("a=1", "b=11", "c=closed"));
}

TEST_P(Contract, C265_ItemsAreThereWhenTheStoreIsOpenedAgain) {
  Create();
  for (int round = 0; round < 30; ++round) {
    PutItems({Put("same", absl::StrCat(round)), Put(Numbered(round), absl::StrCat(round))});
    RunTurn();
    if (round % 10 == 9) Reopen();
  }
  const ItemPage page = Items();
  ASSERT_EQ(page.items.size(), 31U);
  for (int round = 0; round < 30; ++round) {
    EXPECT_EQ(page.items[round].item.data, absl::StrCat(round));
  }
  EXPECT_EQ(page.items.back().item.data, "29");
  EXPECT_EQ(page.items.back().item.version, ItemVersion(59));
}

TEST_P(Contract, C266_DeletedItemsStayDeleted) {
  Create();
  for (int round = 0; round < 30; ++round) {
    PutItems({Put(Numbered(round), "x"), Put("again", "x")});
    RunTurn();
    PutItems({}, {DeleteKey(Numbered(round - 5)), DeleteKey("again")});
    if (round % 10 == 9) Reopen();
  }
  EXPECT_THAT(KeysOf(Items()), ElementsAre("025", "026", "027", "028", "029"));
}

TEST_P(Contract, C267_ACreationMayBringItems) {
  Change create = changes().Create();
  create.items.puts = {Put("a", "1"), Put("b", "2")};
  const Receipt receipt = Apply(create);
  EXPECT_EQ(receipt.puts.size(), 2U);
  EXPECT_EQ(receipt.items_version, ItemVersion(2));
  EXPECT_THAT(ItemTexts(), ElementsAre("a=1", "b=2"));
  Reopen();
  EXPECT_THAT(ItemTexts(), ElementsAre("a=1", "b=2"));
}

TEST_P(Contract, C268_AppendsOfSeveralWritersAreAllThere) {
  constexpr int kWriters = 4;
  constexpr int kAppends = 12;
  Create();
  std::vector<std::vector<Change>> sent(kWriters);
  for (int writer = 0; writer < kWriters; ++writer) {
    for (int i = 0; i < kAppends; ++i) {
      sent[writer].push_back(changes().PutItems({.puts = {Put("", absl::StrCat(writer, "/", i))}}));
    }
  }
  std::atomic<int> refused = 0;
  std::vector<std::thread> threads;
  threads.reserve(kWriters);
  for (const std::vector<Change>& changes : sent) {
    threads.emplace_back([&] {
      for (const Change& change : changes) {
        if (!RefusalIn(store().Commit(change)).ok()) ++refused;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(refused, 0);
  std::multiset<std::string> data;
  for (const ItemView& view : Items().items) data.insert(view.item.data.str());
  EXPECT_EQ(data.size(), size_t{kWriters} * kAppends);
  for (int writer = 0; writer < kWriters; ++writer) {
    for (int i = 0; i < kAppends; ++i) EXPECT_EQ(data.count(absl::StrCat(writer, "/", i)), 1U);
  }
}

TEST_P(Contract, C269_AnotherSessionHasNoneOfThem) {
  Create();
  Changes other(Key("alpha2"), random());
  Apply(other.Create());
  Changes elsewhere(Key("alpha", "other"), random());
  Apply(elsewhere.Create());
  PutItems({Put("a", "1")});
  for (const SessionKey& key : {other.key(), elsewhere.key()}) {
    const auto page = store().ReadItems(key, {.collection = "notes"}, kWholePage);
    ASSERT_TRUE(page.ok()) << page.status();
    EXPECT_THAT(page->items, IsEmpty());
    EXPECT_EQ(page->items_version, ItemVersion());
  }
  Apply(changes().Release(token()));
  Apply(changes().Delete());
  EXPECT_EQ(ReasonIn(store().ReadItems(key(), {.collection = "notes"}, kWholePage)), "TOMBSTONED");
}

TEST_P(Contract, C270_PagesAscendByKey) {
  Create();
  PutItems(NumberedPuts(1, 7));
  PutItems({Put("\xc3\xa4", ""), Put("\x7f", ""), Put(std::string("\0", 1), "")});
  std::vector<std::string> keys;
  ItemQuery query;
  for (ItemPage page; !page.end;) {
    page = Items(query, {.items = 4, .bytes = size_t{1} << 20});
    ASSERT_TRUE(page.last.has_value());
    EXPECT_LE(page.items.size(), 4U);
    for (const std::string& key : KeysOf(page)) keys.push_back(key);
    query.after = page.last;
  }
  EXPECT_THAT(keys, ElementsAre(std::string("\0", 1), "001", "002", "003", "004", "005", "006",
                                "007", "\x7f", "\xc3\xa4"));
  EXPECT_TRUE(Items({.collection = "nothing"}).end);
  EXPECT_EQ(Items({.collection = "nothing"}).last, std::nullopt);
}

TEST_P(Contract, C271_PagesDescendIfAsked) {
  Create();
  PutItems(NumberedPuts(1, 5));
  ItemQuery query{.descending = true};
  EXPECT_THAT(KeysOf(Items(query, {.items = 2, .bytes = size_t{1} << 20})),
              ElementsAre("005", "004"));
  query.after = "004";
  const ItemPage rest = Items(query);
  EXPECT_THAT(KeysOf(rest), ElementsAre("003", "002", "001"));
  EXPECT_TRUE(rest.end);
}

TEST_P(Contract, C272_OfARangeOnly) {
  Create();
  PutItems(NumberedPuts(1, 9));
  PutItems({PutIn("note", "005", ""), PutIn("notes2", "005", "")});
  EXPECT_THAT(KeysOf(Items({.range = {.start = "003", .end = "006"}})),
              ElementsAre("003", "004", "005"));
  EXPECT_THAT(KeysOf(Items({.range = {.start = "003", .end = "006"}, .descending = true})),
              ElementsAre("005", "004", "003"));
  EXPECT_THAT(KeysOf(Items({.range = {.start = "008"}})), ElementsAre("008", "009"));
  EXPECT_THAT(KeysOf(Items({.range = {.start = "003", .end = "006"}, .after = "004"})),
              ElementsAre("005"));
}

TEST_P(Contract, C273_OfNamedKeysOnly) {
  Create();
  PutItems(NumberedPuts(1, 9));
  ItemQuery query{.keys = {"000", "002", "0035", "004", "008"}};
  EXPECT_THAT(KeysOf(Items(query)), ElementsAre("002", "004", "008"));
  const ItemPage first = Items(query, {.items = 2, .bytes = size_t{1} << 20});
  EXPECT_THAT(KeysOf(first), ElementsAre("002", "004"));
  EXPECT_FALSE(first.end);
  query.after = first.last;
  EXPECT_THAT(KeysOf(Items(query)), ElementsAre("008"));
  EXPECT_THAT(KeysOf(Items({.collection = "other", .keys = {"002"}})), IsEmpty());
}

TEST_P(Contract, C274_OfLabelsOnly) {
  Create();
  const std::string text = "text";
  PutItems({Labelled("a", {{"kind", text}, {"n", int64_t{1}}}),
            Labelled("b", {{"kind", text}, {"n", 1.0}}),
            Labelled("c", {{"kind", text}, {"n", true}}),
            Labelled("d", {{"kind", text}, {"n", std::string("1")}}),
            Labelled("e", {{"kind", std::string("other")}, {"n", int64_t{-1}}}), Put("f", "")});
  EXPECT_THAT(KeysOf(Items({.labels = {{"kind", text}}})), ElementsAre("a", "b", "c", "d"));
  EXPECT_THAT(KeysOf(Items({.labels = {{"n", int64_t{1}}}})), ElementsAre("a"));
  EXPECT_THAT(KeysOf(Items({.labels = {{"n", 1.0}}})), ElementsAre("b"));
  EXPECT_THAT(KeysOf(Items({.labels = {{"n", true}}})), ElementsAre("c"));
  EXPECT_THAT(KeysOf(Items({.labels = {{"n", std::string("1")}, {"kind", text}}})),
              ElementsAre("d"));
  EXPECT_THAT(KeysOf(Items({.labels = {{"n", int64_t{-1}}}})), ElementsAre("e"));
  EXPECT_THAT(KeysOf(Items({.labels = {{"other", text}}})), IsEmpty());
  EXPECT_THAT(KeysOf(Items({.range = {.start = "b", .end = "d"}, .labels = {{"kind", text}}})),
              ElementsAre("b", "c"));
}

TEST_P(Contract, C275_SaysWhereAPageByLabelsStopped) {
  constexpr uint32_t kMore = 20;
  Create();
  uint32_t written = 0;
  while (written < kItemsLookedAt + kMore) {
    std::vector<ItemPut> puts;
    for (; puts.size() < kItemPutsPerChange && written < kItemsLookedAt + kMore; ++written) {
      puts.push_back(Put(absl::StrCat(absl::Dec(written, absl::kZeroPad6)), ""));
    }
    if (written == kItemsLookedAt + kMore) puts.back().item.labels["last"] = true;
    PutItems(std::move(puts));
  }
  ItemQuery query{.labels = {{"last", true}}};
  const ItemPage first = Items(query);
  EXPECT_THAT(first.items, IsEmpty());
  EXPECT_FALSE(first.end);
  ASSERT_TRUE(first.last.has_value());
  EXPECT_EQ(*first.last, absl::StrCat(absl::Dec(kItemsLookedAt - 1, absl::kZeroPad6)));
  EXPECT_EQ(first.looked_at, kItemsLookedAt);
  query.after = first.last;
  query.look_most = kMore - 1;
  const ItemPage fewer = Items(query);
  EXPECT_THAT(fewer.items, IsEmpty());
  EXPECT_FALSE(fewer.end);
  EXPECT_EQ(fewer.looked_at, kMore - 1);
  query.look_most = kItemsLookedAt;
  const ItemPage second = Items(query);
  EXPECT_EQ(second.items.size(), 1U);
  EXPECT_EQ(second.looked_at, kMore);
  EXPECT_TRUE(second.end);
}

TEST_P(Contract, C276_ItemsComeAsTheyWereWritten) {
  Create();
  ItemPut put = Put(std::string("k\0\xff", 3), std::string("d\0\xff", 3));
  put.item.labels = {{"s", std::string("\xc3\xa4")}, {"i", int64_t{-5}}, {"d", -0.5}, {"b", false}};
  put.item.content_type = "application/json";
  put.item.parent_key = std::string("p\0", 2);
  put.item.refs = {{.collection = "other", .key = std::string("r\0", 2)},
                   {.collection = "notes", .key = "r"}};
  const Receipt receipt = PutItems({put, Put("large", std::string(300'000, 'x'))});
  for (int opened = 0; opened < 2; ++opened) {
    const ItemPage page = Items();
    ASSERT_EQ(page.items.size(), 2U);
    Item expected = put.item;
    expected.version = PutAt(receipt, 0).version;
    expected.created_at = page.items[0].item.created_at;
    expected.updated_at = expected.created_at;
    EXPECT_TRUE(page.items[0].item == expected);
    EXPECT_EQ(page.items[1].item.data, std::string(300'000, 'x'));
    RunTurn();
    Reopen();
  }
}

TEST_P(Contract, C277_BringsDataOnlyIfAsked) {
  Create();
  PutItems({Put("a", "12345"), Put("b", ""), Put("c", std::string(200'000, 'x'))});
  const auto page = store().ReadItems(key(), {.collection = "notes"}, {.items = 10, .bytes = 100});
  ASSERT_TRUE(page.ok()) << page.status();
  ASSERT_EQ(page->items.size(), 3U);
  EXPECT_TRUE(page->end);
  for (const ItemView& view : page->items) EXPECT_TRUE(view.item.data.empty());
  EXPECT_EQ(page->items[0].size, 5U);
  EXPECT_EQ(page->items[1].size, 0U);
  EXPECT_EQ(page->items[2].size, 200'000U);
  // With their data they take a page's room; the first one is a page of its own.
  const ItemPage first = Items({.range = {.start = "c"}}, {.items = 10, .bytes = 100});
  EXPECT_EQ(first.items.size(), 1U);
  EXPECT_THAT(KeysOf(Items({}, {.items = 10, .bytes = 100})), ElementsAre("a", "b"));
  // The facts of an item take room too.
  std::vector<ItemPut> puts;
  for (const char* const key : {"d", "e", "f"}) {
    puts.push_back(Put(key, "data"));
    puts.back().item.content_type = std::string(100, 't');
  }
  PutItems(puts);
  const uint64_t each = ItemBytes(puts[0].item);
  const size_t data = puts[0].item.data.size();
  EXPECT_EQ(Items({.range = {.start = "d"}}, {.items = 10, .bytes = 2 * each}).items.size(), 2U);
  EXPECT_EQ(Items({.range = {.start = "d"}}, {.items = 10, .bytes = 2 * each - 1}).items.size(),
            1U);
  const auto without = store().ReadItems(key(), {.collection = "notes", .range = {.start = "d"}},
                                         {.items = 10, .bytes = 2 * (each - data)});
  ASSERT_TRUE(without.ok()) << without.status();
  EXPECT_EQ(without->items.size(), 2U);
}

TEST_P(Contract, C278_APageShowsOneState) {
  constexpr int kRounds = 40;
  Create();
  PutItems({Put("a", "0"), Put("z", "0")});
  std::vector<Change> sent;
  for (int round = 1; round <= kRounds; ++round) {
    sent.push_back(changes().PutItems(
        {.puts = {Put("a", absl::StrCat(round)), Put("z", absl::StrCat(round))}}));
  }
  std::atomic<bool> done = false;
  std::thread writer([&] {
    for (const Change& change : sent) EXPECT_TRUE(RefusalIn(store().Commit(change)).ok());
    done = true;
  });
  while (!done) {
    const ItemPage page = Items();
    ASSERT_EQ(page.items.size(), 2U);
    EXPECT_EQ(page.items[0].item.data, page.items[1].item.data);
    EXPECT_EQ(page.items_version, page.items[1].item.version);
  }
  writer.join();
  for (const ItemView& view : Items().items) EXPECT_EQ(view.item.data, absl::StrCat(kRounds));
}

}  // namespace
}  // namespace holdfast::test

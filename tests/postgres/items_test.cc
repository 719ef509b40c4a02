// Items in the database: what their rows say, who may write at the same time, and when they go.
// What they are for every store is in tests/contract/items_test.cc, and what they cost in
// cost_test.cc.
#include "session/codec/item_facts.h"
#include "session/item.h"
#include "session/limits.h"
#include "tests/postgres/store_fixture.h"
#include "tests/support/grouped_commit.h"
#include "tests/support/wait.h"

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

using ::testing::ElementsAre;

constexpr PageLimit kWholeItemPage{.items = 5000, .bytes = 64 * kMiB};

ItemDelete DeleteKey(const std::string& key) { return {.collection = "notes", .keys = key}; }
ItemDelete DeleteRange(const std::string& start, const std::string& end) {
  return {.collection = "notes", .keys = KeyRange{.start = start, .end = end}};
}

std::string Numbered(uint64_t number) {
  return absl::StrCat("key-", absl::Dec(number, absl::kZeroPad4));
}

// What the store has of items, as a map would.
class Model {
 public:
  // What the writes answer, whose puts get the next versions.
  Receipt Write(const ItemWrites& writes) {
    Receipt receipt;
    for (const ItemDelete& wanted : writes.deletes) {
      receipt.items_deleted += std::erase_if(items_, [&](const auto& item) {
        const auto* const key = std::get_if<std::string>(&wanted.keys);
        return key != nullptr ? item.first == *key
                              : std::get<KeyRange>(wanted.keys).Contains(item.first);
      });
    }
    if (!writes.deletes.empty()) version_ = version_.Next();
    for (const ItemPut& put : writes.puts) Put(put, receipt);
    return receipt;
  }

  [[nodiscard]] ItemTotals totals() const {
    ItemTotals totals;
    for (const auto& [key, item] : items_) {
      ++totals.items;
      totals.bytes += ItemBytes(item);
    }
    return totals;
  }
  [[nodiscard]] const std::map<std::string, Item>& items() const { return items_; }
  [[nodiscard]] ItemVersion VersionOf(const std::string& key) const {
    const auto found = items_.find(key);
    return found == items_.end() ? ItemVersion() : found->second.version;
  }

 private:
  void Put(const ItemPut& put, Receipt& receipt) {
    version_ = version_.Next();
    const auto found = items_.find(put.item.name.key);
    const bool there = found != items_.end();
    if (there && put.condition == PutCondition::kIfAbsent) {
      receipt.puts.push_back({.version = found->second.version, .existed = true});
      return;
    }
    Item& item = items_[put.item.name.key];
    item = put.item;
    item.version = version_;
    receipt.puts.push_back({.version = version_, .existed = there});
  }

  ItemVersion version_;
  std::map<std::string, Item> items_;
};

class PgItems : public PostgresStoreTest {
 protected:
  Receipt PutItems(std::vector<ItemPut> puts, std::vector<ItemDelete> deletes = {}) {
    return Apply(changes().PutItems({.deletes = std::move(deletes), .puts = std::move(puts)}));
  }
  ItemPage Read(ItemQuery query = {}) {
    query.collection = "notes";
    const auto page = store().ReadItems(key(), query, kWholeItemPage);
    EXPECT_EQ(ReasonOf(page.status()), "OK");
    return page.ok() ? *page : ItemPage();
  }
  std::string Ask(const std::string& what) { return database().AskText("SELECT " + what); }
  // The columns of the session that count its items.
  ItemTotals StoredTotals() {
    const std::string session = " FROM holdfast.session WHERE session_id = 'alpha'";
    return {.items = std::stoull(Ask("items::text" + session)),
            .bytes = std::stoull(Ask("item_bytes::text" + session))};
  }
  void Delete() {
    Change gone = changes().Delete();
    gone.guard.lease = LeaseRule::kForce;
    Apply(gone);
  }
  void Sweep() {
    EXPECT_TRUE(store().ListDue(DueKind::kAbandoned, absl::Minutes(5), std::nullopt, 10).ok());
  }

  // Some puts, conditions and deletes of few keys.
  ItemWrites RandomWrites(const Model& model) {
    ItemWrites writes;
    std::vector<std::string> put_keys;
    for (uint64_t left = Below(5); left > 0; --left) {
      const std::string key = Numbered(Below(60));
      if (std::ranges::count(put_keys, key) > 0) continue;
      put_keys.push_back(key);
      writes.puts.push_back(RandomPut(key));
    }
    if (Below(3) == 0) writes.deletes.push_back(DeleteKey(Numbered(Below(60))));
    if (Below(5) == 0) {
      const uint64_t start = Below(60);
      writes.deletes.push_back(DeleteRange(Numbered(start), Numbered(start + Below(12))));
    }
    if (writes.empty()) writes.puts.push_back(RandomPut(Numbered(7)));
    if (!writes.deletes.empty()) return writes;
    for (ItemPut& put : writes.puts) {
      if (Below(4) != 0 || put.condition != PutCondition::kAny) continue;
      put.condition = PutCondition::kIfVersion;
      put.expected = model.VersionOf(put.item.name.key);
    }
    return writes;
  }

  // Below `most`.
  uint64_t Below(uint64_t most) { return static_cast<unsigned char>(random().Bytes(1)[0]) % most; }

 private:
  ItemPut RandomPut(const std::string& key) {
    ItemPut put = Put(key, random().Bytes(Below(200) * 20));
    if (Below(3) == 0) put.item.labels = {{"n", static_cast<int64_t>(Below(3))}};
    if (Below(4) == 0) put.condition = PutCondition::kIfAbsent;
    return put;
  }
};

TEST_F(PgItems, AgreesWithAMapAfterRandomWrites) {
  Create();
  Model model;
  for (int round = 0; round < 400; ++round) {
    const ItemWrites writes = RandomWrites(model);
    const Receipt expected = model.Write(writes);
    const Receipt receipt = Apply(changes().PutItems(writes));
    ASSERT_EQ(receipt.puts, expected.puts) << round;
    ASSERT_EQ(receipt.items_deleted, expected.items_deleted) << round;
    if (round % 20 == 0) {
      ASSERT_EQ(StoredTotals(), model.totals()) << round;
    }
    if (round % 100 == 50) Reopen();
  }
  EXPECT_EQ(StoredTotals(), model.totals());
  const ItemPage page = Read({.data = true});
  ASSERT_EQ(page.items.size(), model.items().size());
  auto expected = model.items().begin();
  for (const ItemView& view : page.items) {
    EXPECT_EQ(view.item.name.key, expected->first);
    EXPECT_EQ(view.item.version, expected->second.version);
    EXPECT_EQ(view.item.labels, expected->second.labels);
    EXPECT_EQ(view.item.data, expected->second.data);
    ++expected;
  }
  EXPECT_EQ(Ask("count(*)::text || ' ' || sum(bytes) FROM holdfast.item"),
            absl::StrCat(model.totals().items, " ", model.totals().bytes));
}

TEST_F(PgItems, LeavesNothingWhenItRefuses) {
  database().SetItemBounds({.items = 3, .bytes = 1000, .deletes = 2});
  Reopen();
  Create();
  PutItems({Put("a", "1"), Put("b", "2"), Put("c", "3")});
  const ItemTotals before = StoredTotals();
  const std::string rows = Ask("string_agg(i::text, ' ' ORDER BY key) FROM holdfast.item i");
  const std::vector<ItemWrites> refused = {
      {.puts = {Put("a", "x"), PutOnVersion("b", "y", ItemVersion(9))}},
      {.puts = {Put("a", "x"), Put("d", "4")}},
      {.puts = {Put("a", std::string(1000, 'x'))}},
      {.deletes = {DeleteRange("a", "")}, .puts = {Put("a", "x")}},
      {.expected_last = ExpectedLast{.collection = "notes", .range = {}, .key = "b"},
       .puts = {Put("a", "x")}}};
  for (const ItemWrites& writes : refused) {
    const Change change = changes().PutItems(writes);
    const auto result = store().Commit(change);
    ASSERT_TRUE(result.ok());
    EXPECT_EQ(result->kind, CommitResult::Kind::kRefused);
    EXPECT_EQ(StoredTotals(), before);
    EXPECT_EQ(Ask("string_agg(i::text, ' ' ORDER BY key) FROM holdfast.item i"), rows);
    EXPECT_FALSE(store().LoadForDecision(key(), change.request->id)->request.has_value());
  }
  EXPECT_EQ(PutItems({Put("a", "x")}).items_version, ItemVersion(4));
}

TEST_F(PgItems, ARefusedCreationLeavesNoSession) {
  Change create = changes().Create();
  create.items.puts = {Put("a", "1"), PutOnVersion("b", "2", ItemVersion(1))};
  const auto refused = store().Commit(create);
  EXPECT_EQ(ReasonOf(refused), "STALE_REVISION");
  EXPECT_EQ(Ask("count(*)::text FROM holdfast.session"), "0");
  EXPECT_EQ(Ask("count(*)::text FROM holdfast.item"), "0");
  create.items.puts.pop_back();
  EXPECT_EQ(Apply(create).puts.size(), 1U);
  EXPECT_EQ(StoredTotals(), (ItemTotals{.items = 1, .bytes = ItemBytes(Put("a", "1").item)}));
  // One that comes late names what is there.
  Change late = changes().Create();
  late.items.puts = {PutOnVersion("b", "2", ItemVersion(1))};
  EXPECT_EQ(ReasonOf(store().Commit(late)), "SESSION_EXISTS");
}

// Of two servers with the same head one writes; the other decides on what the first one left.
TEST_F(PgItems, OneOfTwoServersWritesOnAVersion) {
  constexpr int kRounds = 40;
  Create();
  const std::unique_ptr<SessionStore> other = AnotherServer();
  ItemVersion version = PutItems({Put("a", "0")}).puts[0].version;
  for (int round = 0; round < kRounds; ++round) {
    const std::vector<Change> sent = {
        changes().PutItems({.puts = {PutOnVersion("a", "here", version), Put("", "here")}}),
        changes().PutItems({.puts = {PutOnVersion("a", "there", version), Put("", "there")}})};
    absl::StatusOr<CommitResult> there;
    std::thread racing([&] { there = other->Commit(sent[1]); });
    const auto here = store().Commit(sent[0]);
    racing.join();
    ASSERT_TRUE(here.ok() && there.ok());
    const bool first = here->kind == CommitResult::Kind::kApplied;
    ASSERT_NE(first, there->kind == CommitResult::Kind::kApplied);
    const CommitResult& lost = first ? *there : *here;
    version = (first ? *here : *there).receipt.puts[0].version;
    EXPECT_EQ(ReasonOf(lost.refusal), "STALE_REVISION");
    EXPECT_EQ(RefusalOf(lost.refusal).facts().at("actual"), absl::StrCat(version.value()));
  }
  EXPECT_EQ(Read().items.size(), 1U + kRounds);
  EXPECT_EQ(StoredTotals().items, 1U + kRounds);
  Close(other);
}

TEST_F(PgItems, KeepsTheResultsOfManyPutsForARepeat) {
  Create();
  PutItems({Put(Numbered(0), "there")});
  std::vector<ItemPut> puts;
  for (size_t i = 0; i < kItemPutsPerChange; ++i) puts.push_back(PutIfAbsent(Numbered(i), "x"));
  const Change change = changes().PutItems({.deletes = {DeleteKey("none")}, .puts = puts});
  const Receipt receipt = Apply(change);
  ASSERT_EQ(receipt.puts.size(), kItemPutsPerChange);
  EXPECT_TRUE(receipt.puts[0].existed);
  const std::unique_ptr<SessionStore> other = AnotherServer();
  const auto repeated = other->Commit(change);
  ASSERT_EQ(ReasonOf(repeated), "OK");
  EXPECT_EQ(repeated->kind, CommitResult::Kind::kRepeated);
  EXPECT_EQ(repeated->receipt.puts, receipt.puts);
  const auto outcome = other->LoadForOutcome(key(), change.request->id);
  ASSERT_TRUE(outcome.ok() && outcome->request);
  EXPECT_EQ(outcome->request->receipt.puts, receipt.puts);
  // What the changes said is read one behind the other.
  const auto audit = other->ReadAudit(key(), AuditSeq(), kWholeItemPage);
  ASSERT_EQ(ReasonOf(audit.status()), "OK");
  EXPECT_EQ(audit->records.size(), 3U);
  Close(other);
}

TEST_F(PgItems, AChangeOfItemsIsLeftOutOfAGroup) {
  Create();
  const Change change = changes().PutItems({.puts = {Put("a", "1")}});
  const std::vector<GroupedResult> results = store().CommitMany({{.change = &change, .span = {}}});
  ASSERT_EQ(results.size(), 1U);
  EXPECT_EQ(results[0].kind, GroupedResult::Kind::kAlone);
  EXPECT_TRUE(Read().items.empty());
}

TEST_F(PgItems, AnItemThatCannotBeReadHidesNoOther) {
  Create();
  PutItems({Put("a", "1"), Put("b", "22"), Put("c", "3")});
  database().Run("UPDATE holdfast.item SET facts = 'x' WHERE key = 'b'");
  const ItemPage page = Read({.data = true});
  ASSERT_EQ(page.items.size(), 3U);
  EXPECT_FALSE(page.items[0].damaged || page.items[2].damaged);
  EXPECT_TRUE(page.items[1].damaged);
  EXPECT_EQ(page.items[1].item.name.key, "b");
  EXPECT_EQ(page.items[1].size, 2U);
  EXPECT_TRUE(page.items[1].item.data.empty());
  // It can be replaced.
  PutItems({Put("b", "whole")});
  EXPECT_EQ(Read({.data = true}).items[1].item.data, "whole");
}

TEST_F(PgItems, FindsKeysThatAreMadeOfAnyBytes) {
  Create();
  const std::string longest(kItemKeyBytes, '\xff');
  PutItems({Put(std::string("\0", 1), ""), Put(std::string("a\0b", 3), ""), Put("\\x00", ""),
            Put(longest, "")});
  const ItemPage page = Read({.keys = {std::string("\0", 1), "\\x00", longest}});
  ASSERT_EQ(page.items.size(), 3U);
  EXPECT_EQ(page.items[2].item.name.key, longest);
  EXPECT_EQ(Read({.range = {.start = longest}}).items.size(), 1U);
  EXPECT_EQ(Read({.descending = true}).items[0].item.name.key, longest);
  EXPECT_EQ(PutItems({}, {DeleteRange("b", "")}).items_deleted, 1U);
  EXPECT_EQ(Read().items.size(), 3U);
}

// A page by labels goes on behind the last item that it looked at.
TEST_F(PgItems, PagesByLabelsBringEachItemOnce) {
  Create();
  std::vector<ItemPut> puts;
  for (uint64_t i = 0; i < 200; ++i) {
    puts.push_back(Put(Numbered(i), std::string(100, 'x')));
    if (i % 7 == 0) puts.back().item.labels = {{"wanted", true}, {"n", static_cast<int64_t>(i)}};
  }
  PutItems(std::move(puts));
  for (const bool descending : {false, true}) {
    ItemQuery query{.collection = "notes",
                    .descending = descending,
                    .labels = {{"wanted", true}},
                    .data = true};
    std::vector<std::string> found;
    for (bool end = false; !end;) {
      const auto page = store().ReadItems(key(), query, {.items = 10, .bytes = 450});
      ASSERT_EQ(ReasonOf(page.status()), "OK");
      ASSERT_LE(page->items.size(), 4U);
      for (const ItemView& view : page->items) found.push_back(view.item.name.key);
      query.after = page->last;
      end = page->end;
    }
    if (descending) std::ranges::reverse(found);
    ASSERT_EQ(found.size(), 29U);
    for (size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i], Numbered(7 * i));
  }
}

TEST_F(PgItems, ACommitBesideItemsIsAHotUpdate) {
  Create();
  RunTurn({Text("one")});  // the first turn enters the rows that sweeps look at
  for (int i = 0; i < 3; ++i) PutItems({Put("same", "x"), Put("", "y")});
  RunTurn({Text("more")});
  CloseStore();  // its connections report their statistics when they end
  const auto counted = [&] {
    return Ask(
        "n_tup_upd::text FROM pg_stat_user_tables WHERE relid = 'holdfast.session'::regclass");
  };
  EXPECT_TRUE(holdfast::testing::WaitUntil([&] { return counted() == "7"; })) << counted();
  EXPECT_EQ(Ask("(n_tup_upd - n_tup_hot_upd)::text FROM pg_stat_user_tables"
                " WHERE relid = 'holdfast.session'::regclass"),
            "1");
}

// The data of a large item lies outside of its row.
TEST_F(PgItems, AReadWithoutDataLooksAtNone) {
  const auto blocks = [this] {
    CloseAndCountReads();
    return Ask(
        "(tidx_blks_read + tidx_blks_hit)::text FROM pg_statio_user_tables"
        " WHERE relid = 'holdfast.item'::regclass");
  };
  Create();
  PutItems({Put("a", random().Bytes(300'000)), Put("b", random().Bytes(5000))});
  const std::string written = blocks();
  Reopen();
  for (int i = 0; i < 10; ++i) {
    const ItemPage page = Read();
    ASSERT_EQ(page.items.size(), 2U);
    EXPECT_EQ(page.items[0].size, 300'000U);
    EXPECT_EQ(page.items[1].size, 5000U);
  }
  EXPECT_EQ(blocks(), written);
  Reopen();
  EXPECT_EQ(Read({.data = true}).items[0].item.data.size(), 300'000U);
  EXPECT_NE(blocks(), written);
}

TEST_F(PgItems, ItemsOfADeletedSessionGoInBoundedSteps) {
  Create();
  std::vector<ItemPut> puts;
  for (uint64_t i = 0; i < 2500; ++i) puts.push_back(Put(Numbered(i), "x"));
  PutItems(std::move(puts));
  Delete();
  EXPECT_EQ(ReasonOf(store().ReadItems(key(), {.collection = "notes"}, kWholeItemPage).status()),
            "TOMBSTONED");
  const auto count = [this] { return Ask("count(*)::text FROM holdfast.item"); };
  Sweep();
  EXPECT_EQ(count(), "2500");  // as everything else of the session
  clock().Advance(absl::Minutes(1));
  database().Run("DELETE FROM holdfast.log; DELETE FROM holdfast.slot");
  EXPECT_EQ(Ask("holdfast.purge_one('default', 'alpha', 100)::text"), "100");
  // A megabyte counts as much as 64 rows.
  database().Run("UPDATE holdfast.item SET bytes = 1048576");
  EXPECT_EQ(Ask("holdfast.purge_one('default', 'alpha', 1000)::text"), "16");
  EXPECT_EQ(count(), "2384");
  database().Run("UPDATE holdfast.item SET bytes = 20");
  statements().Take();
  Sweep();
  EXPECT_EQ(count(), "0");
  const std::vector<std::string> asked = statements().Take();
  EXPECT_EQ(std::ranges::count(asked, "purge_one"), 4);
}

TEST_F(PgItems, APruneLeavesThemThere) {
  Create();
  PutItems({Put("a", "1")});
  for (int i = 0; i < 40; ++i) RunTurn({Text("more")});
  Apply(changes().Close(token()));
  EXPECT_TRUE(holdfast::testing::WaitUntil([this] {
    const std::vector<std::string> asked = statements().Take();
    return std::ranges::count(asked, "prune") > 0;
  }));
  clock().Advance(absl::Hours(1));
  Sweep();
  EXPECT_EQ(Read().items.size(), 1U);
}

}  // namespace
}  // namespace holdfast::test

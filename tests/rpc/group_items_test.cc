// One page of the items of a group, without a server: what the listing and the reads of a store
// answer is in the hand of a test.
#include "server/rpc/read/group_items.h"

#include "session/forwarding_store.h"
#include "session/limits.h"
#include "session/refusal.h"
#include "tests/support/changes.h"
#include "tests/support/fake_clock.h"
#include "tests/support/reference_disk.h"
#include "tests/support/reference_store.h"
#include "tests/support/seeded_random.h"

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A store whose sessions may change between a listing and their reads.
class ListedStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;

  absl::StatusOr<ListPage> List(const ListQuery& query) override {
    ++lists;
    absl::StatusOr<ListPage> page = ForwardingStore::List(query);
    if (!page.ok()) return page;
    page->complete = is_complete;
    for (SessionRow& row : page->rows) {
      if (foreign.contains(row.id.value())) row.condition = SessionRow::Condition::kForeign;
    }
    if (behind_list) std::exchange(behind_list, nullptr)();
    return page;
  }

  absl::StatusOr<ItemPage> ReadItems(const SessionKey& key, const ItemQuery& query,
                                     PageLimit limit) override {
    reads.push_back(key.session.value());
    look_most.push_back(query.look_most);
    const auto failure = failures.find(key.session.value());
    if (failure != failures.end()) return failure->second;
    return ForwardingStore::ReadItems(key, query, limit);
  }

  int lists = 0;
  std::vector<std::string> reads;
  std::vector<uint32_t> look_most;  // of each read
  bool is_complete = true;
  std::set<std::string> foreign;
  std::map<std::string, absl::Status> failures;  // of the reads of a session
  std::function<void()> behind_list;             // called once, when a listing has been read
};

class GroupItemsOfStore : public ::testing::Test {
 protected:
  GroupItemsOfStore() {
    EXPECT_TRUE(store_->Init().ok());
    EXPECT_TRUE(store_->Activate().ok());
  }

  ListedStore& store() { return *store_; }

  void Apply(const Change& change) {
    const auto result = store().Commit(change);
    ASSERT_TRUE(result.ok() && result->kind == CommitResult::Kind::kApplied) << result.status();
    clock_.Advance(absl::Seconds(1));
  }
  // A session of the group, created behind all others; answers its uid.
  SessionUid CreateIn(const std::string& group, const std::string& id,
                      const std::optional<SessionUid>& replaces = std::nullopt) {
    Change create = Changes(Key(id), random_).Create();
    create.create->group = group;
    create.create->replaces = replaces;
    Apply(create);
    return create.create->uid;
  }
  void PutKeys(const std::string& id, const std::vector<std::string>& keys,
               const std::string& data = "data") {
    ItemWrites writes;
    for (const std::string& key : keys) writes.puts.push_back(Put(key, data));
    Change change = Changes(Key(id), random_).PutItems(std::move(writes));
    change.guard.uid = UidOf(id);
    Apply(change);
  }
  void Fill(const std::string& group, const std::string& id, const std::vector<std::string>& keys) {
    CreateIn(group, id);
    PutKeys(id, keys);
  }
  SeededRandom& random() { return random_; }
  void DeleteNow(const std::string& id) {
    Change change = Changes(Key(id), random_).Delete();
    change.guard.lease = LeaseRule::kForce;
    change.guard.uid = UidOf(id);
    Apply(change);
  }
  SessionUid UidOf(const std::string& id) {
    const auto loaded = store().LoadForDecision(Key(id), std::nullopt);
    EXPECT_TRUE(loaded.ok()) << loaded.status();
    return loaded.ok() ? loaded->head.uid : SessionUid();
  }

  static pb::ReadItemsRequest OfGroup(const std::string& group) {
    pb::ReadItemsRequest request;
    request.set_group(group);
    request.set_collection("notes");
    return request;
  }
  absl::StatusOr<GroupItems> Read(const pb::ReadItemsRequest& request) {
    return ReadGroupItems(sessions_, caller_, request);
  }
  // `SESSION/KEY` of each item of the page; `request` then asks for the next one.
  std::vector<std::string> Page(pb::ReadItemsRequest& request) {
    const auto read = Read(request);
    EXPECT_TRUE(read.ok()) << read.status();
    if (!read.ok()) return {};
    std::vector<std::string> names;
    for (const SessionItems& of : read->sessions) {
      EXPECT_FALSE(of.items.empty());
      EXPECT_TRUE(of.session.uid.has_value());
      for (const ItemView& view : of.items) {
        names.push_back(absl::StrCat(of.session.id.value(), "/", view.item.name.key));
      }
    }
    unreadable_.insert(unreadable_.end(), read->unreadable.begin(), read->unreadable.end());
    request.set_page_token(read->next_page_token);
    return names;
  }
  // Of all pages.
  std::vector<std::string> All(pb::ReadItemsRequest request) {
    std::vector<std::string> all;
    do {
      for (std::string& name : Page(request)) all.push_back(std::move(name));
    } while (!request.page_token().empty());
    return all;
  }
  const std::vector<std::string>& unreadable() const { return unreadable_; }

 private:
  FakeClock clock_;
  SeededRandom random_;
  std::shared_ptr<ListedStore> store_ =
      std::make_shared<ListedStore>(std::make_shared<ReferenceStore>(
          std::make_shared<ReferenceDisk>(NewReferenceDisk(random_)), clock_));
  Sessions sessions_{*store_, random_};
  const Caller caller_{.tenant = *TenantId::Parse("default"), .trace = {}, .span_id = ""};
  std::vector<std::string> unreadable_;
};

TEST_F(GroupItemsOfStore, TakeOneListingAndOneReadOfEachSession) {
  Fill("g", "b", {"1", "2"});
  Fill("other", "x", {"1"});
  CreateIn("g", "empty");
  Fill("g", "a", {"1"});
  pb::ReadItemsRequest request = OfGroup("g");
  EXPECT_THAT(Page(request), ElementsAre("b/1", "b/2", "a/1"));
  EXPECT_EQ(request.page_token(), "");
  EXPECT_EQ(store().lists, 1);
  EXPECT_THAT(store().reads, ElementsAre("b", "empty", "a"));
  EXPECT_THAT(All(OfGroup("none")), IsEmpty());
  // What is left of a session is read before the listing.
  store().reads.clear();
  request.set_page_size(1);
  EXPECT_THAT(Page(request), ElementsAre("b/1"));
  EXPECT_THAT(Page(request), ElementsAre("b/2"));
  EXPECT_THAT(Page(request), ElementsAre("a/1"));
  EXPECT_EQ(request.page_token(), "");
  EXPECT_THAT(store().reads, ElementsAre("b", "b", "empty", "a"));
}

TEST_F(GroupItemsOfStore, LeaveOutWhatGoesBetweenListingAndRead) {
  for (const char* id : {"a", "b", "c"}) Fill("g", id, {"1"});
  store().behind_list = [&] {
    DeleteNow("a");
    const SessionUid former = UidOf("b");
    DeleteNow("b");
    CreateIn("g", "b", former);
    PutKeys("b", {"new"});
  };
  pb::ReadItemsRequest request = OfGroup("g");
  EXPECT_THAT(Page(request), ElementsAre("c/1"));
  EXPECT_EQ(request.page_token(), "");
  EXPECT_THAT(unreadable(), IsEmpty());
  EXPECT_THAT(All(OfGroup("g")), ElementsAre("c/1", "b/new"));
}

TEST_F(GroupItemsOfStore, SkipTheRestOfADeletedSession) {
  Fill("g", "a", {"1", "2", "3"});
  Fill("g", "b", {"1"});
  pb::ReadItemsRequest request = OfGroup("g");
  request.set_page_size(2);
  EXPECT_THAT(Page(request), ElementsAre("a/1", "a/2"));
  DeleteNow("a");
  Fill("g", "late", {"1"});
  EXPECT_THAT(All(request), ElementsAre("b/1", "late/1"));
  EXPECT_THAT(unreadable(), IsEmpty());
}

TEST_F(GroupItemsOfStore, ReadAReplacedSessionWhereItsSuccessorIsListed) {
  const SessionUid former = CreateIn("g", "a");
  PutKeys("a", {"1", "2", "3"});
  Fill("g", "b", {"1"});
  pb::ReadItemsRequest request = OfGroup("g");
  request.set_page_size(2);
  EXPECT_THAT(Page(request), ElementsAre("a/1", "a/2"));
  DeleteNow("a");
  CreateIn("g", "a", former);
  PutKeys("a", {"0", "4"});
  EXPECT_THAT(All(request), ElementsAre("b/1", "a/0", "a/4"));
}

TEST_F(GroupItemsOfStore, ListByGroupFirstForAPrefix) {
  Fill("app/two", "first", {"1"});
  Fill("app/one", "z", {"1", "2"});
  Fill("app/one", "y", {"1"});
  Fill("apps", "x", {"1"});
  Fill("app/one/more", "w", {"1"});
  Fill("", "v", {"1"});
  const std::vector<std::string> expected = {"z/1", "z/2", "y/1", "w/1", "first/1"};
  pb::ReadItemsRequest request = OfGroup("");
  request.set_group_prefix("app/");
  for (const int page_size : {1, 2, 3, 4, 5, 6, 0}) {
    request.set_page_size(page_size);
    EXPECT_EQ(All(request), expected) << page_size;
  }
  // One that is created meanwhile is read where its place is behind the page.
  request.set_page_size(3);
  EXPECT_THAT(Page(request), ElementsAre("z/1", "z/2", "y/1"));
  Fill("app/a", "early", {"1"});
  Fill("app/one", "late", {"1"});
  EXPECT_THAT(All(request), ElementsAre("late/1", "w/1", "first/1"));
}

TEST_F(GroupItemsOfStore, NameSessionsThatCannotBeRead) {
  for (const char* id : {"a", "b", "c", "d", "e", "f"}) Fill("g", id, {"1"});
  store().foreign = {"a"};
  store().failures = {{"b", Refusal(Reason::kDamaged, "it is damaged").ToStatus()},
                      {"d", Refusal(Reason::kManifestDrift, "it is another's").ToStatus()},
                      {"f", Refusal(Reason::kResumeMismatch, "it is another's").ToStatus()}};
  pb::ReadItemsRequest request = OfGroup("g");
  EXPECT_THAT(Page(request), ElementsAre("c/1", "e/1"));
  EXPECT_THAT(unreadable(), ElementsAre("a", "b", "d", "f"));
  EXPECT_EQ(request.page_token(), "");
  // Another failure ends the call.
  store().failures = {{"c", StoreUnavailable("away", Fate::kNoEffect).ToStatus()}};
  EXPECT_TRUE(Is(Read(request).status(), Reason::kStoreUnavailable));
}

TEST_F(GroupItemsOfStore, AreRefusedWhileTheListingIsNotComplete) {
  Fill("g", "a", {"1"});
  store().is_complete = false;
  const absl::Status refused = Read(OfGroup("g")).status();
  EXPECT_TRUE(Is(refused, Reason::kStoreUnavailable)) << refused;
  EXPECT_TRUE(RefusalOf(refused).retry_after().has_value());
  store().is_complete = true;
  EXPECT_THAT(All(OfGroup("g")), ElementsAre("a/1"));
}

TEST_F(GroupItemsOfStore, AreReadOfABoundedNumberOfSessions) {
  constexpr uint32_t kMore = 3;
  for (uint32_t i = 0; i < kSessionsPerItemPage + kMore; ++i) {
    CreateIn("g", absl::StrCat("s", absl::Dec(i, absl::kZeroPad4)));
  }
  Fill("g", "last", {"1"});
  pb::ReadItemsRequest request = OfGroup("g");
  EXPECT_THAT(Page(request), IsEmpty());
  EXPECT_NE(request.page_token(), "");
  EXPECT_EQ(store().reads.size(), kSessionsPerItemPage);
  EXPECT_EQ(store().lists, 1);
  EXPECT_THAT(Page(request), ElementsAre("last/1"));
  EXPECT_EQ(request.page_token(), "");
  EXPECT_EQ(store().reads.size(), kSessionsPerItemPage + kMore + 1);
}

TEST_F(GroupItemsOfStore, LookAtABoundedNumberOfItemsForLabels) {
  constexpr uint32_t kEach = 4000;
  for (const char* id : {"a", "b", "c"}) {
    std::vector<std::string> keys;
    for (uint32_t i = 0; i < kEach; ++i) {
      keys.push_back(absl::StrCat(absl::Dec(i, absl::kZeroPad4)));
    }
    Fill("g", id, keys);
  }
  ItemPut found = Put("z", "data");
  found.item.labels["found"] = true;
  Apply(Changes(Key("c"), random()).PutItems({.puts = {found}}));
  pb::ReadItemsRequest request = OfGroup("g");
  (*request.mutable_labels())["found"].set_bool_value(true);
  EXPECT_THAT(Page(request), IsEmpty());
  EXPECT_NE(request.page_token(), "");
  EXPECT_THAT(store().look_most,
              ElementsAre(kItemsLookedAt, kItemsLookedAt - kEach, kItemsLookedAt - 2 * kEach));
  EXPECT_THAT(Page(request), ElementsAre("c/z"));
  EXPECT_EQ(request.page_token(), "");
}

TEST_F(GroupItemsOfStore, HaveTheBytesOfOnePage) {
  const std::string large(900 * kKiB, 'x');
  for (const char* id : {"a", "b", "c"}) {
    CreateIn("g", id);
    PutKeys(id, {"1"}, large);
  }
  CreateIn("g", "huge");
  PutKeys("huge", {"1"}, std::string(3 * kMiB, 'x'));
  pb::ReadItemsRequest request = OfGroup("g");
  EXPECT_THAT(Page(request), ElementsAre("a/1", "b/1"));
  EXPECT_THAT(Page(request), ElementsAre("c/1"));
  EXPECT_THAT(Page(request), ElementsAre("huge/1"));
  EXPECT_EQ(request.page_token(), "");
  request.set_omit_data(true);
  EXPECT_THAT(Page(request), ElementsAre("a/1", "b/1", "c/1", "huge/1"));
}

TEST_F(GroupItemsOfStore, BringABoundedNumberOfRelatedBytes) {
  const std::string large(3 * kMiB, 'x');
  for (const char* id : {"a", "b", "c"}) {
    CreateIn("g", id);
    ItemPut item = Put("1", "");
    item.item.refs = {{.collection = "values", .key = "v"}};
    ItemPut value = Put("v", large);
    value.item.name.collection = "values";
    Apply(Changes(Key(id), random()).PutItems({.puts = {item, value}}));
  }
  pb::ReadItemsRequest request = OfGroup("g");
  request.set_include_refs(true);
  EXPECT_THAT(Page(request), ElementsAre("a/1", "a/v", "b/1", "b/v"));
  EXPECT_THAT(Page(request), ElementsAre("c/1", "c/v"));
  EXPECT_EQ(request.page_token(), "");
}

TEST_F(GroupItemsOfStore, BringWhatIsAttachedToABoundedNumberOfItems) {
  for (int i = 0; i < 9; ++i) {
    const std::string id = absl::StrCat("s", i);
    CreateIn("g", id);
    ItemPut attached = Put(std::string("k\0w", 3), "");
    attached.item.name.collection = "writes";
    Apply(Changes(Key(id), random()).PutItems({.puts = {Put("k", ""), Put("l", ""), attached}}));
  }
  pb::ReadItemsRequest request = OfGroup("g");
  request.set_include_attached("writes");
  request.add_keys("l");
  request.add_keys("k");
  const std::vector<std::string> first = Page(request);
  EXPECT_EQ(std::ranges::count_if(
                first, [](const std::string& name) { return name.find('\0') == name.npos; }),
            kItemsWithAttached);
  EXPECT_EQ(first.size(), kItemsWithAttached + kItemsWithAttached / 2);
  EXPECT_EQ(Page(request).size(), 3U);
  EXPECT_EQ(request.page_token(), "");
}

}  // namespace
}  // namespace holdfast::test

// Listings and candidates for recovery.
#include "session/limits.h"
#include "tests/contract/suite.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST_P(Contract, C060_EverySessionIsListedOnceInKeyOrder) {
  // Two share a creation time: the id decides.
  for (const char* id : {"delta", "beta"}) Apply(Changes(Key(id), random()).Create());
  clock().Advance(absl::Seconds(1));
  Create();
  clock().Advance(absl::Seconds(1));
  for (const char* id : {"gamma", "A.b_c-9"}) Apply(Changes(Key(id), random()).Create());
  for (const uint32_t limit : {1, 2, 3, 5, 100}) {
    EXPECT_THAT(Ids({.tenant = key().tenant, .limit = limit}),
                ElementsAre("beta", "delta", "alpha", "A.b_c-9", "gamma"));
  }
  Reopen();
  const auto page = store().List({.tenant = key().tenant, .limit = 5});
  ASSERT_EQ(ReasonIn(page), "OK");
  EXPECT_EQ(page->rows.size(), 5U);
  EXPECT_TRUE(page->end);
  EXPECT_TRUE(page->complete);
}

TEST_P(Contract, C133_ADescendingListingIsTheOtherWayRound) {
  for (const char* id : {"delta", "beta"}) Apply(Changes(Key(id), random()).Create());
  clock().Advance(absl::Seconds(1));
  Create();
  for (const uint32_t limit : {1, 2, 100}) {
    EXPECT_THAT(Ids({.tenant = key().tenant, .descending = true, .limit = limit}),
                ElementsAre("alpha", "delta", "beta"));
  }
}

TEST_P(Contract, C134_AListingOfOneProjectRoot) {
  Create();
  Change other = Changes(Key("beta"), random()).Create();
  other.create->project_root = "/projects/engine/part";
  Apply(other);
  EXPECT_THAT(Ids({.tenant = key().tenant, .project_root = "/projects/engine"}),
              ElementsAre("alpha"));
  EXPECT_THAT(Ids({.tenant = key().tenant, .project_root = "/projects"}), IsEmpty());
}

TEST_P(Contract, C135_AListingOfSomeLifecycles) {
  Create();
  Changes beta(Key("beta"), random());
  const LeaseToken token = TokenIn(Apply(beta.Create()));
  Begin();
  EXPECT_THAT(Ids({.tenant = key().tenant, .lifecycles = {Lifecycle::kActive}}),
              ElementsAre("alpha"));
  Apply(beta.Close(token));
  EXPECT_THAT(Ids({.tenant = key().tenant, .lifecycles = {Lifecycle::kClosed}}),
              ElementsAre("beta"));
  EXPECT_THAT(Ids({.tenant = key().tenant, .lifecycles = {Lifecycle::kClosed, Lifecycle::kActive}}),
              ElementsAre("alpha", "beta"));
}

// Sessions of several groups, whose creation is not in the order of the groups.
std::vector<Change> CreateInGroups(Random& random) {
  std::vector<Change> changes;
  const std::vector<std::pair<const char*, const char*>> sessions = {
      {"e", "app/two"}, {"d", "app/one"}, {"c", "app"}, {"b", "app/one"},
      {"a", ""},        {"f", "apps"},    {"g", "ap"},  {"h", "app/one/more"}};
  for (const auto& [id, group] : sessions) {
    Change create = Changes(Key(id), random).Create();
    create.create->group = group;
    changes.push_back(create);
  }
  return changes;
}

TEST_P(Contract, C246_ListsOneGroup) {
  for (const Change& create : CreateInGroups(random())) {
    Apply(create);
    clock().Advance(absl::Seconds(1));
  }
  for (int opened = 0; opened < 2; ++opened) {
    for (const uint32_t limit : {1, 100}) {
      ListQuery query{.tenant = key().tenant, .group = "app/one", .limit = limit};
      EXPECT_THAT(Ids(query), ElementsAre("d", "b"));
      query.descending = true;
      EXPECT_THAT(Ids(query), ElementsAre("b", "d"));
      query.group = "app/";
      EXPECT_THAT(Ids(query), IsEmpty());
      query = {.tenant = key().tenant, .project_root = "/elsewhere", .group = "app/one"};
      EXPECT_THAT(Ids(query), IsEmpty());
    }
    Reopen();
  }
}

TEST_P(Contract, C247_ListsGroupsOfPrefixByGroup) {
  for (const Change& create : CreateInGroups(random())) {
    Apply(create);
    clock().Advance(absl::Seconds(1));
  }
  for (const uint32_t limit : {1, 2, 3, 100}) {
    ListQuery query{.tenant = key().tenant, .group = "app", .group_is_prefix = true};
    query.limit = limit;
    EXPECT_THAT(Ids(query), ElementsAre("c", "d", "b", "h", "e", "f"));
    query.descending = true;
    EXPECT_THAT(Ids(query), ElementsAre("f", "e", "h", "b", "d", "c"));
    query = {.tenant = key().tenant, .group = "app/", .group_is_prefix = true, .limit = limit};
    EXPECT_THAT(Ids(query), ElementsAre("d", "b", "h", "e"));
  }
}

TEST_P(Contract, C248_ListsSomeKinds) {
  Create();
  Change open = Changes(Key("beta"), random()).Create();
  open.grant.reset();
  open.create->kind = SessionKind::kOpen;
  Apply(open);
  const auto ids = [&](std::vector<SessionKind> kinds) {
    return Ids({.tenant = key().tenant, .kinds = std::move(kinds)});
  };
  for (int opened = 0; opened < 2; ++opened) {
    EXPECT_THAT(ids({SessionKind::kOpen}), ElementsAre("beta"));
    EXPECT_THAT(ids({SessionKind::kLeased}), ElementsAre("alpha"));
    EXPECT_THAT(ids({SessionKind::kLeased, SessionKind::kOpen}), ElementsAre("alpha", "beta"));
    Reopen();
  }
}

TEST_P(Contract, C137_ARowSaysWhatTheHeadSays) {
  Create();
  clock().Advance(absl::Seconds(3));
  RunTurn({Text("one"), Text("two")});
  Apply(changes().Update({{"title", "A talk"}}));
  for (int round = 0; round < 2; ++round) {
    const auto rows = Rows({.tenant = key().tenant});
    ASSERT_EQ(rows.size(), 1U);
    const Head head = LoadHead();
    EXPECT_EQ(rows[0].condition, SessionRow::Condition::kOk);
    EXPECT_EQ(rows[0].lifecycle, Lifecycle::kPersisted);
    EXPECT_EQ(rows[0].revision, head.revision);
    EXPECT_EQ(rows[0].kind, head.kind);
    EXPECT_EQ(rows[0].group, head.group);
    EXPECT_EQ(rows[0].project_root, head.project_root);
    EXPECT_EQ(rows[0].title, "A talk");
    EXPECT_EQ(rows[0].messages, MessageSeq(2));
    EXPECT_EQ(rows[0].created_at, head.created_at);
    EXPECT_EQ(rows[0].updated_at, head.updated_at);
    Reopen();
  }
}

TEST_P(Contract, C061_ListsForeignSessionBesideOthers) {
  Create();
  Apply(Changes(Key("gamma"), random()).Create());
  under_test().Close();
  const StoreId other = under_test().PlantForeign(Key("beta"));
  under_test().Open();
  for (const uint32_t limit : {1, 100}) {
    const auto rows = Rows({.tenant = key().tenant, .limit = limit});
    ASSERT_EQ(rows.size(), 3U);
    // It counts as the oldest.
    EXPECT_EQ(rows[0].id.value(), "beta");
    EXPECT_EQ(rows[0].condition, SessionRow::Condition::kForeign);
    EXPECT_EQ(rows[0].foreign_store, other.value());
    EXPECT_EQ(rows[1].id.value(), "alpha");
    EXPECT_EQ(rows[1].condition, SessionRow::Condition::kOk);
    EXPECT_EQ(rows[2].id.value(), "gamma");
  }
}

TEST_P(Contract, C136_ListsDamagedSessionBesideOthers) {
  Create();
  const SessionKey beta = Key("beta");
  Apply(Changes(beta, random()).Create());
  under_test().Close();
  under_test().Damage(beta);
  under_test().Open();
  const auto rows = Rows({.tenant = key().tenant});
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].id.value(), "beta");
  EXPECT_EQ(rows[0].condition, SessionRow::Condition::kDamaged);
  EXPECT_EQ(rows[1].id.value(), "alpha");
  EXPECT_EQ(rows[1].condition, SessionRow::Condition::kOk);
}

TEST_P(Contract, C062_ADeletedSessionIsNotListed) {
  Create();
  Apply(Changes(Key("beta"), random()).Create());
  LetLeaseExpire();
  Apply(changes().Delete());
  EXPECT_THAT(Ids(), ElementsAre("beta"));
  Reopen();
  EXPECT_THAT(Ids(), ElementsAre("beta"));
}

// Each slot of the row: its data, or its size where it has none.
std::map<std::string, std::string> SlotTextsOf(const SessionRow& row) {
  std::map<std::string, std::string> slots;
  for (const SlotView& view : row.slots) {
    EXPECT_FALSE(view.damaged);
    slots[view.slot.owner] = view.data_left_out ? std::to_string(view.size) : view.slot.data.str();
  }
  EXPECT_EQ(slots.size(), row.slots.size());
  return slots;
}

using RowTexts = std::map<std::string, std::string>;

TEST_P(Contract, C340_ARowNamesTheLastEventAndTheVersionOfItems) {
  Create();
  Change update = changes().Update({{"title", "x"}});
  update.events = {{.name = "Updated"}, {.name = "Again"}};
  Apply(update);
  PutItems({Put("one", "1"), Put("two", "2")});
  PutItems({}, {{.collection = "notes", .keys = "one"}});
  for (int opened = 0; opened < 2; ++opened) {
    const auto rows = Rows({.tenant = key().tenant});
    ASSERT_EQ(rows.size(), 1U);
    const Head head = LoadHead();
    EXPECT_GE(head.last_event, EventSeq(2));
    EXPECT_EQ(rows[0].last_event, head.last_event);
    EXPECT_GE(head.items_version, ItemVersion(3));
    EXPECT_EQ(rows[0].items_version, head.items_version);
    Reopen();
  }
}

TEST_P(Contract, C341_ARowBringsTheAttributesThatAreNamed) {
  Create();
  Apply(changes().Update({{"agent", "planner"}, {"purpose", "a test"}, {"title", "A talk"}}));
  clock().Advance(absl::Seconds(1));
  Apply(Changes(Key("beta"), random()).Create());
  for (int opened = 0; opened < 2; ++opened) {
    for (const uint32_t limit : {1, 100}) {
      ListQuery query{.tenant = key().tenant, .limit = limit};
      query.attributes = {"agent", "none", "title"};
      auto rows = Rows(query);
      ASSERT_EQ(rows.size(), 2U);
      EXPECT_EQ(rows[0].attributes, (RowTexts{{"agent", "planner"}, {"title", "A talk"}}));
      EXPECT_EQ(rows[1].attributes, RowTexts());
      EXPECT_THAT(rows[0].slots, IsEmpty());
      query.attributes = {};
      rows = Rows(query);
      ASSERT_EQ(rows.size(), 2U);
      EXPECT_EQ(rows[0].attributes, RowTexts());
    }
    Reopen();
  }
}

TEST_P(Contract, C342_ARowBringsTheSlotsOfTheOwnersThatAreNamed) {
  Create();
  const std::string whole(kSlotBytesInRow, 'w');
  RunTurn({}, {MakeSlot("memory", "old", "1.0.0"), MakeSlot("plan", whole), MakeSlot("rest", "r"),
               MakeSlot("empty", ""), MakeSlot("gone", "g")});
  Change write = changes().Write(token());
  write.slots = {MakeSlot("memory", "new", "2.1.0")};
  write.deleted_slots = {"gone"};
  const Revision written = Apply(write).revision;
  clock().Advance(absl::Seconds(1));
  Apply(Changes(Key("beta"), random()).Create());
  for (int opened = 0; opened < 2; ++opened) {
    for (const uint32_t limit : {1, 100}) {
      for (const bool descending : {false, true}) {
        ListQuery query{.tenant = key().tenant, .descending = descending, .limit = limit};
        query.owners = {"absent", "empty", "gone", "memory", "plan"};
        auto rows = Rows(query);
        ASSERT_EQ(rows.size(), 2U);
        if (descending) std::swap(rows[0], rows[1]);
        EXPECT_EQ(rows[0].id.value(), "alpha");
        EXPECT_EQ(SlotTextsOf(rows[0]),
                  (RowTexts{{"empty", ""}, {"memory", "new"}, {"plan", whole}}));
        EXPECT_EQ(rows[0].slots.at(1).slot.version, "2.1.0");
        EXPECT_EQ(rows[0].slots.at(1).slot.revision, written);
        EXPECT_EQ(rows[0].attributes, RowTexts());
        EXPECT_EQ(SlotTextsOf(rows[1]), RowTexts());
      }
    }
    Reopen();
  }
}

TEST_P(Contract, C343_OfALargeOrStagedSlotARowSaysTheSize) {
  Create();
  const std::string bytes(100, 's');
  const UploadId id = *UploadId::Parse(UuidText(random().Bytes(16), 4));
  ASSERT_TRUE(store().StageUpload(key(), id, 0, bytes).ok());
  Change write = changes().Write(token());
  Slot staged = MakeSlot("staged", "");
  staged.staged = StagedBytes{.upload = id, .offset = 0, .size = 100, .digest = Sha256(bytes)};
  write.slots = {MakeSlot("large", std::string(kSlotBytesInRow + 1, 'l')), MakeSlot("small", "s"),
                 staged};
  write.upload = UploadLink{.id = id, .bytes = bytes.size(), .sha256 = Sha256(bytes)};
  Apply(write);
  for (int opened = 0; opened < 2; ++opened) {
    const auto rows = Rows({.tenant = key().tenant, .owners = {"large", "small", "staged"}});
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_EQ(SlotTextsOf(rows[0]), (RowTexts{{"large", std::to_string(kSlotBytesInRow + 1)},
                                              {"small", "s"},
                                              {"staged", "100"}}));
    for (const SlotView& view : rows[0].slots) {
      EXPECT_EQ(view.data_left_out, view.slot.owner != "small") << view.slot.owner;
      EXPECT_EQ(view.slot.version, "1.0.0");
      if (view.data_left_out) {
        EXPECT_TRUE(view.slot.data.str().empty());
      }
    }
    Reopen();
  }
}

TEST_P(Contract, C344_APageEndsBeforeARowThatHasNoRoom) {
  // A row of 100 bytes of attributes and 100 of slots, by RowBytes.
  for (const char* id : {"alpha", "beta", "gamma"}) {
    Changes session(Key(id), random());
    const LeaseToken token = TokenIn(Apply(session.Create()));
    Apply(session.Update({{"note", std::string(96, 'n')}}));
    Change write = session.Write(token);
    write.slots = {MakeSlot("memory", std::string(89, 'm'), "1.0.0")};
    Apply(write);
    clock().Advance(absl::Seconds(1));
  }
  const auto in_page = [&](std::vector<std::string> owners, size_t most_bytes) {
    ListQuery query{.tenant = key().tenant, .limit = 100, .attributes = {"note"}};
    query.owners = std::move(owners);
    query.most_bytes = most_bytes;
    EXPECT_THAT(Ids(query), ElementsAre("alpha", "beta", "gamma")) << most_bytes;
    const auto page = store().List(query);
    if (!page.ok()) return size_t{0};
    EXPECT_EQ(page->end, page->rows.size() == 3) << most_bytes;
    for (const SessionRow& row : page->rows) {
      EXPECT_EQ(RowBytes(row), query.owners.empty() ? 100U : 200U);
    }
    return page->rows.size();
  };
  EXPECT_EQ(in_page({}, 1), 1U);
  EXPECT_EQ(in_page({}, 199), 1U);
  EXPECT_EQ(in_page({}, 200), 2U);
  EXPECT_EQ(in_page({}, 300), 3U);
  EXPECT_EQ(in_page({"memory"}, 1), 1U);
  EXPECT_EQ(in_page({"memory"}, 399), 1U);
  EXPECT_EQ(in_page({"memory"}, 400), 2U);
  EXPECT_EQ(in_page({"memory"}, 600), 3U);
}

TEST_P(Contract, C345_ARowThatIsNotOkHidesTheContentOfNoOther) {
  for (const char* id : {"alpha", "beta"}) {
    Changes session(Key(id), random());
    Change write = session.Write(TokenIn(Apply(session.Create())));
    write.slots = {MakeSlot("memory", "m")};
    Apply(write);
    Apply(session.Update({{"title", "x"}}));
  }
  under_test().Close();
  under_test().Damage(Key("beta"));
  under_test().PlantForeign(Key("gamma"));
  under_test().Open();
  for (const uint32_t limit : {1, 100}) {
    ListQuery query{.tenant = key().tenant, .limit = limit, .attributes = {"title"}};
    query.owners = {"memory"};
    const auto rows = Rows(query);
    ASSERT_EQ(rows.size(), 3U);
    for (const SessionRow& row : rows) {
      const bool is_ok = row.id.value() == "alpha";
      EXPECT_EQ(row.condition == SessionRow::Condition::kOk, is_ok) << row.id.value();
      EXPECT_EQ(row.attributes, is_ok ? RowTexts({{"title", "x"}}) : RowTexts()) << row.id.value();
      EXPECT_EQ(SlotTextsOf(row), is_ok ? RowTexts({{"memory", "m"}}) : RowTexts())
          << row.id.value();
    }
  }
}

class DueNames {
 public:
  explicit DueNames(SessionStore& store, DueKind kind = DueKind::kAbandoned)
      : store_(store), kind_(kind) {}
  std::vector<std::string> operator()(absl::Duration quiet, size_t limit = 100,
                                      const std::optional<SessionKey>& after = std::nullopt) {
    const auto due = store_.ListDue(kind_, quiet, after, limit);
    EXPECT_EQ(ReasonIn(due), "OK");
    std::vector<std::string> names;
    if (!due.ok()) return names;
    for (const SessionKey& key : *due)
      names.push_back(key.tenant.value() + '/' + key.session.value());
    return names;
  }

 private:
  SessionStore& store_;
  const DueKind kind_;
};

TEST_P(Contract, C063_AnAbandonedTurnIsACandidate) {
  Create();
  const TurnNumber turn = Begin();
  EXPECT_THAT(DueNames(store())(absl::Seconds(300)), IsEmpty());
  clock().Advance(absl::Seconds(301));
  EXPECT_THAT(DueNames(store())(absl::Seconds(300)), ElementsAre("default/alpha"));
  // The race is lost when its holder comes back first.
  CommitTurn(turn);
  const auto lost = store().Commit(changes().Recover(Epoch(1), turn));
  EXPECT_NE(ReasonIn(lost), "OK");
  EXPECT_EQ(LoadHead().lifecycle, Lifecycle::kPersisted);
  EXPECT_THAT(DueNames(store())(absl::Seconds(300)), IsEmpty());
}

TEST_P(Contract, C138_NoCandidateHasALiveLeaseOrNoTurn) {
  Create();  // no turn
  Changes beta(Key("beta"), random());
  const LeaseToken token = TokenIn(Apply(beta.Create()));
  Apply(beta.Begin(token));
  clock().Advance(absl::Seconds(400));
  ASSERT_EQ(ReasonIn(store().RenewLeases({{.key = beta.key(), .token = token}}).at(0)), "OK");
  EXPECT_THAT(DueNames(store())(absl::ZeroDuration()), IsEmpty());
}

TEST_P(Contract, C064_QuietTimeCountsFromActivityAndFromTheOpening) {
  Create();
  Begin();
  clock().Advance(absl::Seconds(200));
  Apply(changes().Update({{"title", "still here"}}));
  clock().Advance(absl::Seconds(200));
  EXPECT_THAT(DueNames(store())(absl::Seconds(300)), IsEmpty());
  clock().Advance(absl::Seconds(101));
  EXPECT_THAT(DueNames(store())(absl::Seconds(300)), ElementsAre("default/alpha"));
  Reopen();
  LetLeaseExpire();
  EXPECT_THAT(DueNames(store())(absl::Seconds(300)), IsEmpty());
  clock().Advance(absl::Seconds(240));
  EXPECT_THAT(DueNames(store())(absl::Seconds(300)), ElementsAre("default/alpha"));
}

TEST_P(Contract, C139_AtMostAsManyCandidatesAsAskedFor) {
  for (const char* id : {"alpha", "beta", "gamma"}) {
    Changes theirs(Key(id), random());
    Apply(theirs.Begin(TokenIn(Apply(theirs.Create()))));
  }
  clock().Advance(absl::Seconds(400));
  EXPECT_EQ(DueNames(store())(absl::Seconds(300), 2).size(), 2U);
  EXPECT_EQ(DueNames(store())(absl::Seconds(300), 10).size(), 3U);
}

constexpr DueKind kKinds[] = {DueKind::kAbandoned, DueKind::kCancelled};

// Turns without a holder that are to be cancelled, made in another order than that of their keys.
void AbandonSome(SessionStore& store, Random& random) {
  for (const char* name : {"two/b", "one/c", "two/Z", "one/a", "two/a"}) {
    const std::string text = name;
    Changes theirs(Key(text.substr(4), text.substr(0, 3)), random);
    const auto created = store.Commit(theirs.Create());
    ASSERT_EQ(ReasonIn(created), "OK");
    const auto begun = store.Commit(theirs.Begin(*LeaseToken::Parse(created->receipt.token)));
    ASSERT_EQ(ReasonIn(begun), "OK");
    ASSERT_EQ(ReasonIn(store.Commit(theirs.RequestCancel(CancelScope::kSession))), "OK");
  }
}

TEST_P(Contract, C210_CandidatesComeInTheOrderOfTheirKeys) {
  AbandonSome(store(), random());
  clock().Advance(absl::Seconds(400));
  for (const DueKind kind : kKinds) {
    DueNames due(store(), kind);
    EXPECT_THAT(due(absl::Seconds(300)), ElementsAre("one/a", "one/c", "two/Z", "two/a", "two/b"));
    EXPECT_THAT(due(absl::Seconds(300), 3), ElementsAre("one/a", "one/c", "two/Z"));
  }
}

TEST_P(Contract, C211_CandidatesBehindAPosition) {
  AbandonSome(store(), random());
  clock().Advance(absl::Seconds(400));
  for (const DueKind kind : kKinds) {
    const auto behind = [&](std::string_view tenant, std::string_view session, size_t limit = 100) {
      return DueNames(store(), kind)(absl::Seconds(300), limit, Key(session, tenant));
    };
    EXPECT_THAT(behind("one", "a"), ElementsAre("one/c", "two/Z", "two/a", "two/b"));
    EXPECT_THAT(behind("one", "a", 2), ElementsAre("one/c", "two/Z"));
    EXPECT_THAT(behind("two", "b"), IsEmpty());
    // A position need not be that of a candidate, or of a session.
    EXPECT_THAT(behind("one", "b"), ElementsAre("one/c", "two/Z", "two/a", "two/b"));
    EXPECT_THAT(behind("two", "A", 1), ElementsAre("two/Z"));
    EXPECT_THAT(behind("trunk", "x"), ElementsAre("two/Z", "two/a", "two/b"));
  }
}

}  // namespace
}  // namespace holdfast::test

// Sessions that replace a deleted one under its id.
#include "tests/contract/suite.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A change that needs no token and names no session.
Change Unnamed(Changes& changes) { return changes.Update({{"title", "late"}}); }

Change CreateInPlaceOf(const SessionUid& former, Changes& changes) {
  Change change = changes.Create();
  change.create->replaces = former;
  return change;
}

// Why `change` is FENCED.
std::string Cause(SessionStore& store, const Change& change) {
  const auto refused = store.Commit(change);
  EXPECT_EQ(ReasonIn(refused), "FENCED");
  return FactIn(RefusalIn(refused), "cause");
}

TEST_P(Contract, C290_NothingOfDeletedSessionIsThere) {
  const SessionUid former = CreateAndDelete();
  Recreate(former);
  for (int opened = 0; opened < 2; ++opened) {
    const Head head = LoadHead();
    EXPECT_EQ(head.revision, Revision(1));
    EXPECT_EQ(head.lease.epoch, Epoch(1));
    EXPECT_EQ(head.messages, MessageSeq());
    EXPECT_EQ(head.items_version, ItemVersion());
    EXPECT_THAT(head.attributes, IsEmpty());
    EXPECT_THAT(head.cancel_requests, IsEmpty());
    EXPECT_THAT(MessageTexts(), IsEmpty());
    EXPECT_EQ(SlotData("app"), std::nullopt);
    EXPECT_THAT(ItemTexts(), IsEmpty());
    EXPECT_THAT(EventNames(), ElementsAre("SessionStarted"));
    EXPECT_EQ(Audit().size(), 1U);
    EXPECT_THAT(Journal(), IsEmpty());
    EXPECT_THAT(Ids(), ElementsAre("alpha"));
    Reopen();
  }
}

TEST_P(Contract, C291_OnlyDeletedSessionThatIsNamedIsReplaced) {
  const SessionUid former = CreateAndDelete();
  const Change other = CreateInPlaceOf(changes().Create().create->uid, changes());
  for (const Change& change : {other, changes().Create()}) {
    const auto refused = store().Commit(change);
    EXPECT_EQ(ReasonIn(refused), "TOMBSTONED");
    EXPECT_EQ(FactIn(RefusalIn(refused), "session_uid"), former.value());
  }
  Recreate(former);
  EXPECT_EQ(ReasonIn(store().Commit(CreateInPlaceOf(former, changes()))), "SESSION_EXISTS");
}

TEST_P(Contract, C292_IsThereWhenStoreIsOpenedAgain) {
  const SessionUid uid = Recreate(CreateAndDelete());
  RunTurn({Text("a")});
  for (int opened = 0; opened < 2; ++opened) {
    Reopen();
    EXPECT_EQ(LoadHead().uid, uid);
    EXPECT_THAT(MessageTexts(), ElementsAre("a"));
    EXPECT_THAT(Ids(), ElementsAre("alpha"));
  }
  RunTurn({Text("b")});
  EXPECT_THAT(MessageTexts(), ElementsAre("a", "b"));
}

TEST_P(Contract, C293_GenerationsGoOn) {
  Create();
  Change write = changes().Write(token());
  write.replaces_history = true;
  write.messages = {Text("second history")};
  Apply(write);
  const Generation last = LoadHead().generation;
  EXPECT_EQ(last, Generation(2));
  const SessionUid second = Recreate(Delete());
  EXPECT_EQ(LoadHead().generation, Generation(3));
  EXPECT_EQ(LoadHead().uid, second);
  Recreate(Delete());
  EXPECT_EQ(LoadHead().generation, Generation(4));
  RunTurn({Text("a")});
  Reopen();
  EXPECT_EQ(LoadHead().generation, Generation(4));
  EXPECT_THAT(MessageTexts(), ElementsAre("a"));
}

TEST_P(Contract, C294_AnotherUidIsFenced) {
  const SessionUid former = CreateAndDelete();
  const SessionUid uid = Recreate(former);
  Change late = Unnamed(changes());
  late.guard.uid = former;
  EXPECT_EQ(Cause(store(), late), "deleted");
  Change deletion = changes().Delete();
  deletion.guard.uid = former;
  EXPECT_EQ(Cause(store(), deletion), "deleted");
  late.guard.uid = uid;
  Apply(late);
  // Also in a session whose id is used for the first time.
  Changes first(Key("first"), random());
  Apply(first.Create());
  late = first.Update({{"title", "x"}});
  late.guard.uid = former;
  EXPECT_EQ(Cause(store(), late), "deleted");
}

TEST_P(Contract, C295_TokenOfDeletedSessionIsFenced) {
  Create();
  const LeaseToken stale = token();
  Recreate(Delete());
  const LeaseToken current = token();
  EXPECT_EQ(Cause(store(), changes().Begin(stale)), "deleted");
  Change late = changes().Close(stale);
  late.guard.lease = LeaseRule::kHeldOrFree;
  EXPECT_EQ(Cause(store(), late), "deleted");
  Apply(changes().Release(current));
  // The lease is free by now, and no token is needed.
  EXPECT_EQ(Cause(store(), late), "deleted");
}

TEST_P(Contract, C296_ChangeMustNameSession) {
  const SessionUid uid = Recreate(CreateAndDelete());
  EXPECT_EQ(Cause(store(), Unnamed(changes())), "deleted");
  EXPECT_EQ(Cause(store(), changes().Resume(LeaseRule::kForce)), "deleted");
  Reopen();
  EXPECT_EQ(Cause(store(), changes().Delete()), "deleted");
  Change items = changes().PutItems({.puts = {Put("k", "late")}});
  EXPECT_EQ(Cause(store(), items), "deleted");
  items.guard.uid = uid;
  Apply(items);
  RunTurn({Text("a")});  // its token names it
  EXPECT_THAT(ItemTexts(), ElementsAre("k=late"));
}

TEST_P(Contract, C297_TombstoneOfSecondSessionStays) {
  const SessionUid former = CreateAndDelete();
  const SessionUid second = Recreate(former);
  EXPECT_EQ(Delete(), second);
  for (int opened = 0; opened < 2; ++opened) {
    const auto refused = store().Commit(CreateInPlaceOf(former, changes()));
    EXPECT_EQ(ReasonIn(refused), "TOMBSTONED");
    EXPECT_EQ(FactIn(RefusalIn(refused), "session_uid"), second.value());
    EXPECT_THAT(Ids(), IsEmpty());
    Reopen();
  }
}

TEST_P(Contract, C298_OneOfEightReplacesIt) {
  const SessionUid former = CreateAndDelete();
  std::vector<Change> creations;
  for (int i = 0; i < 8; ++i) creations.push_back(CreateInPlaceOf(former, changes()));
  std::vector<std::string> answers(creations.size());
  {
    std::vector<std::jthread> clients;
    for (size_t i = 0; i < creations.size(); ++i) {
      clients.emplace_back([&, i] { answers[i] = ReasonIn(store().Commit(creations[i])); });
    }
  }
  EXPECT_EQ(std::ranges::count(answers, "OK"), 1);
  EXPECT_EQ(std::ranges::count(answers, "SESSION_EXISTS"), 7);
  const SessionUid uid = LoadHead().uid;
  EXPECT_EQ(std::ranges::count_if(creations,
                                  [&](const Change& change) { return change.create->uid == uid; }),
            1);
}

TEST_P(Contract, C299_ReplacedSessionHasNoLastEvent) {
  const SessionUid former = CreateAndDelete();
  EXPECT_EQ(ReasonIn(store().ReadLastEvent(key())), "OK");
  Recreate(former);
  EXPECT_EQ(ReasonIn(store().ReadLastEvent(key())), "SESSION_NOT_FOUND");
  RunTurn({Text("a")});
  Delete();
  const auto last = store().ReadLastEvent(key());
  ASSERT_EQ(ReasonIn(last), "OK");
  EXPECT_EQ(last->name, "SessionDeleted");
}

TEST_P(Contract, C300_NoReplyOfDeletedSessionIsStored) {
  Create();
  const Change update = Unnamed(changes());
  Apply(update);
  const SessionUid uid = Recreate(Delete());
  EXPECT_EQ(LoadRequest(update.request->id), std::nullopt);
  Change again = update;
  again.guard.uid = uid;
  EXPECT_EQ(ApplyWhole(again).kind, CommitResult::Kind::kApplied);
  EXPECT_EQ(LoadHead().attributes.at("title"), "late");
}

TEST_P(Contract, C301_IdIsUsedThirdTime) {
  SessionUid uid = CreateAndDelete();
  for (int round = 0; round < 3; ++round) {
    const Change creation = CreateInPlaceOf(uid, changes());
    TakeToken(Apply(creation));
    const auto repeated = store().Commit(creation);
    ASSERT_EQ(ReasonIn(repeated), "OK");
    EXPECT_EQ(repeated->kind, CommitResult::Kind::kRepeated);
    RunTurn({Text(absl::StrCat(round))});
    if (round == 1) Reopen();
    EXPECT_THAT(MessageTexts(), ElementsAre(absl::StrCat(round)));
    uid = Delete();
    EXPECT_EQ(uid, creation.create->uid);
  }
  EXPECT_EQ(ReasonIn(store().Commit(Unnamed(changes()))), "TOMBSTONED");
}

TEST_P(Contract, C302_ReplacesNothingWhereNothingWasDeleted) {
  const Change change = CreateInPlaceOf(changes().Create().create->uid, changes());
  EXPECT_EQ(ReasonIn(store().Commit(change)), "SESSION_NOT_FOUND");
  Create();
}

TEST_P(Contract, C303_PagesNameTheirSession) {
  const SessionUid uid = Recreate(CreateAndDelete());
  RunTurn({Text("a")}, {MakeSlot("app", "x")});
  EXPECT_EQ(store().ReadMessages(key(), std::nullopt, MessageSeq(), kWholePage)->uid, uid);
  EXPECT_EQ(store().ReadSlots(key(), {})->uid, uid);
  EXPECT_EQ(store().ReadJournal(key(), {}, kWholePage)->uid, uid);
  EXPECT_EQ(store().ReadItems(key(), {.collection = "notes"}, kWholePage)->uid, uid);
  EXPECT_EQ(store().ReadEvents(key(), EventSeq(), kWholePage)->uid, uid);
  EXPECT_EQ(store().ReadAudit(key(), AuditSeq(), kWholePage)->uid, uid);
}

}  // namespace
}  // namespace holdfast::test

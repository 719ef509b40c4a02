// What the store deletes when no request can need it any more, and what it keeps.
#include "session/limits.h"
#include "store-postgres/feed.h"
#include "tests/postgres/store_fixture.h"
#include "tests/support/wait.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <vector>

namespace holdfast::test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

class PgRetention : public PostgresStoreTest {
 protected:
  std::string Count(const std::string& of) {
    return database().AskText(absl::StrCat("SELECT count(*)::text FROM holdfast.", of));
  }
  void Sweep() {
    EXPECT_TRUE(store().ListDue(DueKind::kAbandoned, absl::Minutes(5), std::nullopt, 10).ok());
  }
};

TEST_F(PgRetention, WhatNoSnapshotNamesGoesAndTheRestStays) {
  Create();
  Change first = changes().Write(token());
  first.slots = {MakeSlot("still", "unchanged"), MakeSlot("gone", "x")};
  first.messages = {Text("a former history")};
  Apply(first);
  Change replace = changes().Write(token());
  replace.replaces_history = true;
  replace.deleted_slots = {"gone"};
  Apply(replace);
  for (int i = 0; i < 30; ++i) {
    const TurnNumber turn = Begin();
    Apply(
        changes().Append(token(), turn, {SlotUpdate(turn, 1, MakeSlot("plan", absl::StrCat(i)))}));
    Change commit = changes().CommitTurn(token(), turn);
    commit.messages = {Text(absl::StrCat("message ", i))};
    Apply(commit);
  }
  Apply(changes().Close(token()));  // and with the close it is pruned
  ASSERT_TRUE(holdfast::testing::WaitUntil([&] { return Count("journal") == "9"; }));
  ASSERT_TRUE(
      holdfast::testing::WaitUntil([&] { return Count("slot WHERE owner = 'plan'") == "10"; }));
  EXPECT_EQ(Count("slot WHERE owner = 'still'"), "1");
  EXPECT_EQ(Count("slot WHERE owner = 'gone'"), "0");
  EXPECT_EQ(Count("log WHERE generation = 1 AND msgs IS NOT NULL"), "0");
  EXPECT_EQ(Texts().size(), 30U);
  const auto slots = store().ReadSlots(key(), {.owners = {"still"}});
  ASSERT_TRUE(slots.ok() && slots->slots.size() == 1);
  EXPECT_EQ(slots->slots[0].slot.data, "unchanged");
  // The oldest snapshot that is kept is read whole.
  const auto loaded = store().LoadForDecision(key(), std::nullopt);
  ASSERT_TRUE(loaded.ok());
  const auto old = store().ReadSlots(
      key(), {.revision = OldestKept(loaded->head).revision, .owners = {"plan", "still"}});
  ASSERT_TRUE(old.ok());
  EXPECT_EQ(old->slots.size(), 2U);
  EXPECT_EQ(old->slots[0].slot.data, "20");
}

// Sessions with entries that no call can ask for any more, and a database that fails to delete
// those of some of them.
class PgFailedPrunes : public PgRetention {
 protected:
  // Closed, with thirteen entries of which four can still be read; the prune that comes with the
  // close has been sent.
  void MakeClosed(const std::string& id) {
    Changes changes(Key(id), random());
    statements().Take();
    const LeaseToken token = *LeaseToken::Parse(Apply(changes.Create()).token);
    for (int i = 0; i < kTurns; ++i) {
      const TurnNumber turn = Apply(changes.Begin(token)).turn;
      Apply(changes.Append(token, turn, {Note(turn, 1, "x")}));
      Apply(changes.CommitTurn(token, turn));
    }
    Apply(changes.Close(token));
    AwaitPrune();
  }
  // Until a prune has been sent since the statements were taken last.
  void AwaitPrune() {
    ASSERT_TRUE(holdfast::testing::WaitUntil([&] {
      const std::vector<std::string> sent = statements().Take();
      return std::ranges::count(sent, "prune") > 0;
    }));
  }
  void FailPrunesOf(const std::string& ids) {
    database().Run(absl::StrCat(
        "CREATE FUNCTION holdfast.test_fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        " RAISE EXCEPTION 'cannot be deleted'; END $$;"
        "CREATE TRIGGER test_fail BEFORE DELETE ON holdfast.journal FOR EACH ROW"
        " WHEN (OLD.session_id LIKE '",
        ids, "') EXECUTE FUNCTION holdfast.test_fail()"));
  }
  void MendPrunes() { database().Run("DROP FUNCTION holdfast.test_fail() CASCADE"); }
  // How many entries the sessions of these ids have.
  int Entries(const std::string& ids) {
    int entries = 0;
    EXPECT_TRUE(absl::SimpleAtoi(Count(absl::StrCat("journal WHERE session_id LIKE '", ids, "'")),
                                 &entries));
    return entries;
  }
  std::string InSight() { return Count("session WHERE sweep"); }

  static constexpr int kTurns = 12;
  static constexpr int kKept = kSnapshotsKeptDefault - 1;
};

TEST_F(PgFailedPrunes, AreTriedAgainForAClosedSession) {
  FailPrunesOf("alpha");
  MakeClosed("alpha");
  statements().Take();
  clock().Advance(absl::Minutes(11));
  Sweep();
  EXPECT_EQ(Entries("alpha"), kTurns);
  EXPECT_EQ(InSight(), "1") << "what was not pruned is out of the sweeps' sight";
  MendPrunes();
  Sweep();
  EXPECT_EQ(Entries("alpha"), kKept);
  EXPECT_EQ(InSight(), "0");
  statements().Take();
  Sweep();
  EXPECT_THAT(statements().Take(), Not(Contains("prune"))) << "what is pruned is looked at no more";
}

// Also of a session that never had a turn.
TEST_F(PgFailedPrunes, AreFoundWhereTheServerEndedBeforeThem) {
  FailPrunesOf("nothing");
  Create();
  for (int i = 0; i < kTurns; ++i) {
    Change write = changes().Write(token());
    write.slots = {MakeSlot("plan", absl::StrCat(i))};
    Apply(write);
  }
  database().Run(
      "CREATE FUNCTION holdfast.test_lose() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
      " RAISE EXCEPTION 'lost'; END $$;"
      "CREATE TRIGGER test_lose BEFORE DELETE ON holdfast.slot"
      " FOR EACH STATEMENT EXECUTE FUNCTION holdfast.test_lose()");
  Apply(changes().Close(token()));
  AwaitPrune();
  CloseStore();
  database().Run("DROP FUNCTION holdfast.test_lose() CASCADE");
  clock().Advance(absl::Minutes(11));
  const auto next = AnotherServer();
  EXPECT_TRUE(next->ListDue(DueKind::kAbandoned, absl::Minutes(5), std::nullopt, 10).ok());
  EXPECT_EQ(Count("slot WHERE owner = 'plan'"), absl::StrCat(kSnapshotsKeptDefault));
  Close(next);
}

TEST_F(PgFailedPrunes, DoNotHoldBackThoseOfOtherSessions) {
  constexpr int kPoisoned = 12;
  FailPrunesOf("a%");
  for (int i = 0; i < kPoisoned; ++i) MakeClosed(absl::StrCat("a", i));
  MakeClosed("zulu");
  ASSERT_TRUE(holdfast::testing::WaitUntil([&] { return Entries("zulu") == kKept; }));
  database().Run(
      "INSERT INTO holdfast.journal SELECT tenant, session_id, n, 1, n, 0, '' FROM"
      " holdfast.session, generate_series(1, 2) n WHERE session_id = 'zulu'");
  clock().Advance(absl::Minutes(11));
  for (int sweep = 0; sweep < kPoisoned && Entries("zulu") > kKept; ++sweep) Sweep();
  EXPECT_EQ(Entries("zulu"), kKept);
  EXPECT_EQ(Entries("a%"), kPoisoned * kTurns);
  EXPECT_EQ(InSight(), absl::StrCat(kPoisoned));
}

// And of deleted ones.
TEST_F(PgFailedPrunes, OfADeletedSessionHoldBackNoOther) {
  FailPrunesOf("a%");
  for (const char* id : {"a", "b"}) {
    MakeClosed(id);
    Change gone = Changes(Key(id), random()).Delete();
    gone.guard.lease = LeaseRule::kForce;
    gone.events = {{.name = "SessionDeleted"}};
    Apply(gone);
  }
  clock().Advance(absl::Minutes(1));
  Sweep();
  EXPECT_EQ(Entries("a"), kTurns);
  EXPECT_EQ(Entries("b"), 0);
  EXPECT_EQ(InSight(), "1");
  MendPrunes();
  Sweep();
  EXPECT_EQ(Entries("a"), 0);
}

TEST_F(PgRetention, RepliesCountForADay) {
  Create();
  const Change change = changes().Update({{"title", "x"}});
  Apply(change);
  const auto has_reply = [&] {
    const auto loaded = store().LoadForDecision(key(), change.request->id);
    EXPECT_TRUE(loaded.ok());
    return loaded.ok() && loaded->request.has_value();
  };
  clock().Advance(kRequestsKept - absl::Minutes(1));
  EXPECT_TRUE(has_reply());
  clock().Advance(absl::Minutes(2));
  EXPECT_FALSE(has_reply());
}

TEST_F(PgRetention, TheFeedGoesAfterAnHourHoweverLongItIs) {
  Create();
  const auto append_event = [this] {
    Change update = changes().Update({{"title", "x"}});
    update.events = {{.name = "Updated"}};
    Apply(update);
  };
  append_event();
  EXPECT_EQ(Count("feed"), "2");
  database().Run(
      "INSERT INTO holdfast.feed (writer, at, tenants, sessions)"
      " SELECT 7, holdfast.clock(), '{default}', '{old}' FROM generate_series(1, 3000)");
  clock().Advance(pg::kFeedKept - absl::Minutes(1));
  Sweep();
  EXPECT_EQ(Count("feed"), "3002");
  clock().Advance(absl::Minutes(2));
  append_event();
  Sweep();
  EXPECT_EQ(Count("feed"), "1");
}

// So large that one statement could not take all that it was of.
TEST_F(PgRetention, AnUploadGoesWithTheLastSnapshotThatNamesIt) {
  Create();
  const auto stage = [this](const std::string& bytes) {
    const UploadId id = *UploadId::Parse(UuidText(random().Bytes(16), 4));
    EXPECT_TRUE(store().StageUpload(key(), id, 0, bytes).ok());
    return id;
  };
  const auto staged = [](const UploadId& id, const std::string& bytes) {
    return StagedBytes{.upload = id, .offset = 0, .size = bytes.size(), .digest = Sha256(bytes)};
  };
  const auto link = [&](Change& change, const std::string& bytes) {
    const UploadId id = stage(bytes);
    change.upload = UploadLink{.id = id, .bytes = bytes.size(), .sha256 = Sha256(bytes)};
    return staged(id, bytes);
  };
  for (const char* owner : {"replaced", "kept"}) {
    Change write = changes().Write(token());
    Slot slot = MakeSlot(owner, "");
    slot.staged = link(write, std::string(3 * kChunkBytes, 's'));
    write.slots = {slot};
    Apply(write);
  }
  Change message = changes().Write(token());
  message.messages = {Text("")};
  message.messages[0].staged = link(message, std::string(2 * kChunkBytes, 'm'));
  Apply(message);
  Change replace = changes().Write(token());
  replace.slots = {MakeSlot("replaced", "small")};
  Apply(replace);
  EXPECT_EQ(Count("upload"), "3");
  for (int i = 0; i < 30; ++i) RunTurn({Text("more")});
  Apply(changes().Close(token()));
  ASSERT_TRUE(holdfast::testing::WaitUntil([&] { return Count("upload") == "2"; }));
  EXPECT_EQ(Count("blob_chunk"), "5");
  const auto slots = store().ReadSlots(key(), {.owners = {"kept"}});
  ASSERT_TRUE(slots.ok() && slots->slots.size() == 1);
  const auto bytes = store().ReadStaged(key(), *slots->slots[0].slot.staged, 0, kChunkBytes);
  EXPECT_EQ(ReasonOf(bytes.status()), "OK");
}

TEST_F(PgRetention, ADeletedSessionIsEmptiedButForItsTombstone) {
  Create();
  const std::string bytes(100, 'x');
  const UploadId upload = *UploadId::Parse(UuidText(random().Bytes(16), 4));
  ASSERT_TRUE(store().StageUpload(key(), upload, 0, bytes).ok());
  RunTurn({Text("one"), Text("two")});
  Apply(changes().PutItems({.puts = {Put("a", "1")}}));
  Change gone = changes().Delete();
  gone.guard.lease = LeaseRule::kForce;
  gone.events = {{.name = "SessionDeleted"}};
  Apply(gone);
  database().Run(
      "INSERT INTO holdfast.blob_chunk SELECT tenant, session_id, upload_id, n, '', 'x'"
      " FROM holdfast.upload, generate_series(1000, 1099) n");
  Sweep();
  EXPECT_EQ(Count("log"), "5");  // watchers of other servers may still look
  clock().Advance(absl::Minutes(1));
  Sweep();
  for (const char* table : {"log", "slot", "journal", "upload", "blob_chunk", "item"}) {
    EXPECT_EQ(Count(table), "0") << table;
  }
  EXPECT_EQ(Count("session WHERE sweep"), "0");
  EXPECT_EQ(ReasonOf(store().LoadForDecision(key(), std::nullopt).status()), "TOMBSTONED");
  const auto last = store().ReadLastEvent(key());
  ASSERT_TRUE(last.ok());
  EXPECT_EQ(last->name, "SessionDeleted");
}

TEST_F(PgRetention, OldEventsGoButNeverTheLastThousand) {
  constexpr PageLimit kPage{.items = 10, .bytes = 1 << 20};
  constexpr size_t kOfAChange = 500;
  const absl::Duration kept = absl::Hours(2);
  database().SetRetention({.events = kept});
  Reopen();
  Create();
  for (size_t made = 0; made < kEventsKeptLeast + kOfAChange; made += kOfAChange) {
    Change many = changes().Update({{"title", "x"}});
    many.events = std::vector<EventDraft>(kOfAChange, EventDraft{.name = "Many"});
    Apply(many);
  }
  clock().Advance(kept - absl::Hours(1));
  EXPECT_TRUE(store().ReadEvents(key(), EventSeq(1), kPage).ok());
  clock().Advance(absl::Hours(2));
  Apply(changes().Close(token()));
  absl::Status pruned;
  ASSERT_TRUE(holdfast::testing::WaitUntil([&] {
    pruned = store().ReadEvents(key(), EventSeq(1), kPage).status();
    return ReasonOf(pruned) == "EVENTS_COMPACTED";
  }));
  // What one change said goes together.
  const auto loaded = store().LoadForDecision(key(), std::nullopt);
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(loaded->head.last_event, EventSeq(2 + kEventsKeptLeast + kOfAChange));
  EXPECT_EQ(RefusalOf(pruned).facts().at("oldest"), absl::StrCat(2 + kOfAChange));
  const auto rest = store().ReadEvents(key(), EventSeq(1 + kOfAChange), kPage);
  ASSERT_EQ(ReasonOf(rest.status()), "OK");
  EXPECT_EQ(rest->events.front().seq, EventSeq(2 + kOfAChange));
  EXPECT_EQ(rest->events.size(), kPage.items);
}

TEST_F(PgRetention, AQuietSessionLeavesTheSweepsSight) {
  Create();
  RunTurn({Text("one")});
  EXPECT_EQ(Count("session WHERE sweep"), "1");
  Sweep();
  EXPECT_EQ(Count("session WHERE sweep"), "1");
  clock().Advance(absl::Minutes(10));
  Sweep();
  EXPECT_EQ(Count("session WHERE sweep"), "0");
  // An active turn never leaves it.
  Begin();
  clock().Advance(absl::Hours(1));
  const auto due = store().ListDue(DueKind::kAbandoned, absl::Minutes(5), std::nullopt, 10);
  ASSERT_TRUE(due.ok());
  EXPECT_THAT(*due, ElementsAre(key()));
}

}  // namespace
}  // namespace holdfast::test

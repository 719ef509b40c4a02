// What calls cost in statements, flushes and bytes of the log, counted and never timed.
#include "session/limits.h"
#include "session/sessions.h"
#include "store-postgres/pg/waker.h"
#include "tests/postgres/quiet_postgres.h"
#include "tests/postgres/store_fixture.h"
#include "tests/support/wait.h"

#include "absl/functional/function_ref.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>

#include <algorithm>
#include <optional>
#include <vector>

namespace holdfast::test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;
using ::testing::SizeIs;

class PgCost : public QuietPostgres, public PostgresStoreTest {
 protected:
  PgCost()
      : QuietPostgres("off"),
        PostgresStoreTest(QuietPostgres::directory()),
        sessions_(store(), random()) {}

  void SetUp() override {
    Create();
    RunTurn({Text("first")});  // every statement is prepared, and the sweeps' row is entered
    Apply(changes().Append(token(), Begin(), {Note(TurnNumber(2), 1, "a")}));
    Apply(changes().CommitTurn(token(), TurnNumber(2)));
    statements().Take();
  }

  // Where the log ends, and how far it is flushed.
  uint64_t Inserted() { return Position("pg_current_wal_insert_lsn()"); }
  uint64_t Flushed() { return Position("pg_current_wal_flush_lsn()"); }

  uint64_t BytesOf(const Change& change) {
    const uint64_t before = Inserted();
    Apply(change);
    return Inserted() - before;
  }

  // A commit of 8 KB of bytes that cannot be compressed.
  Change EightKilobytes(TurnNumber turn) {
    Change change = changes().CommitTurn(token(), turn);
    change.messages = {Text(random().Bytes(8 * kKiB))};
    change.events = {{.name = "SessionTurnEnd"}, {.name = "SessionPersisted"}};
    return change;
  }

  // The same of 2 KB in a message, and 4 and 2 in slots that were there before.
  Change EightKilobytesWithSlots(TurnNumber turn) {
    Change change = EightKilobytes(turn);
    change.messages = {Text(random().Bytes(2 * kKiB))};
    change.slots = {MakeSlot("memory", random().Bytes(4 * kKiB)),
                    MakeSlot("plan", random().Bytes(2 * kKiB))};
    return change;
  }

  // The median of what such changes add to the log.
  uint64_t BytesPerChange(absl::FunctionRef<Change()> make) {
    std::vector<uint64_t> bytes;
    for (int i = 0; i < 21; ++i) bytes.push_back(BytesOf(make()));
    std::ranges::sort(bytes);
    return bytes[bytes.size() / 2];
  }
  uint64_t BytesPerCommit(absl::FunctionRef<Change(TurnNumber)> commit) {
    return BytesPerChange([&] { return commit(Begin()); });
  }

  // A page of everything there is.
  void ReadEachPage() {
    constexpr PageLimit kPage{.items = 50, .bytes = kPageBytes};
    EXPECT_TRUE(store().ReadMessages(key(), std::nullopt, MessageSeq(), kPage).ok());
    EXPECT_TRUE(store().ReadMessages(key(), Revision(3), MessageSeq(), kPage).ok());
    EXPECT_TRUE(store().ReadSlots(key(), {}).ok());
    EXPECT_TRUE(store().ReadJournal(key(), {}, kPage).ok());
    for (const bool descending : {false, true}) {
      EXPECT_TRUE(
          store().ReadItems(key(), {.collection = "notes", .descending = descending}, kPage).ok());
    }
    EXPECT_TRUE(store().ReadItems(key(), {.collection = "notes", .keys = {"a"}}, kPage).ok());
    EXPECT_TRUE(store().ReadEvents(key(), EventSeq(), kPage).ok());
    EXPECT_TRUE(store().ReadAudit(key(), AuditSeq(), kPage).ok());
    EXPECT_TRUE(store().List({.tenant = key().tenant, .limit = 50}).ok());
  }

  Head Now() { return store().LoadForDecision(key(), std::nullopt)->head; }
  Revision RevisionNow() { return Now().revision; }
  std::optional<TurnNumber> ActiveTurn() {
    const Head head = Now();
    return head.turn ? std::optional(head.turn->number) : std::nullopt;
  }

  Sessions& sessions() { return sessions_; }

 private:
  uint64_t Position(const std::string& function) {
    uint64_t position = 0;
    EXPECT_TRUE(absl::SimpleAtoi(
        database().AskText(absl::StrCat("SELECT (", function, " - '0/0')::text")), &position));
    return position;
  }

  Sessions sessions_;
};

TEST_F(PgCost, AChangeOnAKnownHeadIsOneStatementAndOneFlush) {
  const TurnNumber turn = Begin();
  EXPECT_THAT(statements().Take(), ElementsAre("change"));
  EXPECT_GE(Flushed(), Inserted());
  Apply(changes().Append(token(), turn, {Note(turn, 1, "a")}));
  EXPECT_THAT(statements().Take(), ElementsAre("change"));
  EXPECT_GE(Flushed(), Inserted());
  Apply(EightKilobytes(turn));
  EXPECT_THAT(statements().Take(), ElementsAre("change"));
  EXPECT_GE(Flushed(), Inserted());
}

TEST_F(PgCost, AChangeOnAnUnknownHeadIsOneLoadMore) {
  const auto other = AnotherServer(statements().tap());
  statements().Take();
  ASSERT_EQ(ReasonOf(other->Commit(changes().Begin(token()))), "OK");
  EXPECT_THAT(statements().Take(), ElementsAre("load", "change"));
  Close(other);
}

// From here on the head alone does not say that the bound of slots holds.
TEST_F(PgCost, CountsNoSlotsWhenACommitOfALongSessionAddsNone) {
  while (RevisionNow() <= Revision(kSlotsPerSession / kSlotsPerChange + 1)) RunTurn({Text("more")});
  // Another server has no head of the session, like one with more sessions than its cache holds.
  const auto other = AnotherServer(statements().tap());
  ASSERT_EQ(ReasonOf(other->Commit(changes().Begin(token()))), "OK");
  Change commit = changes().CommitTurn(token(), *ActiveTurn());
  commit.messages = {Text("next")};
  statements().Take();
  ASSERT_EQ(ReasonOf(other->Commit(commit)), "OK");
  EXPECT_THAT(statements().Take(), ElementsAre("change"));
  Close(other);
}

TEST_F(PgCost, CountsSlotsOnceWhenCommitsOfALongSessionReplaceThem) {
  while (RevisionNow() <= Revision(kSlotsPerSession / kSlotsPerChange + 1)) RunTurn({Text("more")});
  Apply(EightKilobytesWithSlots(Begin()));
  statements().Take();
  for (int i = 0; i < 10; ++i) Apply(EightKilobytesWithSlots(Begin()));
  EXPECT_THAT(statements().Take(), Not(Contains("slot_owners")));
}

TEST_F(PgCost, ACreationIsOneStatement) {
  ASSERT_EQ(ReasonOf(store().Commit(Changes(Key("beta"), random()).Create())), "OK");
  EXPECT_THAT(statements().Take(), ElementsAre("change_alone"));
}

TEST_F(PgCost, AWriteOfItemsIsOneStatementAndOneFlush) {
  for (const ItemWrites& writes : std::vector<ItemWrites>{
           {.puts = {Put("a", "1"), Put("b", "2"), Put("", "3")}},
           {.expected_last = ExpectedLast{.collection = "notes", .range = {}, .key = "b"},
           .deletes = {{.collection = "notes", .keys = "a"},
                       {.collection = "notes", .keys = KeysWithPrefix("b")}},
           .puts = {PutIfAbsent("a", "4"), PutOnVersion("c", "5", ItemVersion())}}}) {
    Apply(changes().PutItems(writes));
    EXPECT_THAT(statements().Take(), ElementsAre("change_items"));
    EXPECT_GE(Flushed(), Inserted());
  }
  // Nor does a refusal take another one.
  EXPECT_EQ(ReasonOf(store().Commit(
                changes().PutItems({.puts = {PutOnVersion("a", "6", ItemVersion(1))}}))),
            "STALE_REVISION");
  EXPECT_THAT(statements().Take(), ElementsAre("change_items"));
}

TEST_F(PgCost, ACreationWithItemsIsOneStatement) {
  Change create = Changes(Key("beta"), random()).Create();
  create.items.puts = {Put("a", "1"), Put("b", "2"), Put("c", "3")};
  ASSERT_EQ(ReasonOf(store().Commit(create)), "OK");
  EXPECT_THAT(statements().Take(), ElementsAre("change_items"));
}

TEST_F(PgCost, AWriteOfItemsCostsTheSameBesideManyOthers) {
  const auto put = [this] {
    return changes().PutItems(
        {.puts = {Put("a", random().Bytes(1000)), Put("b", random().Bytes(1000)),
                  Put("", random().Bytes(1000))}});
  };
  const uint64_t beside_few = BytesPerChange(put);
  database().Run(
      "INSERT INTO holdfast.item SELECT tenant, session_id, 'notes',"
      " convert_to('key-' || n, 'UTF8'), n, now(), now(), 100, '\\x0100000000', NULL, 'data'"
      " FROM holdfast.session, generate_series(1, 100000) n WHERE session_id = 'alpha'");
  const uint64_t beside_many = BytesPerChange(put);
  std::cout << "WAL per write of three items of 1,000 bytes: " << beside_few << " beside few, "
            << beside_many << " beside 100,000\n";
  EXPECT_LE(beside_few, 6 * kKiB);
  EXPECT_LE(beside_many, beside_few + beside_few / 20);
}

TEST_F(PgCost, AResumeIsAtMostThreeStatements) {
  const Caller caller{.tenant = key().tenant};
  ResumeCommand resume{.request = NewRequest(random()),
                       .session = key().session,
                       .holder = "next",
                       .lease_ttl = absl::Seconds(60),
                       .force_reason = "the first one hangs"};
  ASSERT_EQ(ReasonOf(sessions().Resume(caller, resume).status()), "OK");
  EXPECT_THAT(statements().Take(), SizeIs(::testing::Le(3)));
}

// What a caller asks for besides is read by a statement each, and only if there is any of it.
TEST_F(PgCost, AResumeReadsOnceEachOfWhatItReports) {
  Change write = changes().Write(token());
  write.slots = {MakeSlot("plan", "made")};
  Apply(write);
  Apply(changes().Append(token(), Begin(), {Note(TurnNumber(3), 1, "a")}));
  const auto other = AnotherServer(statements().tap());
  Sessions there(*other, random());
  statements().Take();
  ResumeCommand resume{.request = NewRequest(random()),
                       .session = key().session,
                       .holder = "next",
                       .lease_ttl = absl::Seconds(60),
                       .force_reason = "the first one hangs"};
  resume.expected_slots = {{.owner = "plan", .version = "1.0.0", .policy = DriftPolicy::kWarn}};
  resume.tail_messages = 1;
  const auto resumed = there.Resume({.tenant = key().tenant}, resume);
  ASSERT_EQ(ReasonOf(resumed.status()), "OK");
  EXPECT_EQ(resumed->report.abandoned_turn, TurnNumber(3));
  EXPECT_EQ(resumed->slots.size(), 1U);
  EXPECT_EQ(resumed->messages.size(), 1U);
  EXPECT_THAT(statements().Take(),
              ElementsAre("load", "change_items", "journal_of_turn", "slots_of", "messages"));
  Close(other);
}

TEST_F(PgCost, APageIsOneStatementAndWritesNothing) {
  // The database may tidy a table's page for a read, once no statement sees its dead rows any more.
  EXPECT_TRUE(holdfast::testing::WaitUntil([this] {
    const uint64_t before = Inserted();
    ReadEachPage();
    EXPECT_THAT(statements().Take(),
                ElementsAre("messages", "messages", "slots", "journal", "items_up", "items_down",
                            "items_of", "events", "audit", "list_up"));
    return Inserted() == before || HasFailure();
  }));
}

TEST_F(PgCost, AListingWithAttributesAndSlotsIsOneStatement) {
  ListQuery query{.tenant = key().tenant, .limit = 50, .attributes = {"title"}};
  EXPECT_TRUE(store().List(query).ok());
  EXPECT_THAT(statements().Take(), ElementsAre("list_up"));
  query.owners = {"memory", "plan"};
  EXPECT_TRUE(store().List(query).ok());
  EXPECT_THAT(statements().Take(), ElementsAre("list_up_slots"));
  query.descending = true;
  query.group = "app/";
  query.group_is_prefix = true;
  EXPECT_TRUE(store().List(query).ok());
  EXPECT_THAT(statements().Take(), ElementsAre("list_groups_down_slots"));
}

TEST_F(PgCost, RenewsInOneStatementWithoutFlush) {
  Changes beta(Key("beta"), random());
  const auto created = store().Commit(beta.Create());
  ASSERT_EQ(ReasonOf(created), "OK");
  statements().Take();
  const auto renewed = store().RenewLeases(
      {{.key = key(), .token = token()},
       {.key = beta.key(), .token = *LeaseToken::Parse(created->receipt.token)}});
  EXPECT_TRUE(renewed.at(0).ok() && renewed.at(1).ok());
  EXPECT_THAT(statements().Take(), ElementsAre("renew"));
  EXPECT_LT(Flushed(), Inserted());
}

TEST_F(PgCost, NotifiesWithoutFlush) {
  const auto other = AnotherServer();
  const auto heard = holdfast::testing::Connect(database().dsn());
  ASSERT_EQ(heard->Script("LISTEN holdfast"), absl::OkStatus());
  const pg::Waker waker;
  Begin();
  EXPECT_TRUE(holdfast::testing::WaitUntil([&] {
    const auto notified = heard->AwaitNotifications(waker, absl::Seconds(1));
    return notified.ok() && !notified->empty();
  }));
  EXPECT_LT(Flushed(), Inserted());
  Close(other);
}

TEST_F(PgCost, ACommitOfALongSessionCostsWhatOneOfAShortOneDoes) {
  const auto commit = [this](TurnNumber turn) { return EightKilobytes(turn); };
  const uint64_t short_one = BytesPerCommit(commit);
  for (int i = 0; i < 5; ++i) RunTurn(std::vector<Message>(2000, Text("more")));
  const uint64_t long_one = BytesPerCommit(commit);
  RecordProperty("bytes_short", std::to_string(short_one));
  RecordProperty("bytes_long", std::to_string(long_one));
  std::cout << "WAL per commit of 8 KiB: " << short_one << " at 10 messages, " << long_one
            << " at 10,000\n";
  EXPECT_LE(short_one, 11 * kKiB);
  EXPECT_LE(long_one, 11 * kKiB);
  EXPECT_LE(long_one, short_one + short_one / 20);
}

TEST_F(PgCost, ACommitWithSlotsCostsWhatOneWithoutDoes) {
  // As many as are kept, so that each one more takes another away.
  for (size_t i = 0; i < kSnapshotsKeptDefault; ++i) Apply(EightKilobytesWithSlots(Begin()));
  const uint64_t bytes =
      BytesPerCommit([this](TurnNumber turn) { return EightKilobytesWithSlots(turn); });
  std::cout << "WAL per commit of 8 KiB, of them 6 in two slots: " << bytes << "\n";
  EXPECT_LE(bytes, 11 * kKiB);
}

}  // namespace
}  // namespace holdfast::test

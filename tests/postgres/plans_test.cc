// Each statement of the store reads the rows that it is about and no others, however large the
// tables are. The test checks the plans that PostgreSQL logs, also those inside functions.
#include "session/limits.h"
#include "store-postgres/admin/adopt.h"
#include "store-postgres/admin/migrate.h"
#include "store-postgres/admin/schema_status.h"
#include "tests/postgres/plan_log.h"
#include "tests/postgres/store_fixture.h"
#include "tests/support/checkpoint_changes.h"
#include "tests/support/grouped_commit.h"
#include "tests/support/wait.h"

#include "absl/functional/function_ref.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <regex>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

using ::testing::IsSubsetOf;

// What a statement may read: so much for each row that it is about (the key and then the row, and
// once more to write it), and so much beside.
constexpr double kReadPerRow = 3;
constexpr double kReadBeside = 24;
// Tables of a few rows, whatever sessions there are.
constexpr const char* kSmall[] = {"store", "migration", "probe", "server", "pg_database"};
// Statements that this test does not bring about, and why none of them needs it.
const std::map<std::string, std::string> kNotChecked = {
    {"activate", "of servers that know no step behind 4: writes the one row of holdfast.store"},
    {"database_contents", "once a minute for the metrics: the sizes of files, and the few servers"},
    {"reopen", "after a failover: writes the one row of holdfast.store"},
    {"schema_step", "once a minute for the metrics: the few rows of holdfast.migration"},
    {"serve", "when the listener's connection was lost: take_up calls the same function"},
    {"still_there", "reads no table"},
};

constexpr int kOwners = 3800;
constexpr int kEntriesPerTurn = 1000;
constexpr int kMessagesOfASession = 3000;
constexpr int kUpdates = 150;
constexpr int kCopies = 6;
constexpr int kIdleSessions = 4000;
constexpr int kItems = 20'000;  // and as many of each copy
constexpr PageLimit kListPage{.items = 20, .bytes = kPageBytes};

// What the condition on an index must name: an index that is entered without its first columns is
// read as a whole, and no count of rows shows that.
const std::map<std::string, std::vector<std::string>> kConditions = {
    {"session_listed", {"tenant", "listed_at"}},
    {"session_of_group", {"tenant", "session_group"}},
    {"session_of_project", {"tenant", "md5"}},
    {"session_to_sweep", {}},  // reads all of it, or behind a place
    {"feed_order", {"xid"}},
    {"upload_unlinked", {"touched_at"}},
};

bool EntersByItsKey(const Scan& scan) {
  if (scan.index.empty()) return true;
  const auto found = kConditions.find(scan.index);
  const std::vector<std::string> names =
      found == kConditions.end() ? std::vector<std::string>{"tenant", "session_id"} : found->second;
  return std::ranges::all_of(
      names, [&](const std::string& name) { return absl::StrContains(scan.condition, name); });
}

// The names of the statements in the store's sources.
std::set<std::string> StatementsInSources() {
  static const std::regex kPlain(R"re(Statement k\w+\s*=\s*\{\s*"(\w+)")re");
  static const std::regex kChange(R"re(constexpr char kChange\w+\[\] = "(\w+)")re");
  static const std::regex kListing(R"re(\{"(list_\w+)", (?:true|false),)re");
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator("store-postgres")) {
    if (entry.path().extension() != ".cc") continue;
    std::ifstream file(entry.path());
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    for (const std::regex* pattern : {&kPlain, &kChange, &kListing}) {
      for (std::sregex_iterator found(text.begin(), text.end(), *pattern), end; found != end;
           ++found) {
        names.insert((*found)[1]);
        if (pattern == &kListing) names.insert((*found)[1].str() + "_slots");
      }
    }
  }
  return names;
}

class PlanPostgres {
 public:
  PlanPostgres() : own_(PlanLogSettings()) { own_.Start(); }
  [[nodiscard]] const holdfast::testing::OwnPostgres& own() const { return own_; }

 private:
  holdfast::testing::OwnPostgres own_;
};

class PgPlans : public PlanPostgres, public PostgresStoreTest {
 protected:
  PgPlans() : PostgresStoreTest(own().directory()) {}

  // Does `act`, which brings about the statement `name` that is about so many rows.
  void Check(const std::string& name, double rows, absl::FunctionRef<void()> act) {
    const size_t from = own().Log().size();
    act();
    int plans = 0;
    for (const Plan& plan : ReadPlans(own().Log().substr(from))) {
      if (plan.statement != name) continue;
      ++plans;
      EXPECT_LE(plan.Read(), kReadPerRow * rows + kReadBeside) << name << "\n" << plan.text;
      for (const Scan& scan : plan.scans) {
        if (std::ranges::count(kSmall, scan.table) > 0) continue;
        EXPECT_FALSE(scan.sequential) << name << " reads all of " << scan.table << "\n"
                                      << plan.text;
        EXPECT_TRUE(EntersByItsKey(scan)) << name << " reads all of " << scan.index << "\n"
                                          << plan.text;
      }
    }
    EXPECT_GT(plans, 0) << name << " was not carried out";
    checked_.insert(name);
  }

  // A session with much of everything, as much of others, and many idle ones.
  void Fill() {
    for (int made = 0; made < kOwners; made += static_cast<int>(kSlotsPerChange)) {
      Change write = changes().Write(token());
      for (size_t i = 0; i < kSlotsPerChange; ++i)
        write.slots.push_back(MakeSlot(Owner(made + i), "x"));
      Apply(write);
    }
    RunTurn(std::vector<Message>(kMessagesOfASession, Text("said")));
    for (int turn = 0; turn < 3; ++turn) {
      const TurnNumber number = Begin();
      AppendMany(number);
      if (turn < 2) Apply(changes().Abandon(token(), number));
      active_ = number;
    }
    for (int i = 0; i < kUpdates; ++i) {
      Change update = changes().Update({{"title", "x"}});
      update.events = {{.name = "Updated"}};
      update.audit = AuditDraft{.audit_class = "A", .code = "c"};
      Apply(update);
    }
    CopySession("alpha", kCopies);
    database().Run(
        absl::StrCat("INSERT INTO holdfast.item SELECT tenant, session_id, 'notes',"
                     " convert_to(to_char((n * 7919) % ",
                     kItems,
                     ", 'FM000000'), 'UTF8'), n, now(), now(), 100, '\\x0100000000',"
                     " ARRAY['\\x01'::bytea], 'data' FROM holdfast.session, generate_series(1, ",
                     kItems, ") n WHERE session_id = 'alpha'"));
    for (const char* table : {"log", "slot", "journal", "item"}) {
      CopyRows(table);
    }
    Apply(Changes(Key("idle"), random()).Create());
    CopySession("idle", kIdleSessions);
  }

  void CheckReads() {
    Check("messages", kListPage.items, [&] {
      ExpectOk(store().ReadMessages(key(), std::nullopt, MessageSeq(1500), kListPage));
    });
    Check("slots", kOwners + kSlotsPerChange, [&] { ExpectOk(store().ReadSlots(key(), {})); });
    Check("slots_of", 3, [&] {
      ExpectOk(store().ReadSlots(key(), {.owners = {Owner(5), Owner(2000), "none"}}));
    });
    Check("journal", kListPage.items,
          [&] { ExpectOk(store().ReadJournal(key(), {.after = JournalNumber(1500)}, kListPage)); });
    for (const uint64_t turn : {2U, 3U, 4U}) {
      Check("journal_of_turn", kListPage.items,
            [&] { ExpectOk(store().ReadJournal(key(), {.turn = TurnNumber(turn)}, kListPage)); });
    }
    Check("events", kListPage.items,
          [&] { ExpectOk(store().ReadEvents(key(), EventSeq(60), kListPage)); });
    Check("audit", kListPage.items,
          [&] { ExpectOk(store().ReadAudit(key(), AuditSeq(60), kListPage)); });
  }

  void CheckItemReads() {
    ItemQuery query{.collection = "notes", .range = {.start = "010000"}, .data = true};
    const auto read = [&] { ExpectOk(store().ReadItems(key(), query, kListPage)); };
    Check("items_up", kListPage.items, read);
    query.descending = true;
    Check("items_down", kListPage.items, read);
    query.after = "015000";
    Check("items_down", kListPage.items, read);
    query.range = {.start = "01", .end = "012"};
    Check("items_down", kListPage.items, read);
    query.keys = {"000001", "010000", "nothing"};
    Check("items_of", 3, read);
    // Of labels that no item has it looks at as many as one call may.
    query = {.collection = "notes", .labels = {{"none", true}}};
    Check("items_up", kItemsLookedAt, read);
  }

  void CheckItemWrites() {
    const auto write = [this](ItemWrites writes) {
      return [this, writes] { Apply(changes().PutItems(writes)); };
    };
    Check("change_items", 3,
          write({.puts = {Put("010000", "x"), PutIfAbsent("010001", "x"), Put("new", "x")}}));
    Check("change_items", 12,
          write({.expected_last =
                     ExpectedLast{.collection = "notes", .range = {.end = "01"}, .key = "009999"},
                 .deletes = {{.collection = "notes", .keys = "010002"},
                             {.collection = "notes", .keys = KeysWithPrefix("01500")}},
                 .puts = {Put("010002", "x")}}));
  }

  // Of so many rows, without slots and with those of three owners.
  void CheckListing(const std::string& name, double rows, ListQuery query) {
    const auto list = [&] { ExpectOk(store().List(query)); };
    Check(name, rows, list);
    query.attributes = {"title"};
    query.owners = {"none", Owner(2000), Owner(5)};
    Check(name + "_slots", rows * static_cast<double>(1 + query.owners.size()), list);
  }

  void CheckListings() {
    for (const bool descending : {false, true}) {
      const std::string order = descending ? "down" : "up";
      ListQuery query{.tenant = key().tenant, .descending = descending, .limit = kListPage.items};
      CheckListing("list_" + order, kListPage.items, query);
      query.lifecycles = {Lifecycle::kActive};
      CheckListing("list_active_" + order, 1 + kCopies, query);
      query.lifecycles = {};
      query.project_root = "/nowhere";
      CheckListing("list_project_" + order, 0, query);
      query.group = "nowhere";
      CheckListing("list_group_" + order, 0, query);
      query.group_is_prefix = true;
      CheckListing("list_groups_" + order, 0, query);
    }
  }

  // Of a snapshot that is older than the newest ones, and pinned.
  void CheckPins() {
    const auto head = [&] {
      const auto loaded = store().LoadForDecision(key(), std::nullopt);
      ExpectOk(loaded);
      return loaded.ok() ? loaded->head : Head();
    };
    const Revision pinned = head().snapshots.back().at.revision;
    const auto of_kind = [&](CheckpointKind kind) {
      return CheckpointPut{.checkpoint = CheckpointAt(head(), pinned, kind)};
    };
    Apply(OfCheckpoints(changes(), head(),
                        {of_kind(CheckpointKind::kManual), of_kind(CheckpointKind::kInterrupted)}));
    for (size_t i = 0; i <= kSnapshotsKeptDefault; ++i) {
      Apply(changes().KeepTurn(token(), active_));
    }
    Check("pins_of", kCheckpointKinds,
          [&] { ExpectOk(store().ReadSlots(key(), {.revision = pinned, .owners = {Owner(5)}})); });
    Check("pins", kCheckpointKinds, [&] {
      const size_t from = own().Log().size();
      Apply(OfCheckpoints(changes(), head(), {},
                          {CheckpointItemName(CheckpointKind::kInterrupted, pinned)}));
      EXPECT_TRUE(holdfast::testing::WaitUntil([&] {
        const std::vector<Plan> plans = ReadPlans(own().Log().substr(from));
        return std::ranges::any_of(plans,
                                   [](const Plan& plan) { return plan.statement == "pins"; });
      }));
    });
  }

  void CheckChanges() {
    const auto other = AnotherServer();
    const Change update = changes().Update({{"title", "y"}});
    Check("change", 1, [&] { Apply(update); });
    Check("load", 1, [&] { ExpectOk(other->LoadForDecision(key(), std::nullopt)); });
    Check("load_flushed", 1, [&] { ExpectOk(store().LoadForOutcome(key(), update.request->id)); });
    Check("entries_of", 2, [&] {
      Apply(changes().Append(token(), active_, {Note(active_, 700, "x"), Note(active_, 701, "x")}));
    });
    Check("change", 2, [&] {
      Apply(changes().Append(token(), active_,
                             {SlotUpdate(active_, kEntriesPerTurn + 1, MakeSlot("applied", "x"))}));
    });
    // The first snapshot inside a turn applies all of it, and each further one what came since.
    for (const int rows : {kEntriesPerTurn + 1, 1}) {
      Check("change", rows, [&] { Apply(changes().KeepTurn(token(), active_)); });
      Apply(changes().Append(
          token(), active_,
          {SlotUpdate(active_, kEntriesPerTurn + 1 + ++applied_, MakeSlot("applied", "x"))}));
    }
    CheckSlotCounts();
    Check("change_alone", 1, [&] { Apply(Changes(Key("fresh"), random()).Create()); });
    Check("renew", 1,
          [&] { EXPECT_TRUE(store().RenewLeases({{.key = key(), .token = token()}})[0].ok()); });
    Check("change_many", 3, [&] { WriteTogether(); });
    CheckItemWrites();
    Close(other);
  }

  // A server that does not know how many slots a session has looks at all of them, and at what the
  // turn has added since the last snapshot.
  void CheckSlotCounts() {
    const auto other = AnotherServer();
    Change keep = changes().KeepTurn(token(), active_);
    keep.slots = {MakeSlot("counted", "x")};
    Check("pending_slot_owners", 1, [&] {
      Check("slot_owners", kOwners + 2 * kSlotsPerChange,
            [&] { EXPECT_EQ(ReasonOf(other->Commit(keep)), "OK"); });
    });
    Close(other);
  }

  void CheckUploads() {
    const auto other = AnotherServer();
    const std::string bytes(3 * kChunkBytes, 'x');
    const UploadId linked = *UploadId::Parse(UuidText(random().Bytes(16), 4));
    const UploadId dropped = *UploadId::Parse(UuidText(random().Bytes(16), 4));
    Check("stage", 1, [&] { ExpectOk(store().StageUpload(key(), linked, 0, bytes)); });
    ExpectOk(store().StageUpload(key(), dropped, 0, "x"));
    Check("drop_upload", 1, [&] { ExpectOk(store().DropUpload(key(), dropped)); });
    Change write = changes().Update({{"title", "z"}});
    write.upload = UploadLink{.id = linked, .bytes = bytes.size(), .sha256 = Sha256(bytes)};
    // A server that has not staged it reads it.
    const auto apply = [&] {
      if (!write.upload) return;
      EXPECT_EQ(ReasonOf(other->Commit(write)), "OK");
      write.upload.reset();
    };
    Check("unlinked_upload", 1, [&] { Check("chunks_from", 4, apply); });
    Check("read_staged", 2, [&] {
      ExpectOk(store().ReadStaged(
          key(), {.upload = linked, .offset = 0, .size = bytes.size(), .digest = Sha256(bytes)}, 0,
          kChunkBytes));
    });
    Close(other);
  }

  void CheckServers() {
    std::unique_ptr<SessionStore> other;
    const auto open = [&] {
      if (other == nullptr) other = AnotherServer();
    };
    for (const char* name :
         {"connection_check_server", "connection_check_store", "migrations_prepared",
          "migrations_applied", "take_up", "feed_now", "probe", "take_probes_away"}) {
      Check(name, 8, [&] {
        if (other != nullptr) Close(std::exchange(other, nullptr));
        open();
      });
    }
    Check("alive", 0, [&] { ExpectOk(store().CheckHealth()); });
    const auto connection = holdfast::testing::ConnectAdmin(database().dsn());
    Check("serving_there", 0, [&] { ExpectOk(pg::ReadServing(*connection)); });
    Check("serving", 4, [&] { ExpectOk(pg::ReadServing(*connection)); });
    // Events of another server are notified, and found by the feed.
    for (const std::string name : {"notify", "feed"}) {
      Check(name, 4, [&] {
        const size_t from = own().Log().size();
        Change update = changes().Update({{"title", name}});
        update.events = {{.name = "Updated"}};
        EXPECT_EQ(ReasonOf(other->Commit(update)), "OK");
        EXPECT_TRUE(holdfast::testing::WaitUntil([&] {
          const std::vector<Plan> plans = ReadPlans(own().Log().substr(from));
          return std::ranges::count(plans, name, &Plan::statement) > 0;
        }));
      });
    }
    Check("leave", 2, [&] { Close(other); });
  }

  void CheckSweeps() {
    Change gone = Changes(Key("fresh"), random()).Delete();
    gone.guard.lease = LeaseRule::kForce;
    gone.events = {{.name = "SessionDeleted"}};
    Apply(gone);
    Check("last_event", 1, [&] { ExpectOk(store().ReadLastEvent(Key("fresh"))); });
    // A prune looks at each slot of its session, since no index names those of a revision.
    Check("prune", kOwners + 2.0 * kEntriesPerTurn + 3 * kSlotsPerChange, [&] {
      const size_t from = own().Log().size();
      Apply(changes().Close(token()));
      EXPECT_TRUE(holdfast::testing::WaitUntil(
          [&] { return absl::StrContains(own().Log().substr(from), "execute prune:"); }));
      EXPECT_TRUE(holdfast::testing::WaitUntil([&] {
        const std::vector<Plan> plans = ReadPlans(own().Log().substr(from));
        return std::ranges::any_of(plans, [](const Plan& plan) {
          return plan.statement == "prune" && absl::StrContains(plan.query, "holdfast.prune(");
        });
      }));
    });
    clock().Advance(absl::Hours(1));
    const auto sweep = [&](DueKind kind) {
      ExpectOk(store().ListDue(kind, absl::Minutes(5), std::nullopt, 10));
    };
    const double in_sight = 2 + kCopies;
    for (const auto& [name, rows] : std::map<std::string, double>{{"forget_feed", 1000},
                                                                  {"in_sight", in_sight},
                                                                  {"purge_one", 4},
                                                                  {"settle", in_sight},
                                                                  {"drop_old_uploads", 4},
                                                                  {"due_abandoned", in_sight}}) {
      database().Run(
          "UPDATE holdfast.session SET sweep = true WHERE session_id IN ('fresh', 'alpha')");
      Check(name, rows, [&] { sweep(DueKind::kAbandoned); });
    }
    Check("due_cancelled", in_sight, [&] { sweep(DueKind::kCancelled); });
  }

  void CheckOldEvents() {
    Change many = changes().Update({{"title", "many"}});
    many.events = std::vector<EventDraft>(kEventsKeptLeast, EventDraft{.name = "Many"});
    Apply(many);
    clock().Advance(kEventsKeptDefault + absl::Hours(1));
    Check("events_before", 2, [&] {
      EXPECT_EQ(ReasonOf(store().ReadEvents(key(), EventSeq(), kListPage).status()),
                "EVENTS_COMPACTED");
    });
  }

  void CheckOperatorsCommands() {
    const holdfast::testing::TestDatabase empty(holdfast::testing::Contents::kNothing,
                                                own().directory());
    Check("migration_note", 0,
          [&] { ExpectOk(pg::Migrate(*holdfast::testing::ConnectAdmin(empty.dsn()))); });
    CloseStore();
    Check("connection_adopt", 0,
          [&] { ExpectOk(pg::Adopt(*holdfast::testing::ConnectAdmin(database().dsn()))); });
  }

  [[nodiscard]] const std::set<std::string>& checked() const { return checked_; }

 private:
  static std::string Owner(size_t number) { return absl::StrCat("owner-", number); }
  template <typename Result>
  static void ExpectOk(const Result& result) {
    if constexpr (std::is_same_v<Result, absl::Status>) {
      EXPECT_EQ(ReasonOf(result), "OK") << result;
    } else {
      EXPECT_EQ(ReasonOf(result.status()), "OK") << result.status();
    }
  }

  void AppendMany(TurnNumber turn) {
    std::vector<JournalEntry> entries;
    for (int i = 1; i <= kEntriesPerTurn; ++i) entries.push_back(Note(turn, i, "x"));
    Apply(changes().Append(token(), turn, std::move(entries)));
  }
  // As many rows of other sessions.
  void CopyRows(const std::string& table) {
    database().Run(absl::StrCat(
        "DO $$ DECLARE c text := (SELECT string_agg(column_name, ', ') FROM"
        " information_schema.columns WHERE table_schema = 'holdfast' AND table_name = '",
        table, "'); BEGIN EXECUTE format('INSERT INTO holdfast.", table,
        " (%s) SELECT %s FROM holdfast.", table, ", generate_series(1, ", kCopies,
        ") copy WHERE session_id = %L', c, replace(c, 'session_id', 'session_id || copy'), "
        "'alpha');"
        " END "
        "$$"));
  }
  // Changes of four sessions, each of which applies a turn, in one statement.
  void WriteTogether() {
    std::vector<Change> writes;
    for (int i = 0; i < 4; ++i) {
      Changes session(Key(absl::StrCat("together-", i)), random());
      const LeaseToken token = *LeaseToken::Parse(Apply(session.Create()).token);
      const TurnNumber turn = Apply(session.Begin(token)).turn;
      Apply(session.Append(token, turn, {SlotUpdate(turn, 1, MakeSlot("plan", "x"))}));
      Change commit = session.CommitTurn(token, turn);
      commit.messages = {Text("said")};
      writes.push_back(commit);
    }
    for (const auto& result : CommitTogether(store(), writes)) EXPECT_EQ(ReasonOf(result), "OK");
  }

  std::set<std::string> checked_;
  TurnNumber active_;
  uint64_t applied_ = 0;
};

TEST_F(PgPlans, APageOfMessagesThatGoesOnIsNotSearchedFor) {
  Create();
  for (int i = 0; i < 40; ++i) RunTurn({Text("said")});
  constexpr PageLimit kFew{.items = 5, .bytes = kPageBytes};
  // Queries that a page behind so many messages takes, the looks of its searches among them.
  const auto queries = [&](uint64_t after) {
    const size_t from = own().Log().size();
    EXPECT_TRUE(store().ReadMessages(key(), std::nullopt, MessageSeq(after), kFew).ok());
    return std::ranges::count_if(ReadPlans(own().Log().substr(from)),
                                 [](const Plan& plan) { return plan.statement == "messages"; });
  };
  const auto searched = queries(5);
  const auto continued = queries(10);
  EXPECT_GT(searched, continued + 4);
  EXPECT_EQ(queries(5), searched) << "begun where another page ended";
}

TEST_F(PgPlans, NoStatementReadsWhatItIsNotAbout) {
  Create();
  // A plan is kept for as long as its connection: these are made while the tables are empty.
  CheckReads();
  CheckItemReads();
  CheckListings();
  Fill();
  CheckReads();
  CheckItemReads();
  CheckListings();
  CheckChanges();
  CheckPins();
  CheckUploads();
  CheckServers();
  CheckSweeps();
  CheckOldEvents();
  CheckOperatorsCommands();
  std::set<std::string> known = checked();
  for (const auto& [name, why] : kNotChecked) known.insert(name);
  EXPECT_EQ(StatementsInSources(), known)
      << "each statement is checked here, or listed with why not";
  std::set<std::string> seen;
  for (const Plan& plan : ReadPlans(own().Log())) seen.insert(plan.statement);
  for (const char* of_this_test : {"", "advance", "there"}) seen.erase(of_this_test);
  EXPECT_THAT(seen, IsSubsetOf(known));
}

}  // namespace
}  // namespace holdfast::test

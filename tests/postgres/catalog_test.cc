// What the schema promises, read from the catalog, and how it refuses changes by hand.
#include "tests/postgres/store_fixture.h"
#include "tests/support/wait.h"

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>

#include <cstdint>
#include <limits>

namespace holdfast::test {
namespace {

class PgCatalog : public PostgresStoreTest {
 protected:
  std::string Ask(const std::string& what) {
    return database().AskText(absl::StrCat("SELECT coalesce(string_agg(x, ', '), 'none') FROM (",
                                           what, ") AS found (x)"));
  }
};

// Of the sessions' own tables: the store and its steps are one for all.
constexpr char kTables[] =
    " FROM pg_class t JOIN pg_namespace n ON n.oid = t.relnamespace"
    " WHERE n.nspname = 'holdfast' AND t.relkind = 'r' AND EXISTS (SELECT FROM pg_attribute a"
    "  WHERE a.attrelid = t.oid AND a.attname = 'session_id')";

TEST_F(PgCatalog, EveryTableOfSessionsHasAKey) {
  EXPECT_EQ(Ask(absl::StrCat("SELECT t.relname", kTables)),
            Ask(absl::StrCat("SELECT t.relname", kTables,
                             " AND EXISTS (SELECT FROM pg_index i WHERE i.indrelid = t.oid"
                             " AND i.indisprimary)")));
  EXPECT_EQ(Ask("SELECT t.relname FROM pg_class t WHERE t.relnamespace = 'holdfast'::regnamespace"
                " AND t.relkind = 'r' AND NOT EXISTS (SELECT FROM pg_attribute a"
                "  WHERE a.attrelid = t.oid AND a.attname = 'session_id') ORDER BY 1"),
            "feed, migration, probe, server, store");
}

TEST_F(PgCatalog, EveryUniqueIndexBeginsWithTenantAndSession) {
  EXPECT_EQ(Ask("SELECT i.indexrelid::regclass::text FROM pg_index i JOIN pg_class t"
                "  ON t.oid = i.indrelid"
                " WHERE t.relnamespace = 'holdfast'::regnamespace AND i.indisunique"
                " AND t.relname NOT IN ('migration', 'server')"
                " AND NOT (SELECT array_agg(a.attname::text ORDER BY k.n) ="
                "   '{tenant,session_id}' FROM unnest(i.indkey::int2[]) WITH ORDINALITY k (c, n)"
                "   JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = k.c WHERE k.n <= 2)"),
            "none");
}

TEST_F(PgCatalog, NothingCrossesSessions) {
  EXPECT_EQ(Ask("SELECT conname::text FROM pg_constraint WHERE contype = 'f'"
                " AND connamespace = 'holdfast'::regnamespace"),
            "none");
  EXPECT_EQ(Ask("SELECT relname::text FROM pg_class WHERE relkind = 'S'"
                " AND relnamespace = 'holdfast'::regnamespace"),
            "none");
}

// It would hold up every other commit of the cluster.
TEST_F(PgCatalog, NoCommitNotifies) {
  EXPECT_EQ(Ask("SELECT proname::text FROM pg_proc WHERE pronamespace = 'holdfast'::regnamespace"
                " AND prosrc ~* 'notify'"),
            "none");
  EXPECT_EQ(Ask("SELECT tgname::text FROM pg_trigger"), "none");
}

TEST_F(PgCatalog, NoIndexHasWhatACommitChanges) {
  EXPECT_EQ(Ask("SELECT i.indexrelid::regclass::text FROM pg_index i"
                " WHERE i.indrelid = 'holdfast.session'::regclass AND EXISTS ("
                "  SELECT FROM pg_depend d JOIN pg_attribute a"
                "   ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid"
                "  WHERE d.objid = i.indexrelid AND d.refobjid = i.indrelid"
                "   AND a.attname NOT IN ('tenant', 'session_id', 'listed_at', 'session_group',"
                "    'project_root', 'deleted', 'sweep'))"),
            "none");
}

TEST_F(PgCatalog, PayloadsAreCompressedWithLz4OrNotAtAll) {
  EXPECT_EQ(Ask("SELECT t.relname || '.' || a.attname FROM pg_attribute a JOIN pg_class t"
                "  ON t.oid = a.attrelid"
                " WHERE t.relnamespace = 'holdfast'::regnamespace AND t.relkind = 'r'"
                " AND a.attname IN ('head', 'data', 'slot_data', 'bytes') AND a.atttypid = 17"
                " AND a.attcompression <> 'l' AND a.attstorage <> 'e'"),
            "none");
}

TEST_F(PgCatalog, ACommitIsAHotUpdate) {
  Create();
  RunTurn({Text("one")});    // the first turn enters the rows that sweeps look at
  constexpr int kTurns = 3;  // so few that all versions of the row have room on its page
  for (int i = 0; i < kTurns; ++i) RunTurn({Text("more")});
  CloseStore();  // its connections report their statistics when they end
  const auto counted = [&] {
    return database().AskText(
        "SELECT n_tup_upd::text FROM pg_stat_user_tables"
        " WHERE relid = 'holdfast.session'::regclass");
  };
  EXPECT_TRUE(holdfast::testing::WaitUntil([&] { return counted() == "8"; })) << counted();
  EXPECT_EQ(database().AskText("SELECT (n_tup_upd - n_tup_hot_upd)::text FROM pg_stat_user_tables"
                               " WHERE relid = 'holdfast.session'::regclass"),
            "1");
}

TEST_F(PgCatalog, AChangedStampIsAMismatchBeforeAnythingIsLoaded) {
  Create();
  RunTurn({Text("one")});
  const std::string other = "11111111-1111-4111-8111-111111111111";
  // Also where the record behind the stamp could not be read.
  database().Run(
      absl::StrCat("UPDATE holdfast.session SET store_id = ", Quoted(other), ", head = 'x'"));
  const auto loaded = store().LoadForDecision(key(), std::nullopt);
  ASSERT_EQ(ReasonOf(loaded.status()), "RESUME_MISMATCH");
  EXPECT_EQ(RefusalOf(loaded.status()).facts().at("stored"), other);
  EXPECT_EQ(ReasonOf(store().Commit(changes().Begin(token()))), "RESUME_MISMATCH");
  EXPECT_EQ(database().AskText("SELECT version::text FROM holdfast.session"), "3");
}

TEST_F(PgCatalog, AStampThatWasMadeToFitDoesNotHideAnotherStoresRecord) {
  StoreDatabase other(WhoseStore::kOfItsOwn);
  const auto theirs = other.Make(clock(), random());
  ASSERT_TRUE(theirs->Init().ok() && theirs->Activate().ok());
  ASSERT_EQ(ReasonOf(theirs->Commit(Changes(key(), random()).Create())), "OK");
  const std::string head = other.AskText("SELECT encode(head, 'hex') FROM holdfast.session");
  const StoreId id = theirs->Describe().store;
  Close(theirs);
  Create();
  database().Run(absl::StrCat("UPDATE holdfast.session SET head = decode('", head,
                              "', 'hex'), head_sum = sha256(decode('", head, "', 'hex'))"));
  const auto loaded = store().LoadForDecision(key(), std::nullopt);
  ASSERT_EQ(ReasonOf(loaded.status()), "RESUME_MISMATCH");
  EXPECT_EQ(RefusalOf(loaded.status()).facts().at("stored"), id.value());
}

TEST_F(PgCatalog, ADamagedItemFailsItsOwnReadAndNothingElse) {
  Create();
  RunTurn({Text("one"), Text("two")});
  database().Run(
      "UPDATE holdfast.log SET msgs = substr(msgs, 1, length(msgs) - 1) WHERE msgs IS NOT NULL;"
      "UPDATE holdfast.log SET acts = '' WHERE n = 1;"
      "UPDATE holdfast.slot SET rec = ''");
  constexpr PageLimit kWhole{.items = 100, .bytes = 1 << 20};
  EXPECT_EQ(ReasonOf(store().ReadMessages(key(), std::nullopt, MessageSeq(), kWhole).status()),
            "DAMAGED");
  EXPECT_EQ(ReasonOf(store().ReadEvents(key(), EventSeq(), kWhole).status()), "DAMAGED");
  const auto slots = store().ReadSlots(key(), {});
  ASSERT_TRUE(slots.ok());
  ASSERT_EQ(slots->slots.size(), 1U);
  EXPECT_TRUE(slots->slots[0].damaged);
  // What one change said lies together.
  EXPECT_EQ(ReasonOf(store().ReadAudit(key(), AuditSeq(), kWhole).status()), "DAMAGED");
  EXPECT_TRUE(store().ReadAudit(key(), AuditSeq(1), kWhole).ok());
  EXPECT_TRUE(store().ReadEvents(key(), EventSeq(1), kWhole).ok());
  Apply(changes().Begin(token()));
}

TEST_F(PgCatalog, APageBehindAllNumbersIsEmptyAndTheLast) {
  Create();
  RunTurn({Text("one")});
  constexpr PageLimit kWhole{.items = 100, .bytes = 1 << 20};
  constexpr uint64_t kLargest = std::numeric_limits<int64_t>::max();
  for (const uint64_t after : {uint64_t{100}, kLargest - 1, kLargest, kLargest + 1,
                               std::numeric_limits<uint64_t>::max()}) {
    SCOPED_TRACE(after);
    const auto messages = store().ReadMessages(key(), std::nullopt, MessageSeq(after), kWhole);
    ASSERT_TRUE(messages.ok()) << messages.status();
    EXPECT_TRUE(messages->messages.empty() && messages->end);
    const auto former = store().ReadMessages(key(), Revision(1), MessageSeq(after), kWhole);
    ASSERT_TRUE(former.ok()) << former.status();
    EXPECT_TRUE(former->messages.empty() && former->end);
    const auto events = store().ReadEvents(key(), EventSeq(after), kWhole);
    ASSERT_TRUE(events.ok()) << events.status();
    EXPECT_TRUE(events->events.empty() && events->end);
    const auto audit = store().ReadAudit(key(), AuditSeq(after), kWhole);
    ASSERT_TRUE(audit.ok()) << audit.status();
    EXPECT_TRUE(audit->records.empty() && audit->end);
  }
}

}  // namespace
}  // namespace holdfast::test

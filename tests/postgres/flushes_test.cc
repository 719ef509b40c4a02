// How often the database's log is flushed for changes, counted by the database itself.
#include "tests/postgres/quiet_postgres.h"
#include "tests/postgres/store_fixture.h"
#include "tests/support/grouped_commit.h"
#include "tests/support/wait.h"

#include "absl/functional/function_ref.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <vector>

namespace holdfast::test {
namespace {

using ::testing::ElementsAre;

class PgFlushes : public QuietPostgres, public PostgresStoreTest {
 protected:
  PgFlushes() : QuietPostgres("on"), PostgresStoreTest(QuietPostgres::directory()) {}

  // How many flushes a server makes that starts, does `work`, and ends: connections report their
  // statistics when they end.
  int64_t Flushes(absl::FunctionRef<void(SessionStore& server)> work) {
    const int64_t before = Counted();
    const auto server = AnotherServer(statements().tap());
    work(*server);
    Close(server);
    return Counted() - before;
  }

 private:
  int64_t Counted() {
    const auto others = [this] {
      return database().AskText(
          "SELECT coalesce(string_agg(application_name || ': ' || query, '; '), 'none')"
          " FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
          " AND query <> ''");
    };
    EXPECT_TRUE(holdfast::testing::WaitUntil([&] { return others() == "none"; })) << others();
    int64_t count = 0;
    EXPECT_TRUE(
        absl::SimpleAtoi(database().AskText("SELECT wal_sync::text FROM pg_stat_wal"), &count));
    return count;
  }
};

TEST_F(PgFlushes, AChangeIsOneAndAGroupIsOne) {
  constexpr int kSessions = 8;
  std::vector<std::unique_ptr<Changes>> many;
  std::vector<LeaseToken> tokens;
  for (int i = 0; i < kSessions; ++i) {
    many.push_back(std::make_unique<Changes>(Key(absl::StrCat("s", i)), random()));
    tokens.push_back(*LeaseToken::Parse(Apply(many.back()->Create()).token));
  }
  CloseStore();
  const int64_t opening = Flushes([](SessionStore&) {});

  constexpr int kTurns = 10;
  const int64_t alone = Flushes([&](SessionStore& server) {
    for (int i = 0; i < kTurns; ++i) {
      ASSERT_EQ(ReasonOf(server.Commit(many[0]->Begin(tokens[0]))), "OK");
      ASSERT_EQ(ReasonOf(server.Commit(many[0]->CommitTurn(tokens[0], TurnNumber(i + 1)))), "OK");
    }
  });
  EXPECT_EQ(alone - opening, 2 * kTurns);

  statements().Take();
  const int64_t together = Flushes([&](SessionStore& server) {
    std::vector<Change> changes;
    for (int i = 0; i < kSessions; ++i) {
      ASSERT_TRUE(server.LoadForDecision(many[i]->key(), std::nullopt).ok());
      changes.push_back(many[i]->Write(tokens[i]));
    }
    for (const auto& result : CommitTogether(server, changes)) EXPECT_EQ(ReasonOf(result), "OK");
  });
  std::vector<std::string> sent = statements().Take();
  std::erase_if(sent, [](const std::string& name) { return !name.starts_with("change"); });
  EXPECT_THAT(sent, ElementsAre("change_many"));
  EXPECT_EQ(together - opening, 1);
}

}  // namespace
}  // namespace holdfast::test

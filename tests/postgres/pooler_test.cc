// A real pgbouncer between the server and PostgreSQL.
#include "store-postgres/connection_check.h"
#include "tests/postgres/unavailable.h"
#include "tests/support/postgres.h"
#include "tests/support/wait.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <fstream>
#include <unistd.h>

namespace holdfast::testing {
namespace {

using pg::CheckForPooler;
using ::testing::HasSubstr;

// A pgbouncer over the shared cluster, with these settings beside its own.
class Pgbouncer final {
 public:
  explicit Pgbouncer(const std::string& settings) {
    // It refuses to run as root, and writes its socket here.
    std::filesystem::permissions(folder_.path(), std::filesystem::perms::all);
    std::ofstream(folder_.File("pgbouncer.ini"))
        << "[databases]\n* = host=" << SharedPostgres() << " user=holdfast\n"
        << "[pgbouncer]\nlisten_port=5432\nunix_socket_dir=" << folder_.path().string()
        << "\nauth_type=any\n"
        << settings;
    std::vector<std::string> words = {"/usr/sbin/pgbouncer", folder_.File("pgbouncer.ini")};
    if (geteuid() == 0) {
      const std::vector<std::string> as = {"/usr/bin/setpriv", "--reuid=postgres",
                                           "--regid=postgres", "--init-groups", "--pdeathsig=KILL"};
      words.insert(words.begin(), as.begin(), as.end());
    }
    process_ = std::make_unique<ChildProcess>(words, folder_.File("log"), folder_.File("log"));
    const bool up = WaitUntil([&] {
      return absl::StrContains(ReadText(folder_.File("log")), "process up") || !process_->Running();
    });
    EXPECT_TRUE(up && process_->Running()) << ReadText(folder_.File("log"));
  }

  [[nodiscard]] pg::ConnectOptions Options() const { return {.dsn = DsnTo("postgres")}; }
  [[nodiscard]] std::string DsnTo(const std::string& database) const {
    return DsnOf(folder_.path(), database);
  }

 private:
  const TestFolder folder_;
  std::unique_ptr<ChildProcess> process_;
};

constexpr char kTakesOptions[] = "ignore_startup_parameters=options\n";

TEST(Pooler, PostgresqlItselfIsNone) {
  EXPECT_EQ(CheckForPooler({.dsn = DsnOf(SharedPostgres(), "postgres")}), absl::OkStatus());
}

TEST(Pooler, OneThatLendsByTheTransactionIsRefused) {
  const Pgbouncer pooler(absl::StrCat("pool_mode=transaction\n", kTakesOptions));
  EXPECT_THAT(UnavailableText(CheckForPooler(pooler.Options())), HasSubstr("by the transaction"));
}

TEST(Pooler, AlsoWhenItHasOneConnectionToLend) {
  const Pgbouncer pooler(
      absl::StrCat("pool_mode=transaction\ndefault_pool_size=1\n", kTakesOptions));
  EXPECT_THAT(UnavailableText(CheckForPooler(pooler.Options())), HasSubstr("by the transaction"));
}

// The pooler then has several connections, and lends the one that was idle longest.
TEST(Pooler, AlsoWhenItLendsInTurn) {
  constexpr size_t kToLend = 4;
  const Pgbouncer pooler(
      absl::StrCat("pool_mode=transaction\nserver_round_robin=1\n", kTakesOptions));
  std::vector<std::unique_ptr<pg::Connection>> busy;
  for (size_t i = 0; i < kToLend; ++i) {
    busy.push_back(Connect(pooler.Options().dsn));
    ASSERT_EQ(busy.back()->Script("BEGIN"), absl::OkStatus());
  }
  for (const auto& connection : busy) ASSERT_EQ(connection->Script("COMMIT"), absl::OkStatus());
  EXPECT_THAT(UnavailableText(CheckForPooler(pooler.Options())), HasSubstr("by the transaction"));
}

TEST(Pooler, OneThatRefusesOurSettingsIsNamed) {
  const Pgbouncer pooler("pool_mode=transaction\n");
  EXPECT_THAT(UnavailableText(CheckForPooler(pooler.Options())),
              HasSubstr("a pooler in between does not take the settings"));
}

// Lent for as long as a connection lasts, connections are ours alone; but the settings are lost.
TEST(Pooler, RefusesPoolerThatDropsSettings) {
  const Pgbouncer pooler(absl::StrCat("pool_mode=session\n", kTakesOptions));
  EXPECT_EQ(CheckForPooler(pooler.Options()), absl::OkStatus());
  EXPECT_THAT(UnavailableText(pg::CheckConnection(*Connect(pooler.Options().dsn)).status()),
              HasSubstr("a pooler in between drops them"));
}

// The whole program, which a supervisor starts: it does not serve, and says what to do.
TEST(Pooler, RefusesToServeWhenPoolingIsByTransaction) {
  const TestDatabase database(Contents::kStore);
  const TestFolder folder;
  const Pgbouncer pooler(absl::StrCat("pool_mode=transaction\n", kTakesOptions));
  ServerProcess server(folder, {.dsn = pooler.DsnTo(database.name())});
  EXPECT_FALSE(server.Start());
  const Ending ending = server.Stop();
  EXPECT_EQ(ending.exit_code, 1) << "signal " << ending.signal;
  EXPECT_THAT(server.Log(), HasSubstr("store team (postgres, "));
  EXPECT_THAT(server.Log(), HasSubstr("by the transaction"));

  const TestFolder another;
  ServerProcess direct(another, {.dsn = database.dsn()});
  EXPECT_TRUE(direct.Start()) << "the same database, without the pooler: " << direct.Log();
}

}  // namespace
}  // namespace holdfast::testing

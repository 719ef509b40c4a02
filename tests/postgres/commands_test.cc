// The commands of holdfastd for a store in a database, as a person types them.
#include "store-postgres/connection_check.h"
#include "store-postgres/migrations.h"
#include "tests/support/postgres.h"
#include "tests/support/server_process.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace holdfast::testing {
namespace {

using ::testing::HasSubstr;

class CommandsTest : public ::testing::Test {
 protected:
  // Runs holdfastd with `words` over a store in `dsn`; its exit code. What it says is in `said_`.
  int Run(const std::vector<std::string>& words, const std::string& dsn,
          const std::string& more = "") {
    std::ofstream(folder_.File("holdfastd.yaml"))
        << "stores: [{name: team, kind: postgres, active: true, dsn: \"" << dsn << "\"" << more
        << "}]\n";
    std::vector<std::string> arguments = {Program("holdfastd")};
    arguments.insert(arguments.end(), words.begin(), words.end());
    arguments.insert(arguments.end(), {"--config", folder_.File("holdfastd.yaml")});
    const std::string out = folder_.File(absl::StrCat("said.", ++runs_));
    const Ending ending = RunToEnd(arguments, out, out);
    said_ = ReadText(out);
    return ending.exit_code;
  }

  const TestFolder folder_;
  const TestDatabase database_{Contents::kNothing};
  std::string said_;
  int runs_ = 0;
};

TEST_F(CommandsTest, MigrateTakesTheStepsAndStatusShowsThem) {
  const auto steps = static_cast<int>(pg::Migrations().size());
  EXPECT_EQ(Run({"migrate", "--status"}, database_.dsn()), 1) << said_;
  EXPECT_THAT(said_, HasSubstr("run holdfastd migrate"));
  EXPECT_EQ(Run({"migrate"}, database_.dsn()), 0) << said_;
  EXPECT_THAT(said_, HasSubstr(absl::StrCat("store team: schema ", steps, ", ", steps)));
  EXPECT_EQ(Run({"migrate"}, database_.dsn()), 0) << said_;
  EXPECT_THAT(said_, HasSubstr(absl::StrCat("store team: schema ", steps, ", 0 steps taken")));
  EXPECT_EQ(Run({"migrate", "--status"}, database_.dsn()), 0) << said_;
  EXPECT_THAT(said_, HasSubstr(absl::StrCat("store team: schema ", steps, " may be served")));
  for (const pg::Migration& step : pg::Migrations()) {
    EXPECT_THAT(said_, HasSubstr(absl::StrCat("store team: step ", step.version, " ",
                                              std::string(step.name), " taken at ")));
  }
}

TEST_F(CommandsTest, ADatabaseWithoutTheSchemaIsNotServed) {
  EXPECT_EQ(Run({}, database_.dsn()), 1);
  EXPECT_THAT(said_, HasSubstr("store team (postgres, "));
  EXPECT_THAT(said_, HasSubstr("run holdfastd migrate"));
}

TEST_F(CommandsTest, ASchemaOfALaterProgramIsNotServed) {
  ASSERT_EQ(Run({"migrate"}, database_.dsn()), 0) << said_;
  ASSERT_EQ(Connect(database_.dsn())
                ->Script("INSERT INTO holdfast.migration SELECT max(version) + 1, 'later', '', "
                         "max(version) + 1 FROM holdfast.migration"),
            absl::OkStatus());
  EXPECT_EQ(Run({}, database_.dsn()), 1);
  EXPECT_THAT(said_, HasSubstr("start a newer holdfastd"));
  EXPECT_EQ(Run({"migrate", "--status"}, database_.dsn()), 1);
  EXPECT_THAT(said_, HasSubstr("start a newer holdfastd"));
}

// A dump put into another cluster is whole, and is served there once it has been adopted.
TEST_F(CommandsTest, ARestoredDumpIsServedOnceItIsAdopted) {
  ASSERT_EQ(Run({"migrate"}, database_.dsn()), 0) << said_;
  OwnPostgres elsewhere({"fsync=off"});
  elsewhere.Start();
  const std::string copy = folder_.File("copied");
  const Ending copied = RunToEnd(
      {"/bin/bash", "-c", "set -o pipefail; pg_dump \"$0\" | psql -qv ON_ERROR_STOP=1 \"$1\"",
       database_.dsn(), elsewhere.dsn()},
      copy, copy);
  ASSERT_EQ(copied.exit_code, 0) << ReadText(copy);
  EXPECT_EQ(Run({}, elsewhere.dsn()), 1);
  EXPECT_THAT(said_, HasSubstr("run: holdfastd store adopt"));
  EXPECT_EQ(Run({"store", "adopt"}, elsewhere.dsn()), 0) << said_;
  EXPECT_THAT(said_, HasSubstr(", incarnation 2\n"));
  EXPECT_TRUE(pg::CheckConnection(*Connect(elsewhere.dsn())).ok());
  EXPECT_TRUE(pg::CheckConnection(*Connect(database_.dsn())).ok()) << "the original is not touched";
}

TEST_F(CommandsTest, WhatCannotBeReachedIsSaid) {
  EXPECT_EQ(Run({"migrate"}, "host=/nonexistent dbname=x"), 1);
  EXPECT_THAT(said_, HasSubstr("store team: "));
  EXPECT_THAT(said_, HasSubstr("/nonexistent"));
}

TEST_F(CommandsTest, APasswordIsTakenByReferenceAndNeverSaid) {
  namespace fs = std::filesystem;
  // The server, another user, reads this one.
  fs::permissions(folder_.path(), fs::perms::others_exec, fs::perm_options::add);
  std::ofstream(folder_.File("hba")) << "local all holdfast trust\nlocal all all scram-sha-256\n";
  OwnPostgres postgres({"fsync=off", "hba_file=" + folder_.File("hba")});
  postgres.Start();
  ASSERT_EQ(Connect(postgres.dsn())
                ->Script("CREATE ROLE app LOGIN PASSWORD 'sesame'; "
                         "GRANT CREATE ON DATABASE postgres TO app"),
            absl::OkStatus());
  const std::string dsn = postgres.dsn() + " user=app";
  EXPECT_EQ(Run({"migrate"}, dsn), 1);
  EXPECT_THAT(said_, HasSubstr("no password supplied"));
  std::ofstream(folder_.File("password")) << "open sesame\n";
  const std::string by_file = ", password: 'file:" + folder_.File("password") + "'";
  EXPECT_EQ(Run({"migrate"}, dsn, by_file), 1);
  EXPECT_THAT(said_, HasSubstr("password authentication failed"));
  EXPECT_EQ(said_.find("sesame"), std::string::npos) << said_;
  std::ofstream(folder_.File("password")) << "sesame\n";
  EXPECT_EQ(Run({"migrate"}, dsn, by_file), 0) << said_;
  setenv("HOLDFAST_TEST_PASSWORD", "sesame", 1);
  EXPECT_EQ(Run({"migrate", "--status"}, dsn, ", password: 'env:HOLDFAST_TEST_PASSWORD'"), 0)
      << said_;
  EXPECT_EQ(Run({"--print-config"}, dsn, by_file), 0);
  EXPECT_THAT(said_, HasSubstr("password: file:"));
  EXPECT_EQ(said_.find("sesame"), std::string::npos);
}

TEST_F(CommandsTest, APasswordThatIsNotThereIsSaid) {
  EXPECT_EQ(Run({"migrate"}, database_.dsn(), ", password: 'env:HOLDFAST_TEST_NO_SUCH'"), 1);
  EXPECT_THAT(said_, HasSubstr("the variable HOLDFAST_TEST_NO_SUCH is not set"));
}

}  // namespace
}  // namespace holdfast::testing

// A secret that the server knows, and the database's password, are nowhere: not in a dump of the
// database, not in its files and its log of changes, and not in what the server and PostgreSQL log.
#include "store-postgres/admin/migrate.h"
#include "tests/support/known_secret.h"
#include "tests/support/postgres.h"
#include "tests/support/requests.h"
#include "tests/support/server_process.h"
#include "tests/support/wire_client.h"

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Stub = WireClient::Stub;

constexpr char kHarmlessText[] = "nothing secret about this";
constexpr char kPassword[] = "open-sesame-of-the-database";

// As it is, as a dump writes bytes, and, of the canary, as a column of UUIDs has it.
std::vector<std::string> FormsOf(const std::string& text) {
  std::vector<std::string> forms = {text, absl::BytesToHexString(text)};
  if (text == kCanary) forms.push_back(absl::HexStringToBytes(kTracedId));
  return forms;
}

class PgKnownSecret : public ::testing::Test {
 protected:
  void SetUp() override {
    // The database's server, another user, reads one of the files.
    std::filesystem::permissions(folder_.path(), std::filesystem::perms::others_exec,
                                 std::filesystem::perm_options::add);
    std::ofstream(folder_.File("hba")) << "local all holdfast trust\nlocal all all scram-sha-256\n";
    std::ofstream(folder_.File("secret")) << kCanary << "\n";
    std::ofstream(folder_.File("password")) << kPassword << "\n";
    postgres_.Start();
    ASSERT_EQ(Connect(postgres_.dsn())
                  ->Script(absl::StrCat("CREATE ROLE app LOGIN PASSWORD '", kPassword,
                                        "'; GRANT CREATE ON DATABASE postgres TO app")),
              absl::OkStatus());
    ASSERT_TRUE(
        pg::Migrate(*ConnectAdmin(absl::StrCat(postgres_.dsn(), " user=app password=", kPassword)))
            .ok());
  }

  std::string Dump() {
    const std::string out = folder_.File("dump");
    const Ending ending = RunToEnd({"/bin/bash", "-c", "pg_dump \"$0\"", postgres_.dsn()}, out,
                                   folder_.File("dump.err"));
    EXPECT_EQ(ending.exit_code, 0) << ReadText(folder_.File("dump.err"));
    return ReadText(out);
  }
  // Files of the server, of the cluster and of their logs that contain `text` in some form.
  std::vector<std::string> FilesWith(const std::string& text) {
    std::vector<std::string> files;
    const std::filesystem::path cluster = postgres_.directory();
    for (const std::filesystem::path& place : {folder_.path(), cluster.parent_path()}) {
      for (const auto& entry : std::filesystem::recursive_directory_iterator(place)) {
        const std::string name = entry.path().filename();
        const bool source = place == folder_.path() && (name == "secret" || name == "password");
        if (!entry.is_regular_file() || source) continue;
        const std::string bytes = ReadText(entry.path());
        for (const std::string& form : FormsOf(text)) {
          if (!absl::StrContains(bytes, form)) continue;
          files.push_back(std::filesystem::relative(entry.path(), place));
          break;
        }
      }
    }
    return files;
  }

  const TestFolder folder_;
  OwnPostgres postgres_{{"fsync=off", "hba_file=" + folder_.File("hba")}};
  ServerProcess server_{folder_,
                        {.more = "secrets: {known: ['file:" + folder_.File("secret") + "']}\n",
                         .dsn = postgres_.dsn() + " user=app",
                         .store = ", password: 'file:" + folder_.File("password") + "'"}};
};

TEST_F(PgKnownSecret, IsStoredNowhere) {
  ASSERT_TRUE(server_.Start()) << server_.Log();
  WireClient client(server_.address());
  pb::CreateSessionRequest create = test::CreateRequest("here");
  create.add_messages()->set_data(kHarmlessText);
  const std::string token = client.Must(&Stub::CreateSession, create).lease_token();
  ExpectRefusedEverywhere(server_.address(), "here", token);
  client.Must(&Stub::BeginTurn, test::BeginRequest("here", token));
  client.Must(&Stub::CommitTurn, test::CommitRequest("here", token, 1, kHarmlessText));

  const std::string dump = Dump();
  EXPECT_EQ(server_.Stop().exit_code, 0);
  postgres_.Stop();  // in order: what it has in memory is in its files
  for (const std::string text : {kCanary, kPassword}) {
    for (const std::string& form : FormsOf(text)) {
      EXPECT_FALSE(absl::StrContains(dump, form)) << text;
    }
    EXPECT_THAT(FilesWith(text), IsEmpty()) << text;
  }
  // What is no secret is found in each of these places.
  EXPECT_TRUE(absl::StrContains(dump, absl::BytesToHexString(kHarmlessText)));
  const std::vector<std::string> marked = FilesWith(kHarmlessText);
  EXPECT_THAT(marked, Contains(HasSubstr("pg_wal/")));
  EXPECT_THAT(marked, Contains(HasSubstr("data/base/")));
  EXPECT_THAT(server_.Log(), HasSubstr("SECRET_LEAK"));
  EXPECT_THAT(FilesWith("database system is ready"), ::testing::Not(IsEmpty()))
      << "what PostgreSQL says is looked through";
}

}  // namespace
}  // namespace holdfast::testing

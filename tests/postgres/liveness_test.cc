// What the health checks answer while the database is away: the server is live and not ready, for a
// restart would not help.
#include "tests/postgres/faults_fixture.h"
#include "tests/support/child_process.h"
#include "tests/support/wait.h"

#include "gtest/gtest.h"

#include <string>
#include <vector>

namespace holdfast::testing {
namespace {

class Liveness : public FaultsTest {
 protected:
  // What `holdfastd healthcheck` exits with.
  int ExitOfHealthcheck(const std::vector<std::string>& more) {
    std::vector<std::string> words = {Program("holdfastd"), "healthcheck", "--address",
                                      served().server.address()};
    words.insert(words.end(), more.begin(), more.end());
    const TestFolder& folder = served().folder;
    return RunToEnd(words, folder.File("asked"), folder.File("asked.error")).exit_code;
  }
};

TEST_F(Liveness, IsServingWhileTheDatabaseIsAway) {
  EXPECT_EQ(ExitOfHealthcheck({}), 0);
  gate().Refuse();
  ASSERT_TRUE(WaitUntil([this] { return !served().server.Serves(); }));
  EXPECT_EQ(ExitOfHealthcheck({}), 1);
  EXPECT_EQ(ExitOfHealthcheck({"--service", "holdfast.v1.SessionService"}), 1);
  EXPECT_EQ(ExitOfHealthcheck({"--service", "liveness"}), 0);
  gate().Open();
  ASSERT_TRUE(WaitUntil([this] { return served().server.Serves(); }));
  EXPECT_EQ(ExitOfHealthcheck({"--service=liveness"}), 0);
  EXPECT_EQ(ExitOfHealthcheck({"--service", "another.Service"}), 1);
  ExpectNormal({});
}

}  // namespace
}  // namespace holdfast::testing

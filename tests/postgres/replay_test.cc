// Recorded conversations through two servers at once, while PostgreSQL is restarted under them.
#include "store-postgres/admin/migrate.h"
#include "tests/support/call_history.h"
#include "tests/support/child_process.h"
#include "tests/support/postgres.h"
#include "tests/support/server_process.h"
#include "tests/support/wait.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::testing {
namespace {

using ::testing::HasSubstr;

constexpr size_t kCallsBetweenRestarts = 300;
constexpr int kRestarts = 4;

// Those in $HOLDFAST_TRAJECTORIES, else the project's own, and how often each, so that there is
// traffic enough.
std::vector<std::string> WhatIsReplayed() {
  const char* folder = std::getenv("HOLDFAST_TRAJECTORIES");
  if (folder == nullptr) return {"--repeat", "300", "tests/data/conversation.jsonl"};
  std::vector<std::string> words = {"--repeat", "4"};
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".jsonl") words.push_back(entry.path());
  }
  return words;
}

std::vector<std::string> Command(const std::string& address, const std::string& run) {
  return {Program("holdfast"), "--address", address, "replay", "--run", run, "--parallel", "16"};
}

std::string LastLine(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

// One of the two servers, and the replay that goes through it.
struct Half {
  explicit Half(const std::string& dsn) : server(folder, {.dsn = dsn}) {}
  void Start(const std::string& name) {
    run = name;
    ASSERT_TRUE(server.Start()) << server.Log();
    std::vector<std::string> words = Command(server.address(), run);
    for (const char* word : {"--verify", "--patience", "60s", "--log"}) words.emplace_back(word);
    words.push_back(folder.File("calls"));
    for (std::string& word : WhatIsReplayed()) words.push_back(std::move(word));
    replay = std::make_unique<ChildProcess>(words, folder.File("out"), folder.File("err"));
  }
  std::string Sum() const { return LastLine(ReadText(folder.File("out"))); }

  TestFolder folder;
  ServerProcess server;
  std::string run;
  std::unique_ptr<ChildProcess> replay;
};

TEST(PgReplay, ThroughTwoServersWhilePostgresqlIsRestarted) {
  OwnPostgres postgres({"fsync=off"});
  postgres.Start();
  ASSERT_TRUE(pg::Migrate(*ConnectAdmin(postgres.dsn())).ok());
  Half left(postgres.dsn());
  Half right(postgres.dsn());
  left.Start("left");
  right.Start("right");
  CallHistory lefts(left.folder.File("calls"));
  CallHistory rights(right.folder.File("calls"));
  for (int restart = 0; restart < kRestarts; ++restart) {
    for (CallHistory* const history : {&lefts, &rights}) {
      history->Read();
      const size_t wanted = history->acknowledged() + kCallsBetweenRestarts;
      ASSERT_TRUE(WaitUntil([&] {
        history->Read();
        return history->acknowledged() >= wanted;
      })) << left.Sum()
          << right.Sum();
    }
    ASSERT_TRUE(left.replay->Running() && right.replay->Running())
        << "there was nothing to disturb";
    restart % 2 == 0 ? postgres.Stop() : postgres.Kill();
    postgres.Start();
  }
  for (Half* const half : {&left, &right}) {
    EXPECT_EQ(half->replay->Wait().exit_code, 0) << ReadText(half->folder.File("err"));
    EXPECT_THAT(half->Sum(), HasSubstr(" 0 differences, "));
    std::cout << half->run << ": " << half->Sum() << "\n";
  }
  // And what one server took the other one has.
  for (Half* const half : {&left, &right}) {
    const Half& other = half == &left ? right : left;
    std::vector<std::string> words = Command(other.server.address(), half->run);
    words.emplace_back("--verify-only");
    for (std::string& word : WhatIsReplayed()) words.push_back(std::move(word));
    const std::string out = half->folder.File("verified");
    EXPECT_EQ(RunToEnd(words, out, out).exit_code, 0) << ReadText(out);
    EXPECT_THAT(LastLine(ReadText(out)), HasSubstr(" 0 differences, "));
  }
}

}  // namespace
}  // namespace holdfast::testing

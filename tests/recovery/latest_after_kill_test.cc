// The newest session of each project after the server was killed: unknown, and said to be so, until
// the store has looked at all sessions; never another one, and never none.
#include "tests/support/requests.h"
#include "tests/support/server_process.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wait.h"
#include "tests/support/wire_client.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

#include <iostream>
#include <map>
#include <string>

namespace holdfast::testing {
namespace {

using Stub = WireClient::Stub;

constexpr int kProjects = 6;
constexpr int kSessionsOfEach = 25;

TEST(LatestAfterKill, IsUnavailableOrRight) {
  const TestFolder folder;
  ServerProcess server(folder);
  ASSERT_TRUE(server.Start()) << server.Log();
  std::map<std::string, std::string> newest;
  {
    WireClient client(server.address());
    for (int i = 0; i < kProjects * kSessionsOfEach; ++i) {
      pb::CreateSessionRequest request = test::CreateRequest(absl::StrCat("session-", i));
      const std::string root = absl::StrCat("/project/", i % kProjects);
      request.mutable_manifest()->set_project_root(root);
      client.Must(&Stub::CreateSession, request);
      newest[root] = absl::StrCat("session-", i);
    }
  }
  server.Kill();
  ASSERT_TRUE(server.Start()) << server.Log();
  WireClient client(server.address());
  int unavailable = 0;
  for (const auto& [root, id] : newest) {
    pb::LookupLatestSessionRequest request;
    request.set_project_root(root);
    const bool answered = WaitUntil([&] {
      const auto answer = client.Ask(&Stub::LookupLatestSession, request);
      if (answer.verdict.reason == "OK") {
        EXPECT_EQ(answer.reply.session().session_id(), id) << root;
        return true;
      }
      EXPECT_EQ(answer.verdict.reason, "STORE_UNAVAILABLE") << root;
      EXPECT_EQ(answer.verdict.facts.at("outcome"), "known");
      EXPECT_TRUE(answer.verdict.retry_after.has_value());
      ++unavailable;
      return answer.verdict.reason != "STORE_UNAVAILABLE";  // another one does not become right
    });
    EXPECT_TRUE(answered) << root;
  }
  std::cout << "unavailable at first: " << unavailable << "\n";
}

}  // namespace
}  // namespace holdfast::testing

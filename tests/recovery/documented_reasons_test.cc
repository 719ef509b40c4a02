// The options of a method declare exactly the reasons that real servers refuse it with. Every
// reason that occurs is declared: the server's log shows them, after every refusal that needs no
// damage has been caused. Every reason that is declared occurs, for each method, over a real
// socket.
#include "tests/recovery/causes.h"
#include "tests/support/channel.h"
#include "tests/support/method_rules.h"
#include "tests/support/refusal_cases.h"
#include "tests/support/server_process.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include <iostream>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace holdfast::testing {
namespace {

namespace pb = ::holdfast::v1;

// Method -> the reasons that its options declare.
std::map<std::string, std::set<std::string>> DeclaredReasons() {
  std::map<std::string, std::set<std::string>> reasons;
  for (const auto* method : test::ApiMethods()) {
    reasons[method->name()] = test::ReasonsOf(*method);
    reasons[method->name()].merge(test::ReasonsOf(pb::REASON_GROUP_ANY_CALL));
  }
  return reasons;
}

TEST(DocumentedReasons, AreAllThatAMethodCauses) {
  const TestFolder folder;
  ServerProcess server(
      folder, {.more = absl::StrCat("secrets: {patterns: ['", test::kSecretPattern, "']}\n"),
               .echo = false});
  ASSERT_TRUE(server.Start()) << server.Log();
  const auto channel = Connected(server.address());
  const auto sessions = pb::SessionService::NewStub(channel);
  const auto admin = pb::AdminService::NewStub(channel);
  test::RefusalCases cases(*sessions, *admin);
  cases.All();
  EXPECT_EQ(server.Stop().exit_code, 0);

  const std::map<std::string, std::set<std::string>> declared = DeclaredReasons();
  EXPECT_GT(declared.size(), 30);
  std::set<std::string> seen;
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(server.Log(), '\n'))) {
    const auto call = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!call.is_object() || !call.contains("method") || call["reason"] == "") continue;
    const std::string method = call["method"];
    const std::string reason = call["reason"];
    seen.insert(reason);
    ASSERT_TRUE(declared.contains(method)) << line;
    EXPECT_TRUE(declared.at(method).contains(reason))
        << method << " is refused with " << reason << ", which its options do not declare";
  }
  EXPECT_GT(seen.size(), 20);
}

TEST(DocumentedReasons, EachIsCausedByARealServer) {
  CausedReasons caused;
  for (const auto cause : {CauseByRequests, CauseByClients, CauseByDamage, CauseByFullDisk,
                           CauseByAge, CauseByLoad, CauseByNoRoom, CauseByStop}) {
    ASSERT_NO_FATAL_FAILURE(cause(caused));
  }
  EXPECT_TRUE(caused.Missing().empty()) << "declared, and refused by no server:\n"
                                        << caused.Describe(caused.Missing());
  EXPECT_TRUE(caused.Undeclared().empty()) << "refused, and not declared:\n"
                                           << caused.Describe(caused.Undeclared());
  EXPECT_GT(caused.declared().size(), 500);
  std::cout << "figure: " << caused.declared().size() - caused.Missing().size()
            << " rows of reason and method\n";
}

}  // namespace
}  // namespace holdfast::testing

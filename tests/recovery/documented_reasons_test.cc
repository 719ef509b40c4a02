// What a server answers in fact is what docs/api.md says that the method can cause: by the log of a
// real one that has been asked for every refusal that needs no damage.
#include "tests/support/channel.h"
#include "tests/support/golden.h"
#include "tests/support/refusal_cases.h"
#include "tests/support/server_process.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace holdfast::testing {
namespace {

namespace pb = ::holdfast::v1;

// Method -> the reasons of its row; `any call` has those of all.
std::map<std::string, std::set<std::string>> DocumentedReasons() {
  std::map<std::string, std::set<std::string>> reasons;
  const std::string text = test::ReadProjectFile("docs/api.md");
  const size_t section = text.find("## What to do, by method");
  const std::string table = text.substr(section, text.find("\n## ", section + 1) - section);
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(table, '\n'))) {
    const std::vector<std::string> words = absl::StrSplit(line, '`');
    if (words.size() < 2 || words[0] != "| ") continue;
    for (size_t i = 3; i < words.size(); i += 2) reasons[words[1]].insert(words[i]);
  }
  return reasons;
}

TEST(DocumentedReasons, AreAllThatAMethodCauses) {
  const TestFolder folder;
  ServerProcess server(
      folder, {.more = absl::StrCat("secrets: {patterns: ['", test::kSecretPattern, "']}\n")});
  ASSERT_TRUE(server.Start()) << server.Log();
  const auto channel = Connected(server.address());
  const auto sessions = pb::SessionService::NewStub(channel);
  const auto admin = pb::AdminService::NewStub(channel);
  test::RefusalCases cases(*sessions, *admin);
  cases.All();
  EXPECT_EQ(server.Stop().exit_code, 0);

  std::map<std::string, std::set<std::string>> documented = DocumentedReasons();
  EXPECT_GT(documented.size(), 15);
  std::set<std::string> seen;
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(server.Log(), '\n'))) {
    const auto call = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!call.is_object() || !call.contains("method") || call["reason"] == "") continue;
    const std::string method = call["method"];
    const std::string reason = call["reason"];
    seen.insert(reason);
    EXPECT_TRUE(documented["any call"].contains(reason) || documented[method].contains(reason))
        << method << " causes " << reason << ", and docs/api.md does not say so";
  }
  EXPECT_GT(seen.size(), 20);
}

}  // namespace
}  // namespace holdfast::testing

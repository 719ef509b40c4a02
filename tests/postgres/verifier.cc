#include "tests/postgres/verifier.h"

#include "tests/history/checker.h"
#include "tests/support/child_process.h"

#include "absl/strings/numbers.h"
#include "gtest/gtest.h"

#include <iostream>

namespace holdfast::testing {
namespace {

constexpr size_t kComplaintsShown = 20;
// Exit codes: the record is right, is wrong, cannot be checked.
constexpr int kExitRight = 0;
constexpr int kExitWrong = 1;
constexpr int kExitUnread = 2;

}  // namespace

void VerifyBeside(const TestFolder& folder, const history::TrafficPlan& plan) {
  std::vector<std::string> words = {Program("../tests/postgres_test"), kVerifierWord, plan.file,
                                    plan.prefix, std::to_string(plan.sessions)};
  words.insert(words.end(), plan.addresses.begin(), plan.addresses.end());
  const std::string said = folder.File("verified");
  const Ending ending = RunToEnd(words, said, said);
  std::cout << ReadText(said);
  EXPECT_EQ(ending.exit_code, kExitRight) << ReadText(said);
}

int RunVerifier(const std::vector<std::string>& words) {
  constexpr size_t kFile = 1;
  constexpr size_t kPrefix = 2;
  constexpr size_t kSessions = 3;
  constexpr size_t kAddresses = 4;
  history::TrafficPlan plan;
  if (words.size() <= kAddresses || !absl::SimpleAtoi(words[kSessions], &plan.sessions)) {
    return kExitUnread;
  }
  plan.file = words[kFile];
  plan.prefix = words[kPrefix];
  plan.addresses.assign(words.begin() + kAddresses, words.end());
  const absl::StatusOr<history::History> history = history::FinishRecord(plan);
  if (!history.ok()) {
    std::cout << history.status() << "\n";
    return kExitUnread;
  }
  std::cout << history::Summary(*history);
  const history::Complaints complaints = history::Check(*history);
  std::cout << ToText(complaints, kComplaintsShown);
  return complaints.empty() ? kExitRight : kExitWrong;
}

}  // namespace holdfast::testing

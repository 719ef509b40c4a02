// Runs the suite against every mutant, in processes of their own, and asks of each case whether any
// mutant turns it red: a case that none does proves nothing.
#include "tests/contract/mutants.h"

#include "absl/strings/match.h"
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <vector>

namespace holdfast::test {
namespace {

constexpr char kSuite[] = "Stores/Contract.";
constexpr char kStore[] = "/reference";

// What one run of the suite's binary printed, and how it ended.
struct Run {
  std::string output;
  int status = -1;
};

Run RunSuite(const std::string& environment, const std::string& flags) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  // A mutant that hangs a case must not hang the others.
  const std::string command = environment + " timeout 60 '" + self +
                              "' --gtest_color=no --gtest_filter='" + kSuite + "*" + kStore + "' " +
                              flags + " 2>&1";
  std::FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return {};
  Run run;
  std::array<char, 4096> buffer{};
  while (const size_t got = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
    run.output.append(buffer.data(), got);
  }
  run.status = pclose(pipe);
  return run;
}

// `C012` of `Stores/Contract.C012_WhatItSays/reference`; a carried-over test keeps its whole name.
std::string CaseIn(const std::string& line, const std::string& before) {
  const size_t begin = line.find(before);
  const size_t end = line.find(kStore);
  if (begin == std::string::npos || end == std::string::npos) return "";
  const std::string name = line.substr(begin + before.size(), end - begin - before.size());
  return name.starts_with("C") ? name.substr(0, name.find('_')) : name;
}

std::set<std::string> AllCases() {
  std::set<std::string> cases;
  std::istringstream lines(RunSuite("", "--gtest_list_tests").output);
  for (std::string line; std::getline(lines, line);) {
    const std::string name = CaseIn(line, "  ");
    if (!name.empty()) cases.insert(name);
  }
  return cases;
}

struct Verdict {
  std::set<std::string> red;
  bool finished = false;  // no crash ended the run early
};

Verdict VerdictOn(const Mutant& mutant) {
  const Run run = RunSuite("HOLDFAST_MUTANT=" + mutant.name, "--gtest_brief=1");
  Verdict verdict;
  std::istringstream lines(run.output);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("[  FAILED  ]")) verdict.red.insert(CaseIn(line, kSuite));
    if (absl::StrContains(line, " tests from ")) verdict.finished = true;
  }
  verdict.red.erase("");
  verdict.finished = verdict.finished && WIFEXITED(run.status);
  return verdict;
}

std::vector<Verdict> VerdictsOn(const std::vector<Mutant>& mutants) {
  constexpr int kAtOnce = 2;
  std::vector<Verdict> verdicts(mutants.size());
  std::atomic<size_t> next = 0;
  std::vector<std::jthread> runners;
  runners.reserve(kAtOnce);
  for (int runner = 0; runner < kAtOnce; ++runner) {
    runners.emplace_back([&] {
      for (size_t at = next++; at < mutants.size(); at = next++) {
        verdicts[at] = VerdictOn(mutants[at]);
      }
    });
  }
  runners.clear();
  return verdicts;
}

TEST(Mutants, EachCaseIsTurnedRedByOneAndNoneTurnsAllRed) {
  const std::vector<Mutant> mutants = AllMutants();
  std::map<std::string, std::vector<std::string>> by_case;
  for (const std::string& name : AllCases()) by_case[name];
  ASSERT_GT(by_case.size(), 100U);
  const std::vector<Verdict> verdicts = VerdictsOn(mutants);
  int caught = 0;
  for (size_t at = 0; at < mutants.size(); ++at) {
    const Verdict& verdict = verdicts[at];
    EXPECT_TRUE(verdict.finished) << mutants[at].name << " broke the run itself";
    EXPECT_FALSE(verdict.red.empty()) << mutants[at].name << " was seen by no case";
    EXPECT_LT(verdict.red.size(), by_case.size()) << mutants[at].name << " turns all cases red";
    caught += verdict.red.empty() ? 0 : 1;
    for (const std::string& name : verdict.red) by_case[name].push_back(mutants[at].name);
  }
  for (const auto& [name, killers] : by_case) {
    EXPECT_FALSE(killers.empty()) << name << " is turned red by no mutant";
    std::cout << name << ':';
    for (const std::string& killer : killers) std::cout << ' ' << killer;
    std::cout << '\n';
  }
  std::cout << "cases: " << by_case.size() << '\n';
  std::cout << "figure: " << caught << " mutants caught\n";
}

TEST(Mutants, AreNamedOnce) {
  std::set<std::string> names;
  for (const Mutant& mutant : AllMutants()) {
    EXPECT_TRUE(names.insert(mutant.name).second) << mutant.name;
  }
}

}  // namespace
}  // namespace holdfast::test

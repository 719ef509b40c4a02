// Runs cases of the suite against every mutant, in processes of their own: a case that no mutant
// fails proves nothing. mutants.golden lists the cases that each mutant must fail, so that a run
// needs only those. With HOLDFAST_UPDATE_GOLDEN set the test runs the whole suite over every mutant
// and writes the file anew.
#include "tests/contract/mutants.h"

#include "tests/support/golden.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
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
constexpr char kGolden[] = "tests/contract/mutants.golden";

// What one run of the suite's binary printed, and how it ended.
struct Run {
  std::string output;
  int status = -1;
};

// Runs the cases that match `pattern`: "*", or a case's name.
Run RunSuite(const std::string& environment, const std::vector<std::string>& patterns,
             const std::string& flags) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string filter = absl::StrJoin(patterns, ":", [](std::string* out, const auto& one) {
    absl::StrAppend(out, kSuite, one, kStore);
  });
  // A mutant that hangs a case must not hang the others.
  const std::string command = environment + " timeout 300 '" + self +
                              "' --gtest_color=no --gtest_filter='" + filter + "' " + flags +
                              " 2>&1";
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

// What a filter calls the case `name`.
std::string PatternOf(const std::string& name) {
  return name.starts_with("C") ? name + "_*" : name;
}

std::set<std::string> AllCases() {
  std::set<std::string> cases;
  std::istringstream lines(RunSuite("", {"*"}, "--gtest_list_tests").output);
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

Verdict VerdictOn(const Mutant& mutant, const std::vector<std::string>& patterns) {
  const Run run = RunSuite("HOLDFAST_MUTANT=" + mutant.name, patterns, "--gtest_brief=1");
  Verdict verdict;
  std::istringstream lines(run.output);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("[  FAILED  ]")) verdict.red.insert(CaseIn(line, kSuite));
    if (absl::StrContains(line, " tests from ") || absl::StrContains(line, " test from ")) {
      verdict.finished = true;
    }
  }
  verdict.red.erase("");
  verdict.finished = verdict.finished && WIFEXITED(run.status);
  return verdict;
}

// Of each mutant, the verdict on the cases that `patterns` answers for it.
std::vector<Verdict> VerdictsOn(
    const std::vector<Mutant>& mutants,
    const std::function<std::vector<std::string>(const Mutant&)>& patterns) {
  constexpr int kAtOnce = 2;
  std::vector<Verdict> verdicts(mutants.size());
  std::atomic<size_t> next = 0;
  std::vector<std::jthread> runners;
  runners.reserve(kAtOnce);
  for (int runner = 0; runner < kAtOnce; ++runner) {
    runners.emplace_back([&] {
      for (size_t at = next++; at < mutants.size(); at = next++) {
        verdicts[at] = VerdictOn(mutants[at], patterns(mutants[at]));
      }
    });
  }
  runners.clear();
  return verdicts;
}

// What is expected of one mutant: a line of the golden file, `NAME: RED... / GREEN`.
struct Expected {
  std::set<std::string> red;
  std::string green;  // a case that it does not turn red
};

std::map<std::string, Expected> ReadExpected() {
  std::map<std::string, Expected> expected;
  std::istringstream lines(ReadProjectFile(kGolden));
  for (std::string line; std::getline(lines, line);) {
    const std::vector<std::string> parts =
        absl::StrSplit(line, absl::ByAnyChar(":/"), absl::SkipWhitespace());
    if (parts.size() != 3) continue;
    Expected& one = expected[parts[0]];
    const std::vector<std::string> red = absl::StrSplit(parts[1], ' ', absl::SkipEmpty());
    one.red = {red.begin(), red.end()};
    one.green = parts[2].substr(1);
  }
  return expected;
}

// Each case goes to the mutant that turns the fewest cases red beside it; a mutant that gets none
// takes the one that the fewest others turn red.
std::map<std::string, Expected> ExpectedOf(const std::vector<Mutant>& mutants,
                                           const std::vector<Verdict>& verdicts,
                                           const std::set<std::string>& cases) {
  std::map<std::string, Expected> expected;
  std::map<std::string, size_t> killers;
  for (const Verdict& verdict : verdicts) {
    for (const std::string& name : verdict.red) ++killers[name];
  }
  for (const std::string& name : cases) {
    const Mutant* best = nullptr;
    size_t fewest = cases.size();
    for (size_t at = 0; at < mutants.size(); ++at) {
      if (!verdicts[at].red.contains(name) || verdicts[at].red.size() >= fewest) continue;
      best = &mutants[at];
      fewest = verdicts[at].red.size();
    }
    if (best != nullptr) expected[best->name].red.insert(name);
  }
  for (size_t at = 0; at < mutants.size(); ++at) {
    const std::set<std::string>& red = verdicts[at].red;
    Expected& one = expected[mutants[at].name];
    if (one.red.empty() && !red.empty()) {
      one.red.insert(*std::ranges::min_element(
          red, {}, [&](const std::string& name) { return killers[name]; }));
    }
    for (const std::string& name : cases) {
      if (!red.contains(name)) {
        one.green = name;
        break;
      }
    }
  }
  return expected;
}

void WriteExpected(const std::vector<Mutant>& mutants, const std::set<std::string>& cases) {
  const auto whole = [](const Mutant&) { return std::vector<std::string>{"*"}; };
  const auto expected = ExpectedOf(mutants, VerdictsOn(mutants, whole), cases);
  std::ofstream file(kGolden, std::ios::binary);
  for (const auto& [name, one] : expected) {
    file << name << ": " << absl::StrJoin(one.red, " ") << " / " << one.green << '\n';
  }
}

TEST(Mutants, EachTurnsItsCasesRedAndLeavesOthersGreen) {
  const std::vector<Mutant> mutants = AllMutants();
  const std::set<std::string> cases = AllCases();
  ASSERT_GT(cases.size(), 100U);
  if (std::getenv("HOLDFAST_UPDATE_GOLDEN") != nullptr) WriteExpected(mutants, cases);
  std::map<std::string, Expected> expected = ReadExpected();
  EXPECT_EQ(expected.size(), mutants.size()) << kGolden << " has other mutants";
  const std::vector<Verdict> verdicts = VerdictsOn(mutants, [&](const Mutant& mutant) {
    std::vector<std::string> patterns = {PatternOf(expected[mutant.name].green)};
    for (const std::string& name : expected[mutant.name].red) patterns.push_back(PatternOf(name));
    return patterns;
  });
  std::set<std::string> proved;
  int caught = 0;
  for (size_t at = 0; at < mutants.size(); ++at) {
    const std::string& name = mutants[at].name;
    EXPECT_TRUE(verdicts[at].finished) << name << " broke the run itself";
    EXPECT_FALSE(expected[name].red.empty()) << name << " is seen by no case";
    EXPECT_EQ(verdicts[at].red, expected[name].red) << name;
    EXPECT_TRUE(cases.contains(expected[name].green)) << name << " leaves no case green";
    caught += verdicts[at].red.empty() ? 0 : 1;
    proved.insert(verdicts[at].red.begin(), verdicts[at].red.end());
  }
  for (const std::string& name : cases) {
    EXPECT_TRUE(proved.contains(name)) << name << " is turned red by no mutant";
  }
  std::cout << "cases: " << cases.size() << '\n';
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

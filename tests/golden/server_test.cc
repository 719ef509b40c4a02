// What operators read: the printed configuration, its reference page, and the shape of a log line.
#include "server/config.h"
#include "server/flags.h"
#include "server/log.h"
#include "tests/golden/api_page.h"
#include "tests/golden/config_page.h"
#include "tests/golden/limits_page.h"
#include "tests/golden/metrics_page.h"
#include "tests/support/fake_clock.h"
#include "tests/support/golden.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace holdfast::test {
namespace {

TEST(Golden, PrintedConfig) {
  const std::string printed = PrintConfig(DefaultConfig({.state_home = "/var/lib"}));
  ExpectGolden("config.golden", printed);
  EXPECT_NE(ReadProjectFile("docs/config.md").find("```yaml\n" + printed + "```\n"),
            std::string::npos)
      << "docs/config.md shows other defaults";
}

// Expects a generated file of the project to be up to date, or writes it.
void ExpectGenerated(const std::string& path, const std::string& text) {
  if (std::getenv("HOLDFAST_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path, std::ios::binary) << text;
  }
  // Not EXPECT_EQ, which prints both texts whole.
  EXPECT_TRUE(ReadProjectFile(path) == text)
      << path << " is out of date: set HOLDFAST_UPDATE_GOLDEN=1 and run this test again";
}

// The table of keys is a part of a page that is written by hand.
TEST(Golden, ConfigTable) {
  std::string page = ReadProjectFile("docs/config.md");
  const size_t begin = page.find("| key | type |");
  ASSERT_NE(begin, std::string::npos);
  const size_t end = page.find("\n\n", begin);
  page.replace(begin, end + 1 - begin, ConfigTable());
  ExpectGenerated("docs/config.md", page);
}

TEST(Golden, LimitsPage) { ExpectGenerated("docs/limits.md", LimitsPage()); }

TEST(Golden, MetricsPage) { ExpectGenerated("docs/metrics.md", MetricsPage()); }

TEST(Golden, ProgramPage) {
  std::string page =
      "# The server program\n\n"
      "What `holdfastd --help` and `holdfastd COMMAND --help` print. A test compares this page with"
      " the program; `HOLDFAST_UPDATE_GOLDEN=1 build/tests/golden_test` writes it.\n";
  for (const CommandHelp& help : HelpOfCommands()) {
    absl::StrAppend(&page, "\n## ", help.command, "\n\n```text\n",
                    absl::StripTrailingAsciiWhitespace(help.text), "\n```\n");
  }
  ExpectGenerated("docs/holdfastd.md", page);
}

TEST(Golden, ApiPage) { ExpectGenerated("docs/api-reference.md", ApiPage()); }

TEST(Golden, ServiceConfig) {
  ExpectGenerated("protos/holdfast/v1/service_config.json", ServiceConfigFile());
}

// What dashboards and alerts rely on.
TEST(Golden, Metrics) { ExpectGolden("metrics.golden", MetricsList()); }

TEST(Golden, EveryLimitIsOnThePage) {
  const std::vector<std::string> listed = LimitsOnPage();
  for (const std::string& file : FilesOfLimits()) {
    size_t found = 0;
    std::istringstream header(ReadProjectFile(file));
    for (std::string line; std::getline(header, line);) {
      const std::vector<std::string> words = absl::StrSplit(line, ' ');
      // inline constexpr TYPE NAME = VALUE;
      if (words.size() < 5 || words[1] != "constexpr") continue;
      const std::string& name = words[3];
      if (name == "kKiB" || name == "kMiB") continue;
      EXPECT_EQ(std::count(listed.begin(), listed.end(), name), 1) << name;
      ++found;
    }
    EXPECT_GT(found, 0U) << file;
  }
}

TEST(Golden, LogLine) {
  const FakeClock clock;
  std::string lines;
  Log log([&](LogLevel, const std::string& line) { lines += line; }, clock);
  log.Info("call", {{"method", "CommitTurn"},
                    {"session", "one"},
                    {"reason", ""},
                    {"ms", 1.25},
                    {"trace_id", "0af7651916cd43dd8448eb211c80319c"},
                    {"span_id", "b7ad6b7169203331"}});
  log.Warn("not UTF-8, and \"quoted\"\n", {{"text", "\xff\n"}, {"count", int64_t{3}}});
  ExpectGolden("log.golden", lines);
}

}  // namespace
}  // namespace holdfast::test

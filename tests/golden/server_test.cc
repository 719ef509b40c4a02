// What operators read: the printed configuration, its reference page, and the shape of a log line.
#include "server/config.h"
#include "server/log.h"
#include "tests/support/fake_clock.h"
#include "tests/support/golden.h"

#include <gtest/gtest.h>

#include <string>

namespace holdfast::test {
namespace {

TEST(Golden, PrintedConfig) {
  const std::string printed = PrintConfig(DefaultConfig({.state_home = "/var/lib"}));
  ExpectGolden("config.golden", printed);
  EXPECT_NE(ReadProjectFile("docs/config.md").find("```yaml\n" + printed + "```\n"),
            std::string::npos)
      << "docs/config.md shows other defaults";
}

TEST(Golden, LogLine) {
  const FakeClock clock;
  std::string lines;
  Log log([&](const std::string& line) { lines += line; }, clock);
  log.Info("call", {{"method", "CommitTurn"},
                    {"session", "one"},
                    {"reason", ""},
                    {"ms", 1.25},
                    {"trace_id", "0af7651916cd43dd8448eb211c80319c"}});
  log.Warn("not UTF-8, and \"quoted\"\n", {{"text", "\xff\n"}, {"count", int64_t{3}}});
  ExpectGolden("log.golden", lines);
}

}  // namespace
}  // namespace holdfast::test

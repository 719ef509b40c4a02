// The reference of the command line is what --help prints.
#include "cli/app.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

namespace holdfast::cli {
namespace {

constexpr char kPage[] = "docs/cli.md";

std::string MakePage() {
  std::string page =
      "# Command line\n\n"
      "What `holdfast COMMAND --help` prints. A test compares this page with the program;"
      " `HOLDFAST_UPDATE_GOLDEN=1 build/tests/cli_test` writes it.\n";
  for (const CommandHelp& help : AllHelp()) {
    absl::StrAppend(&page, "\n## ", help.command, "\n\n```text\n",
                    absl::StripTrailingAsciiWhitespace(help.text), "\n```\n");
  }
  return page;
}

TEST(Reference, PageIsWhatHelpPrints) {
  const std::string page = MakePage();
  if (std::getenv("HOLDFAST_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(kPage, std::ios::binary) << page;
  }
  std::ifstream in(kPage, std::ios::binary);
  const std::string written{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  EXPECT_EQ(written, page) << "HOLDFAST_UPDATE_GOLDEN=1 writes " << kPage;
}

TEST(Reference, EveryCommandSaysWhatItDoesWithAnExample) {
  for (const CommandHelp& help : AllHelp()) {
    const bool group = help.text.find("Subcommands:") != std::string::npos;
    EXPECT_TRUE(group || help.text.find("Example") != std::string::npos) << help.command;
    EXPECT_TRUE(absl::ascii_isalpha(static_cast<unsigned char>(help.text.front())))
        << help.command << " has no description";
  }
}

}  // namespace
}  // namespace holdfast::cli

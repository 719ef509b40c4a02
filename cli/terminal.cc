#include "cli/terminal.h"

#include "absl/strings/str_cat.h"

#include <array>
#include <cstdlib>
#include <sys/ioctl.h>
#include <unistd.h>

namespace holdfast::cli {
namespace {

// The parameters of SGR sequences (ECMA-48) by Style. Every colour is bold.
constexpr std::array<const char*, 7> kParameters = {"1",    "2",    "1;31", "1;32",
                                                    "1;33", "1;35", "1;36"};

std::string_view Variable(const char* name) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing in the process writes to the environment
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

Terminal DescribeTerminal(int descriptor) {
  Terminal terminal{.present = isatty(descriptor) == 1};
  winsize size{};
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg): the system call's own signature
  if (terminal.present && ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    terminal.columns = size.ws_col;
  }
  return terminal;
}

bool UsesColor(ColorChoice choice, const Terminal& terminal) {
  if (choice != ColorChoice::kAuto) return choice == ColorChoice::kAlways;
  return terminal.present && Variable("NO_COLOR").empty() && Variable("TERM") != "dumb";
}

std::string Painter::Paint(Style style, std::string_view text) const {
  if (!color_) return std::string(text);
  return absl::StrCat("\x1B[", kParameters.at(static_cast<size_t>(style)), "m", std::string(text),
                      "\x1B[0m");
}

}  // namespace holdfast::cli

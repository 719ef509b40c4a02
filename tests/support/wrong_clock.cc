#include "tests/support/wrong_clock.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include <cstdlib>
#include <filesystem>

namespace holdfast::testing {

ScopedEnvironment::ScopedEnvironment(Environment environment)
    : environment_(std::move(environment)) {
  for (const auto& [name, value] : environment_) setenv(name.c_str(), value.c_str(), 1);
}

ScopedEnvironment::~ScopedEnvironment() {
  for (const auto& [name, value] : environment_) unsetenv(name.c_str());
}

Environment ClockOff(const TestFolder& folder, int seconds) {
  // A list of libraries has no way to say that a space is part of a path.
  const std::string ours = folder.File("wrong_clock.so");
  if (!std::filesystem::exists(ours)) {
    std::filesystem::create_symlink(
        std::filesystem::absolute(Program("../tests/libwrong_clock.so")), ours);
  }
  const std::string by = absl::StrFormat("%+d", seconds);
  return {
      {"LD_PRELOAD", absl::StrCat("/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1 ", ours)},
      {"FAKETIME", by},
      {"FAKETIME_DONT_FAKE_MONOTONIC", "1"},
      {"NO_FAKE_STAT", "1"},
      {"HOLDFAST_CLOCK_OFF", by},
      {"ASAN_OPTIONS", "verify_asan_link_order=0"}};  // a sanitizer's build takes it, too
}

}  // namespace holdfast::testing

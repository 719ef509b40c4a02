#include "cli/durations.h"

#include "CLI/CLI.hpp"

#include <charconv>
#include <limits>
#include <system_error>

namespace holdfast::cli {

CLI::Option* AddDuration(CLI::App& app, const std::string& name, absl::Duration& target,
                         const std::string& help) {
  const auto take = [name, &target](const std::string& text) {
    absl::Duration parsed;
    const bool valid = absl::ParseDuration(text, &parsed) && parsed >= absl::ZeroDuration();
    if (!valid) {
      throw CLI::ValidationError(name, "`" + text + "` is no duration such as 20ms or 60s");
    }
    target = parsed;
  };
  return app.add_option_function<std::string>(name, take, help)
      ->type_name("DURATION")
      ->default_str(absl::FormatDuration(target));
}

CLI::Option* AddCount(CLI::App& app, const std::string& name, uint64_t& target,
                      const std::string& help) {
  const auto take = [name, &target](const std::string& text) {
    uint64_t parsed = 0;
    constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();  // of a field on the wire
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, parsed);
    if (error != std::errc() || rest != end || parsed > kMost) {
      throw CLI::ValidationError(name, "`" + text + "` is no whole number of 64 bits");
    }
    target = parsed;
  };
  return app.add_option_function<std::string>(name, take, help)->type_name("N");
}

}  // namespace holdfast::cli

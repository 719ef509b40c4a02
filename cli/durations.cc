#include "cli/durations.h"

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

}  // namespace holdfast::cli

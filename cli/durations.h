// Durations on the command line: 20ms, 60s, 1m30s.
#ifndef HOLDFAST_CLI_DURATIONS_H_
#define HOLDFAST_CLI_DURATIONS_H_

#include "cli/cli11_names.h"

#include "absl/time/time.h"

#include <cstdint>
#include <string>

namespace holdfast::cli {

// Adds an option that takes a duration that is not negative; `target` keeps its value without it.
// `target` must live until the command line is parsed.
CLI::Option* AddDuration(CLI::App& app, const std::string& name, absl::Duration& target,
                         const std::string& help);

// Adds an option that takes a whole number; a sign, a fraction or one that is too large is refused.
CLI::Option* AddCount(CLI::App& app, const std::string& name, uint64_t& target,
                      const std::string& help);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLI_DURATIONS_H_

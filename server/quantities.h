// Durations, sizes and numbers as a configuration writes them: `30s`, `250ms`, `4MiB`, `0.1`.
#ifndef HOLDFAST_SERVER_QUANTITIES_H_
#define HOLDFAST_SERVER_QUANTITIES_H_

#include "absl/time/time.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast {

// A whole number with its unit, ms, s, m or h; nullopt for anything else.
std::optional<absl::Duration> ParseDuration(std::string_view text);
// A whole number with its unit, B, KiB, MiB or GiB; nullopt for anything else.
std::optional<size_t> ParseSize(std::string_view text);
// A decimal number; nullopt for anything else.
std::optional<double> ParseNumber(std::string_view text);

// A text that parses to the same value, which must be one that could have been parsed.
std::string DurationText(absl::Duration duration);
std::string SizeText(size_t bytes);
std::string NumberText(double number);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_QUANTITIES_H_

#include "server/quantities.h"

#include "session/limits.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <system_error>

namespace holdfast {
namespace {

// More digits than any sensible value, few enough that no unit overflows.
constexpr size_t kDigitsMost = 9;

struct Quantity {
  int64_t number = 0;
  std::string_view unit;
};

std::optional<Quantity> Split(std::string_view text) {
  const size_t digits = text.find_first_not_of("0123456789");
  if (digits == 0 || digits == std::string_view::npos || digits > kDigitsMost) return std::nullopt;
  Quantity quantity{.unit = text.substr(digits)};
  std::from_chars(text.data(), text.data() + digits, quantity.number);
  return quantity;
}

struct SizeUnit {
  std::string_view name;
  size_t bytes;
};
constexpr std::array<SizeUnit, 4> kSizeUnits = {
    {{"GiB", 1024 * kMiB}, {"MiB", kMiB}, {"KiB", kKiB}, {"B", 1}}};

}  // namespace

std::optional<absl::Duration> ParseDuration(std::string_view text) {
  const std::optional<Quantity> quantity = Split(text);
  if (!quantity) return std::nullopt;
  if (quantity->unit == "ms") return absl::Milliseconds(quantity->number);
  if (quantity->unit == "s") return absl::Seconds(quantity->number);
  if (quantity->unit == "m") return absl::Minutes(quantity->number);
  if (quantity->unit == "h") return absl::Hours(quantity->number);
  return std::nullopt;
}

std::optional<size_t> ParseSize(std::string_view text) {
  const std::optional<Quantity> quantity = Split(text);
  if (!quantity) return std::nullopt;
  for (const SizeUnit& unit : kSizeUnits) {
    if (unit.name == quantity->unit) return static_cast<size_t>(quantity->number) * unit.bytes;
  }
  return std::nullopt;
}

std::optional<double> ParseNumber(std::string_view text) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || rest != end || !std::isfinite(number)) return std::nullopt;
  return number;
}

std::string DurationText(absl::Duration duration) {
  const int64_t ms = absl::ToInt64Milliseconds(duration);
  if (ms % 1000 == 0) return std::to_string(ms / 1000) + "s";
  return std::to_string(ms) + "ms";
}

std::string SizeText(size_t bytes) {
  for (const SizeUnit& unit : kSizeUnits) {
    if (bytes % unit.bytes == 0) return std::to_string(bytes / unit.bytes) + std::string(unit.name);
  }
  return "";
}

std::string NumberText(double number) {
  constexpr size_t kDigits = 32;  // the shortest text of a number has fewer
  std::array<char, kDigits> text{};
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), number);
  return {text.data(), end};
}

}  // namespace holdfast

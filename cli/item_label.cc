#include "cli/item_label.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

namespace holdfast::cli {
namespace {

// The label with the value that `text` is in JSON; nullopt when no label may have it.
std::optional<v1::Label> ParseLabelValue(const std::string& text) {
  const auto value = nlohmann::json::parse(text, nullptr, false);
  v1::Label label;
  if (value.is_boolean()) {
    label.set_bool_value(value.get<bool>());
  } else if (value.is_string()) {
    label.set_string_value(value.get<std::string>());
  } else if (value.is_number_float()) {
    // The parser makes a double of an integer that has no room in 64 bits.
    if (text.find_first_of(".eE") == std::string::npos) return std::nullopt;
    label.set_double_value(value.get<double>());
  } else if (value.is_number_integer()) {
    constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();
    if (value.is_number_unsigned() && value.get<uint64_t>() > kMost) return std::nullopt;
    label.set_int_value(value.get<int64_t>());
  } else {
    return std::nullopt;
  }
  return label;
}

// With a fraction or an exponent, so that it is no integer.
std::string DoubleText(double value) {
  return std::isfinite(value) ? nlohmann::json(value).dump() : absl::StrCat(value);
}

}  // namespace

absl::StatusOr<NamedLabel> ParseLabel(const std::string& text) {
  const size_t equals = text.find('=');
  const bool json = equals != std::string::npos && equals > 0 && text[equals - 1] == ':';
  std::string name = text.substr(0, json ? equals - 1 : equals);
  if (equals == std::string::npos || name.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("`", text, "` is no label: say NAME=TEXT or NAME:=JSON"));
  }
  const std::string value = text.substr(equals + 1);
  v1::Label label;
  label.set_string_value(value);
  if (!json) return NamedLabel(std::move(name), std::move(label));
  std::optional<v1::Label> typed = ParseLabelValue(value);
  if (typed) return NamedLabel(std::move(name), *std::move(typed));
  return absl::InvalidArgumentError(
      absl::StrCat("`", value, "` of the label ", name,
                   " is no JSON text, true, false, integer of 64 bits or other number"));
}

std::string LabelText(const std::string& name, const v1::Label& label) {
  switch (label.value_case()) {
    case v1::Label::kStringValue:
      return absl::StrCat(name, "=", label.string_value());
    case v1::Label::kIntValue:
      return absl::StrCat(name, ":=", label.int_value());
    case v1::Label::kDoubleValue:
      return absl::StrCat(name, ":=", DoubleText(label.double_value()));
    case v1::Label::kBoolValue:
      return absl::StrCat(name, ":=", label.bool_value() ? "true" : "false");
    case v1::Label::VALUE_NOT_SET:
      break;
  }
  return absl::StrCat(name, ":=?");  // of a type that only a newer server knows
}

}  // namespace holdfast::cli

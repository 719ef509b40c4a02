#include "cli/enum_text.h"

#include "absl/strings/ascii.h"

namespace holdfast::cli {

std::string EnumText(std::string_view name, std::string_view prefix) {
  if (name.size() < prefix.size()) return "unknown";
  return absl::AsciiStrToLower(std::string(name.substr(prefix.size())));
}

}  // namespace holdfast::cli

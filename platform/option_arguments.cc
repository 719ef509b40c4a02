#include "platform/option_arguments.h"

namespace holdfast {

std::optional<std::string> FindOptionWithoutValue(const std::vector<std::string>& arguments) {
  for (const std::string& argument : arguments) {
    if (argument == "--") break;
    if (argument.starts_with("--") && argument.find('=') == argument.size() - 1) {
      return argument.substr(0, argument.size() - 1);
    }
  }
  return std::nullopt;
}

}  // namespace holdfast

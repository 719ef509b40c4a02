#ifndef HOLDFAST_PLATFORM_OPTION_ARGUMENTS_H_
#define HOLDFAST_PLATFORM_OPTION_ARGUMENTS_H_

#include <optional>
#include <string>
#include <vector>

namespace holdfast {

// The name of the first option that is written `--name=`, with nothing behind, before an argument
// `--`. CLI11 2.1.2 would take the next argument, of the program's own words, as its value.
std::optional<std::string> FindOptionWithoutValue(const std::vector<std::string>& arguments);

}  // namespace holdfast

#endif  // HOLDFAST_PLATFORM_OPTION_ARGUMENTS_H_

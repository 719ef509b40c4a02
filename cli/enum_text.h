// Enumerations of the protos as words of a table.
#ifndef HOLDFAST_CLI_ENUM_TEXT_H_
#define HOLDFAST_CLI_ENUM_TEXT_H_

#include <string>
#include <string_view>

namespace holdfast::cli {

// `name` without `prefix`, in lower case: "MODE_ASK" as "ask". "unknown" for an empty name, which
// is that of a value from a newer server.
std::string EnumText(std::string_view name, std::string_view prefix);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLI_ENUM_TEXT_H_

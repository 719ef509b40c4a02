// The version of this build; server/version.h states the same.
#ifndef HOLDFAST_CLI_VERSION_H_
#define HOLDFAST_CLI_VERSION_H_

namespace holdfast::cli {

inline constexpr char kVersion[] = "0.1.0";

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLI_VERSION_H_

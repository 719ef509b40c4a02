// What a resume found, in words.
#ifndef HOLDFAST_CLI_RECOVERY_REPORT_H_
#define HOLDFAST_CLI_RECOVERY_REPORT_H_

#include "holdfast/v1/session.pb.h"

#include <string>
#include <vector>

namespace holdfast::cli {

// One sentence a line; the first says where the session goes on.
std::vector<std::string> InWords(const v1::RecoveryReport& report);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLI_RECOVERY_REPORT_H_

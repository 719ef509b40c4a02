// Compares what a session holds with the conversation that was driven into it.
#ifndef HOLDFAST_CLI_REPLAY_VERIFIER_H_
#define HOLDFAST_CLI_REPLAY_VERIFIER_H_

#include "cli/connection.h"
#include "cli/replay/driver.h"
#include "cli/retry.h"

#include "grpcpp/support/status.h"

#include <string>
#include <vector>

namespace holdfast::cli {

// Reads every message of the task's session and compares it byte for byte, with its role and its
// number. `differences` gets one line for each message that differs, is missing or is too many; a
// session that is not there, or cannot be read because it is damaged, differs in every message. OK
// when the comparison came to its end.
grpc::Status Verify(const Connection& connection, const Caller& caller, const ReplayTask& task,
                    std::vector<std::string>& differences);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLI_REPLAY_VERIFIER_H_

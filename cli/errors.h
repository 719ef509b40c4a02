// What a failed call says: the reason, the facts and the advice, out of a grpc::Status and its
// google.rpc details.
//
//   const Failure failure = FailureOf(status);
//   std::cerr << Line(failure) << "\n";
//   return ExitCodeOf(failure);
#ifndef HOLDFAST_CLI_ERRORS_H_
#define HOLDFAST_CLI_ERRORS_H_

#include "cli/exit_code.h"

#include "absl/time/time.h"
#include "grpcpp/support/status.h"
#include "nlohmann/json.hpp"

#include <map>
#include <optional>
#include <string>

namespace holdfast::cli {

struct Failure {
  // Of the server's closed list; kUnreachableReason when no server answered; kNotHoldfastReason or
  // the name of the gRPC code when something else than Holdfast answered; kItemMissingReason.
  std::string reason;
  std::string message;
  std::map<std::string, std::string> metadata;
  std::optional<absl::Duration> retry_after;
  grpc::StatusCode code = grpc::StatusCode::OK;
};

// What `status`, which is not OK, says.
Failure FailureOf(const grpc::Status& status);

// True when `status` is a refusal for `reason`.
bool IsRefusedFor(const grpc::Status& status, std::string_view reason);

// The failure for a person, in one line: reason, meaning, message, facts, and what to do next.
std::string Line(const Failure& failure);

// The failure for a program: {reason, message, metadata}.
nlohmann::ordered_json ToJson(const Failure& failure);

// kUnreachable when nothing serves just now (UNAVAILABLE), kDifference for damage and for a store
// that is behind what the caller knows, kRefused for everything else.
ExitCode ExitCodeOf(const Failure& failure);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLI_ERRORS_H_

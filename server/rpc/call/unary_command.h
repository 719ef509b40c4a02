// A unary call that is served by one use case.
#ifndef HOLDFAST_SERVER_RPC_CALL_UNARY_COMMAND_H_
#define HOLDFAST_SERVER_RPC_CALL_UNARY_COMMAND_H_

#include "platform/status_macros.h"
#include "server/rpc/call/unary.h"
#include "server/rpc/convert/replies.h"
#include "session/sessions.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <functional>
#include <utility>

namespace holdfast {

// Command, use case, result to response.
template <typename Response, typename Command, typename UseCase>
absl::Status ServeCommand(Sessions& sessions, const Caller& caller, const Command& command,
                          UseCase use_case, Response& response) {
  // Not `.*`: GCC 12 with -fsanitize=undefined reads `sessions` before it is there.
  ASSIGN_OR_RETURN(const auto result, std::invoke(use_case, sessions, caller, command));
  WriteReply(result, response);
  return absl::OkStatus();
}

// The same through the funnel, from the request on. All must outlive the call.
template <typename Response, typename Request, typename Asked, typename UseCase>
grpc::ServerUnaryReactor* RunCommand(Edge& edge, Sessions& sessions, const Unary& unary,
                                     absl::StatusOr<Asked> (*to_command)(Request&&),
                                     UseCase use_case) {
  return RunUnary<Request, Response>(
      edge, unary,
      [&sessions, to_command, use_case](Call& call, Request& request,
                                        Response& response) -> absl::Status {
        ASSIGN_OR_RETURN(const auto command, to_command(std::move(request)));
        return ServeCommand(sessions, call.caller(), command, use_case, response);
      });
}

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_CALL_UNARY_COMMAND_H_

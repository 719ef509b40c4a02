// A unary call that is served by one use case.
#ifndef HOLDFAST_SERVER_RPC_UNARY_COMMAND_H_
#define HOLDFAST_SERVER_RPC_UNARY_COMMAND_H_

#include "server/rpc/convert_replies.h"
#include "server/rpc/unary.h"
#include "session/sessions.h"
#include "session/status_macros.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <functional>

namespace holdfast {

// Request to command, use case, result to response. All must outlive the call.
template <typename Response, typename Request, typename Asked, typename UseCase>
grpc::ServerUnaryReactor* RunCommand(Edge& edge, Sessions& sessions, const Unary& unary,
                                     absl::StatusOr<Asked> (*to_command)(const Request&),
                                     UseCase use_case) {
  return RunUnary<Request, Response>(
      edge, unary,
      [&sessions, to_command, use_case](Call& call, const Request& request,
                                        Response& response) -> absl::Status {
        ASSIGN_OR_RETURN(const auto command, to_command(request));
        // Not `.*`: GCC 12 with -fsanitize=undefined reads `this` before it is there.
        ASSIGN_OR_RETURN(const auto result,
                         std::invoke(use_case, sessions, call.caller(), command));
        WriteReply(result, response);
        return absl::OkStatus();
      });
}

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_UNARY_COMMAND_H_

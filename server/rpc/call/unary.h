// What an override of a service hands to the funnel, so that the override itself is one line.
#ifndef HOLDFAST_SERVER_RPC_CALL_UNARY_H_
#define HOLDFAST_SERVER_RPC_CALL_UNARY_H_

#include "platform/status_macros.h"
#include "server/rpc/call/call.h"
#include "server/rpc/call/wire.h"

#include <string>

namespace holdfast {

// One unary call as the transport gives it. Request and response live until the call is finished.
struct Unary {
  MethodName method;
  grpc::CallbackServerContext* context = nullptr;
  const Bytes* request = nullptr;
  Bytes* response = nullptr;
};

// What is known of it before its request is parsed.
inline CallInfo InfoOf(const Unary& unary) {
  return {.method = unary.method,
          .session = "",
          .request_bytes = unary.request->Length(),
          .has_request = unary.request->Valid()};
}

// The session that a request or a response names, or nothing.
template <typename Message>
std::string SessionIn(const Message& message) {
  if constexpr (requires { message.session_id(); }) {
    return message.session_id();
  } else if constexpr (requires { message.session().session_id(); }) {
    return message.session().session_id();
  } else {
    return "";
  }
}

// Hands the reply of `call` over, which holds its memory from now on.
template <typename Response>
void SetReply(const Unary& unary, Call& call, const Response& response) {
  *unary.response = ToBytes(response);
  call.HoldReply(unary.response->Length());
}

// Runs `serve(call, request, response)` through the funnel. The request is parsed on the worker,
// once the call is admitted.
template <typename Request, typename Response, typename Serve>
grpc::ServerUnaryReactor* RunUnary(Edge& edge, const Unary& unary, Serve serve) {
  return RunUnary(edge, unary.context, InfoOf(unary), [unary, serve](Call& call) -> absl::Status {
    Received<Request> request;
    RETURN_IF_ERROR(call.Receive(*unary.request, request));
    call.NameSession(SessionIn(*request));
    Response response;
    RETURN_IF_ERROR(serve(call, *request, response));
    // A call that makes a session, or looks for one, learns its name on the way.
    if (call.facts().session.empty()) call.NameSession(SessionIn(response));
    SetReply(unary, call, response);
    return absl::OkStatus();
  });
}

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_CALL_UNARY_H_

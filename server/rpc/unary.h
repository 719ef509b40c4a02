// What an override of a service hands to the funnel, so that the override itself is one line.
#ifndef HOLDFAST_SERVER_RPC_UNARY_H_
#define HOLDFAST_SERVER_RPC_UNARY_H_

#include "server/rpc/call.h"

#include <string>
#include <string_view>
#include <utility>

namespace holdfast {

// One unary call as the transport gives it. Request and response live until the call is finished.
template <typename Request, typename Response>
struct Unary {
  std::string_view method;
  grpc::CallbackServerContext* context = nullptr;
  const Request* request = nullptr;
  Response* response = nullptr;
};
template <typename Request, typename Response>
Unary(std::string_view, grpc::CallbackServerContext*, const Request*, Response*)
    -> Unary<Request, Response>;

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

// Runs `serve(call, request, response)` through the funnel.
template <typename Request, typename Response, typename Serve>
grpc::ServerUnaryReactor* RunUnary(Edge& edge, const Unary<Request, Response>& unary, Serve serve) {
  CallInfo info{.method = unary.method,
                .session = SessionIn(*unary.request),
                .request_bytes = unary.request->ByteSizeLong()};
  return RunUnary(edge, unary.context, std::move(info),
                  [request = unary.request, response = unary.response, serve](Call& call) {
                    absl::Status status = serve(call, *request, *response);
                    // A call that makes a session, or looks for one, learns its name on the way.
                    if (call.facts().session.empty()) call.NameSession(SessionIn(*response));
                    return status;
                  });
}

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_UNARY_H_

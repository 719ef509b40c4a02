// Sends a mutation so that it acts exactly once: logged, and repeated as it is when its reply is
// lost.
#ifndef HOLDFAST_CLI_REPLAY_MUTATIONS_H_
#define HOLDFAST_CLI_REPLAY_MUTATIONS_H_

#include "cli/connection.h"
#include "cli/errors.h"
#include "cli/replay/call_log.h"
#include "cli/replay/tally.h"
#include "cli/retry.h"

#include "grpcpp/support/status.h"

namespace holdfast::cli {

// Any thread may call. All that is given must live as long.
class Mutations final {
 public:
  struct Parts {
    const Connection& connection;
    const Caller& caller;
    CallLog& log;
    Tally& tally;
  };
  explicit Mutations(const Parts& parts) : parts_(parts) {}

  template <typename Request, typename Response>
  using Method = grpc::Status (Sessions::*)(grpc::ClientContext*, const Request&, Response*);

  // Calls `method`; `note` says what the log records. Returns OK with `response`, or the last
  // status.
  template <typename Request, typename Response>
  grpc::Status Send(Method<Request, Response> method, const CallNote& note, const Request& request,
                    Response& response) const {
    const CallResult result = parts_.caller.Call([&](grpc::ClientContext& context) {
      parts_.log.Sent(note);
      grpc::Status status = (parts_.connection.sessions().*method)(&context, request, &response);
      if (status.ok()) {
        parts_.log.Acknowledged(note, RevisionIn(response));
      } else {
        parts_.log.Failed(note, FailureOf(status).reason);
      }
      return status;
    });
    if (result.outages > 0 && result.status.ok()) ++parts_.tally.reconnects;
    return result.status;
  }

 private:
  template <typename Response>
  static uint64_t RevisionIn(const Response& response) {
    if constexpr (requires { response.session(); }) {
      return static_cast<uint64_t>(response.session().revision());
    } else {
      return static_cast<uint64_t>(response.revision());
    }
  }

  Parts parts_;
};

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLI_REPLAY_MUTATIONS_H_

// The retry rule of the error table, in one place: a call that may be repeated is sent again
// exactly as it is, request id included, until patience is used up.
//
//   Caller caller({.patience = absl::Seconds(60)}, MachineClock());
//   const CallResult result = caller.Call([&](grpc::ClientContext& context) {
//     return stub.BeginTurn(&context, request, &reply);
//   });
#ifndef HOLDFAST_CLI_RETRY_H_
#define HOLDFAST_CLI_RETRY_H_

#include "cli/clock.h"
#include "cli/errors.h"
#include "cli/service_config.h"

#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "grpcpp/client_context.h"
#include "grpcpp/support/status.h"

#include <functional>
#include <utility>

namespace holdfast::cli {

// What failed before a call's first repeat; any thread may be the caller.
using RepeatNotice = std::function<void(const Failure&)>;

struct RetryPolicy {
  // How long one call may go on failing; zero: it is sent once.
  absl::Duration patience;
  // How long one attempt may take.
  absl::Duration deadline = absl::Seconds(30);
  // The first pause; each further one is longer by the service config's factor, up to the longest.
  absl::Duration first_pause = ServiceBackoff().first;
  absl::Duration longest_pause = ServiceBackoff().longest;
  // Whether to wait while another holder's lease is live.
  bool wait_for_lease = false;
  RepeatNotice on_first_repeat = nullptr;  // null: none
};

struct CallResult {
  grpc::Status status;
  // How often the server was found gone, or silent, before the call came to its end.
  int outages = 0;
};

// Any thread may call; a call blocks.
class Caller final {
 public:
  // `clock` must live as long as the caller.
  Caller(RetryPolicy policy, const Clock& clock) : policy_(std::move(policy)), clock_(clock) {}

  using Attempt = absl::FunctionRef<grpc::Status(grpc::ClientContext&)>;

  // Sends `attempt` until it succeeds, is refused for a reason that repeating cannot mend, or
  // patience is used up; returns the last status. A refusal that came after a repeat is asked for
  // once more before it is believed: an earlier copy of the request may have acted in between.
  [[nodiscard]] CallResult Call(Attempt attempt) const;

 private:
  [[nodiscard]] bool MayRepeat(const Failure& failure) const;

  RetryPolicy policy_;
  const Clock& clock_;
};

// The pause before repeat number `repeat` (from 0): exponential with jitter, and never shorter than
// the server asks for.
absl::Duration PauseBefore(int repeat, const Failure& failure, const RetryPolicy& policy);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLI_RETRY_H_

// What streams have in common: tasks on workers that never throw, and ends for clients that are
// silent.
#ifndef HOLDFAST_SERVER_RPC_STREAM_TASK_H_
#define HOLDFAST_SERVER_RPC_STREAM_TASK_H_

#include "server/log.h"
#include "session/refusal.h"

#include "absl/status/status.h"

#include <exception>
#include <string>
#include <string_view>

namespace holdfast {

// Runs `work` of a stream, which answers a Status or a StatusOr. What it throws is a defect of this
// server: it is logged, and the stream ends with INTERNAL.
template <typename Work>
auto RunStreamTask(Log& log, std::string_view method, Work work) -> decltype(work()) {
  try {
    return work();
  } catch (const std::exception& thrown) {
    log.Error("a task threw an exception",
              {{"method", std::string(method)}, {"exception", thrown.what()}});
  } catch (...) {
    log.Error("a task threw an exception", {{"method", std::string(method)}});
  }
  return Refusal(Reason::kInternal, "the server met a defect of its own");
}

// DEADLINE of a stream whose client sent nothing for `limits.stream_idle`. Everything it had sent
// before is acknowledged, or it has had no effect.
inline absl::Status ClientSentNothing() {
  return Refusal(Reason::kDeadline, "nothing came on this stream for limits.stream_idle")
      .With("field", "limits.stream_idle")
      .With("outcome", "known");
}

// DEADLINE of a stream whose client read nothing for `limits.stream_write_timeout`; `outcome` is
// what that leaves known of what it had sent.
inline absl::Status ClientReadNothing(std::string_view outcome) {
  return Refusal(Reason::kDeadline,
                 "nothing was read from this stream for "
                 "limits.stream_write_timeout")
      .With("field", "limits.stream_write_timeout")
      .With("outcome", outcome);
}

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_STREAM_TASK_H_

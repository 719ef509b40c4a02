// How streams of clients end that are silent.
#ifndef HOLDFAST_SERVER_RPC_CALL_STREAM_ENDS_H_
#define HOLDFAST_SERVER_RPC_CALL_STREAM_ENDS_H_

#include "session/refusal.h"

#include "absl/status/status.h"

#include <string_view>

namespace holdfast {

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

#endif  // HOLDFAST_SERVER_RPC_CALL_STREAM_ENDS_H_

// `holdfast session tail`: the events of a session as they come.
#ifndef HOLDFAST_CLI_SESSION_TAIL_H_
#define HOLDFAST_CLI_SESSION_TAIL_H_

#include "cli/invocation.h"
#include "cli/retry.h"
#include "cli/session_calls.h"

#include <cstdint>
#include <string>

namespace holdfast::cli {

struct TailOptions {
  Target target;
  uint64_t from = 0;   // the first event wanted; 0: the oldest that is kept
  std::string cursor;  // where an earlier stream ended, instead
  bool once = false;   // ends when it has caught up
};

// Prints one line per event until the session is deleted, Ctrl-C, or with `once` the newest event.
// JSON is one object a line in either form. Goes on from its cursor when the server stops, restarts
// or finds it too slow. Blocks.
ExitCode RunTail(Invocation& invocation, const RetryPolicy& policy, const TailOptions& options);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLI_SESSION_TAIL_H_

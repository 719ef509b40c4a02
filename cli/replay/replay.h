// One run of a replay: all its sessions, in threads, and the sum of it.
#ifndef HOLDFAST_CLI_REPLAY_REPLAY_H_
#define HOLDFAST_CLI_REPLAY_REPLAY_H_

#include "cli/exit_code.h"
#include "cli/invocation.h"
#include "cli/replay/driver.h"
#include "cli/replay/recording.h"

#include "absl/time/time.h"

#include <string>
#include <vector>

namespace holdfast::cli {

struct ReplayOptions {
  std::vector<std::string> files;
  std::string run;  // empty: made from the time
  int parallel = 1;
  int repeat = 1;
  absl::Duration pace;
  absl::Duration patience = absl::Minutes(1);
  bool verify = false;
  bool verify_only = false;
  std::string log;
};

// Every conversation `repeat` times with the session it goes into: ID-RUN, ID-RUN-r2, ...
std::vector<ReplayTask> TasksOf(const std::vector<Conversation>& conversations,
                                const std::string& run, int repeat);

// True when every task's session id is one that a session may have; otherwise `wrong` is the first
// that is not.
bool AreSessionIds(const std::vector<ReplayTask>& tasks, std::string& wrong);

// Drives and compares as `options` say, and writes the sum as its last line. kDifference when a
// stored message differs; else how the first session that failed, failed.
ExitCode Replay(const Invocation& invocation, const ReplayOptions& options,
                const std::vector<Conversation>& conversations);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLI_REPLAY_REPLAY_H_

// A replay that goes on while its server is killed and restarted under it.
#ifndef HOLDFAST_TESTS_RECOVERY_REPLAY_UNDER_WAY_H_
#define HOLDFAST_TESTS_RECOVERY_REPLAY_UNDER_WAY_H_

#include "tests/support/call_history.h"
#include "tests/support/child_process.h"
#include "tests/support/server_process.h"

#include <string>
#include <vector>

namespace holdfast::testing {

// The recorded conversations: those in $HOLDFAST_TRAJECTORIES, else the project's own.
struct Recordings {
  std::vector<std::string> files;
  int repeat;                 // so that there is traffic enough
  int parallel = 8;           // conversations at a time
  std::string pace = "50ms";  // between two messages of one conversation
};
Recordings FindRecordings();

// For one thread.
class ReplayUnderWay final {
 public:
  // Starts `holdfast replay` of `recordings` against `address`, many sessions at a time.
  ReplayUnderWay(const TestFolder& folder, const std::string& address,
                 const Recordings& recordings);

  // What it has logged so far.
  CallHistory& history() { return history_; }
  // Waits until at least `calls` more have been acknowledged than when this was called, and one is
  // in flight. False when it ended first, or nothing happened for too long.
  bool WaitForTraffic(size_t calls);
  // Waits for the end; returns its exit code.
  int Wait() { return process_.Wait().exit_code; }
  // Its last line.
  [[nodiscard]] std::string Sum() const;
  [[nodiscard]] std::string Errors() const;

 private:
  const TestFolder& folder_;
  CallHistory history_;
  ChildProcess process_;
};

// Compares the sessions of that replay with the recordings, in a process of its own. Returns its
// exit code; `sum` is its last line.
int VerifyReplay(const TestFolder& folder, const std::string& address, const Recordings& recordings,
                 std::string& sum);

}  // namespace holdfast::testing

#endif  // HOLDFAST_TESTS_RECOVERY_REPLAY_UNDER_WAY_H_

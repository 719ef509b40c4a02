// What every command about sessions and their items has in common.
#ifndef HOLDFAST_CLI_SESSION_COMMAND_H_
#define HOLDFAST_CLI_SESSION_COMMAND_H_

#include "cli/cli11_names.h"
#include "cli/clock.h"
#include "cli/invocation.h"
#include "cli/session_calls.h"

#include <memory>
#include <string>
#include <vector>

namespace holdfast::cli {

// One run of a session command.
class SessionCommand final {
 public:
  explicit SessionCommand(Invocation& invocation) : invocation_(invocation) {}

  [[nodiscard]] RetryPolicy& policy() { return policy_; }
  [[nodiscard]] const RetryPolicy& policy() const { return policy_; }
  [[nodiscard]] Invocation& invocation() const { return invocation_; }

  // Runs `body(calls)`, which returns a status, and prints why when it fails.
  template <typename Body>
  ExitCode Run(Body body) const {
    const Connection connection(invocation_.address);
    const Caller caller(policy_, MachineClock());
    const grpc::Status status = body(SessionCalls(connection, caller));
    return status.ok() ? kDone : Refuse(invocation_, status);
  }

  // The same for one session: `body(calls, id)`.
  template <typename Body>
  ExitCode RunOn(const Target& target, Body body) const {
    return Run([&](const SessionCalls& calls) {
      std::string id;
      const grpc::Status found = calls.Resolve(target, id);
      return found.ok() ? body(calls, id) : found;
    });
  }

 private:
  Invocation& invocation_;
  RetryPolicy policy_{.wait_for_lease = true};
};

using SessionCommandPtr = std::shared_ptr<SessionCommand>;

// What names one session on a command line.
struct TargetOptions {
  CLI::Option* session;
  CLI::Option* latest;
};

// Adds the argument SESSION and the option --latest, of which at most one may be given.
TargetOptions AddTargetOptions(CLI::App& command, Target& target);

// The same, of which exactly one is needed.
void AddTarget(CLI::App& command, Target& target);

// The same where further words, at most `most`, follow SESSION: the argument KEY, which has the
// text `help`. With --latest every word is a key.
void AddTargetAndKeys(CLI::App& command, Target& target, std::vector<std::string>& keys, int most,
                      const std::string& help);

// Adds the option --uid.
void AddUid(CLI::App& command, Target& target);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLI_SESSION_COMMAND_H_

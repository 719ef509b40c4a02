// A client in a process of its own that holds many sessions and takes turns in all of them until it
// is refused: there to be paused. The test's binary is the client too, when it is called so.
#ifndef HOLDFAST_TESTS_POSTGRES_CROWD_H_
#define HOLDFAST_TESTS_POSTGRES_CROWD_H_

#include "tests/support/child_process.h"
#include "tests/support/server_process.h"

#include "absl/time/time.h"

#include <cstddef>
#include <string>
#include <vector>

namespace holdfast::testing {

// The id of a session that a crowd holds, from 0.
std::string CrowdSession(size_t number);

// What a crowd has printed, in the order in which each session saw it.
struct CrowdReport {
  // Of each session the texts whose commits were acknowledged.
  std::vector<std::vector<std::string>> said;
  // Of each session `METHOD REASON` for the call that ended it, and for each one tried after that.
  std::vector<std::vector<std::string>> refused;

  // How many texts there are.
  [[nodiscard]] size_t Said() const;
};

// The client as its test sees it. For one thread.
class Crowd final {
 public:
  // Starts the client: it takes `sessions` sessions, which must exist, from their holders.
  // The texts of its turns begin with `name`; its leases last for `ttl`.
  Crowd(const TestFolder& folder, const std::string& address, const std::string& name,
        size_t sessions, absl::Duration ttl);

  void Signal(int signal) const { process_.Signal(signal); }
  // What it has printed so far.
  [[nodiscard]] CrowdReport Report() const;
  // Waits for its end, which comes when every session was taken from it; false when it goes on.
  bool Ends();
  // What it complained of.
  [[nodiscard]] std::string Errors() const { return ReadText(err_); }

 private:
  const size_t sessions_;
  const std::string out_;
  const std::string err_;
  ChildProcess process_;
};

// The client itself: `crowd ADDRESS NAME SESSIONS SECONDS`.
inline constexpr char kCrowdWord[] = "crowd";
int RunCrowd(const std::vector<std::string>& words);

}  // namespace holdfast::testing

#endif  // HOLDFAST_TESTS_POSTGRES_CROWD_H_

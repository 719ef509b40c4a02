// A client in a process of its own that creates a session and holds it until it is refused: there
// to be paused and killed. The test's binary is the client too, when it is called so.
#ifndef HOLDFAST_TESTS_RECOVERY_HOLDER_H_
#define HOLDFAST_TESTS_RECOVERY_HOLDER_H_

#include "tests/support/child_process.h"
#include "tests/support/server_process.h"
#include "tests/support/wire_client.h"

#include "absl/time/time.h"

#include <string>
#include <vector>

namespace holdfast::testing {

// Of every lease here: the shortest there is.
inline constexpr absl::Duration kShortLease = absl::Seconds(5);

// What a session is brought to before it is held: new and IDLE; in its first turn, with one
// journal entry; taken up again and RESUMED.
inline constexpr char kIdle[] = "idle";
inline constexpr char kFirstTurn[] = "first-turn";
inline constexpr char kResumed[] = "resumed";
inline constexpr const char* kHeldStates[] = {kIdle, kFirstTurn, kResumed};

// Creates `session` with a short lease and brings it to `state`. Returns the token that holds it.
std::string Bring(WireClient& client, const std::string& session, const std::string& state);

// The client as its test sees it. For one thread.
class Holder final {
 public:
  // Starts the client; it brings `session` to `state` and then renews its lease without a pause
  // until a renewal is refused.
  Holder(const TestFolder& folder, const std::string& address, const std::string& session,
         const std::string& state);

  // Waits until it holds its session. Returns its token; empty when it has failed.
  std::string AwaitToken();
  void Signal(int signal) const { process_.Signal(signal); }
  void Kill();
  // Waits for its end. Returns a line `TOKEN METHOD REASON: cause` for each write it tried when it
  // had been refused: with its token as it is (`old`), and with the session's new epoch put into it
  // (`forged`).
  std::vector<std::string> AwaitAnswers();
  // What it has printed, for a failed test.
  [[nodiscard]] std::string Output() const { return ReadText(out_) + ReadText(err_); }

 private:
  std::string out_;
  std::string err_;
  ChildProcess process_;
};

// The client itself: `holder ADDRESS SESSION STATE`.
inline constexpr char kHolderWord[] = "holder";
int RunHolder(const std::vector<std::string>& words);

}  // namespace holdfast::testing

#endif  // HOLDFAST_TESTS_RECOVERY_HOLDER_H_

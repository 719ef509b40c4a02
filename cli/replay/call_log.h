// A record of every mutation that a replay sent and of its reply. A test that kills the server
// reads from it what was acknowledged and what was in flight.
//
// One JSON object a line, written before the call leaves and again when it has ended:
//   {"t_ms":812.5,"event":"send","session":"c-r","call":"CommitTurn","request_id":"…","revision":4}
// "event" is send, ack or error (then with "reason"); "revision" is the one expected, or the one
// acknowledged; t_ms counts on CLOCK_MONOTONIC.
#ifndef HOLDFAST_CLI_REPLAY_CALL_LOG_H_
#define HOLDFAST_CLI_REPLAY_CALL_LOG_H_

#include "cli/clock.h"

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>

namespace holdfast::cli {

// The call that a line is about.
struct CallNote {
  std::string session;
  std::string call;
  // Empty for a journal append, whose entries are its key.
  std::string request_id;
  uint64_t revision = 0;
};

// Any thread may call. Every line is flushed at once.
class CallLog final {
 public:
  // Adds to `file`; with an empty name nothing is written. `clock` must live as long.
  CallLog(const std::string& file, const Clock& clock);

  // False when the file cannot be written.
  [[nodiscard]] bool good() const { return good_; }

  void Sent(const CallNote& note);
  void Acknowledged(CallNote note, uint64_t revision);
  void Failed(const CallNote& note, std::string_view reason);

 private:
  void Write(std::string_view event, const CallNote& note, std::string_view reason);

  const Clock& clock_;
  bool good_ = true;
  absl::Mutex mutex_;
  std::ofstream out_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLI_REPLAY_CALL_LOG_H_

// Lines of the log on their way to standard error: a bounded queue and the thread that writes it.
// A thread that logs never waits, however slowly the lines are read.
//
//   LogWriter writer(StandardError(), SystemClock());
//   Log log(writer.sink(), SystemClock());
#ifndef HOLDFAST_SERVER_LOG_WRITER_H_
#define HOLDFAST_SERVER_LOG_WRITER_H_

#include "platform/clock.h"
#include "server/log.h"
#include "session/limits.h"

#include "absl/time/time.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>

namespace holdfast {

// What an orderly end waits for its last lines to be read.
inline constexpr absl::Duration kLogFlushMost = absl::Seconds(2);
// The same before an abort.
inline constexpr absl::Duration kAbortFlushMost = absl::Seconds(1);
// What the lines that wait may take together.
inline constexpr size_t kLogQueueBytes = 32 * kMiB;

// Any thread may call.
class LogWriter final {
 public:
  // Writes whole lines, one or several; may block for as long as it likes.
  using Write = std::function<void(const std::string& lines)>;

  struct Limits {
    size_t lines = kLogLinesQueued;
    size_t bytes = kLogQueueBytes;
    absl::Duration flush = kLogFlushMost;
  };

  // Starts the thread. `clock` must outlive the process's last line.
  LogWriter(Write write, const Clock& clock, Limits limits);
  LogWriter(Write write, const Clock& clock) : LogWriter(std::move(write), clock, Limits{}) {}
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;
  // Waits until everything is written, at most for `limits.flush`; then it is left to the thread,
  // which may end with the process.
  ~LogWriter();

  // Waits, at most for kAbortFlushMost, until the lines that are queued now are written. Only what
  // a signal handler may do; the thread goes on meanwhile.
  void AwaitWritten() const;

  // How many lines were dropped so far, for a full queue.
  [[nodiscard]] uint64_t dropped() const;

  // Queues a line. When the queue is full the line is dropped, or an older one for an error's sake;
  // a warning says how many were, once there is room. The sink must not be used after the writer.
  [[nodiscard]] Log::Sink sink();

 private:
  class Queue;

  // Shared with the thread, which may outlive this.
  std::shared_ptr<Queue> queue_;
  std::thread thread_;
};

// While it lives, a process that gets SIGABRT, by its own abort() or from outside, writes the lines
// that are queued before it ends: they say why. One at a time in a process.
class FlushOnAbort final {
 public:
  // `writer` must outlive this.
  explicit FlushOnAbort(const LogWriter& writer);
  FlushOnAbort(const FlushOnAbort&) = delete;
  FlushOnAbort& operator=(const FlushOnAbort&) = delete;
  ~FlushOnAbort();
};

// Writes to standard error, as much at once as it takes.
LogWriter::Write StandardError();

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_LOG_WRITER_H_

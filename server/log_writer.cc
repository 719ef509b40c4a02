#include "server/log_writer.h"

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <deque>
#include <poll.h>
#include <unistd.h>
#include <utility>

namespace holdfast {
namespace {

// What is written at once, and how long a thread that has just written waits for more of it: waking
// it for each line would cost as much as writing it. An error does not wait.
constexpr size_t kWriteBytes = 64 * kKiB;
constexpr absl::Duration kGather = absl::Milliseconds(5);

// A signal handler has no other way to it.
std::atomic<const LogWriter*> flushed_on_abort = nullptr;

void FlushAndEnd(int signal) {
  const LogWriter* writer = flushed_on_abort;
  if (writer != nullptr) writer->AwaitWritten();
  (void)raise(signal);
}

}  // namespace

class LogWriter::Queue {
 public:
  Queue(Write write, const Clock& clock, Limits limits)
      : write_(std::move(write)), clock_(clock), limits_(limits) {}

  void Push(LogLevel level, const std::string& line) {
    const absl::MutexLock lock(&mutex_);
    const bool error = level == LogLevel::kError;
    if (!MakeRoom(line.size(), error)) {
      NoteDropped();
      return;
    }
    bytes_ += line.size();
    pushed_ = next_ + 1;
    (error ? errors_ : others_).push_back({.number = next_++, .text = line});
    if (idle_ || error) news_.Signal();
  }

  // The thread's: writes until End was called and nothing is left.
  void Run() {
    for (std::string lines = Take(); !lines.empty(); lines = Take()) {
      write_(lines);
      written_to_ = taken_to_;
    }
    const absl::MutexLock lock(&mutex_);
    ended_ = true;
  }

  // See LogWriter. A lock, or a clock, could be held by the thread that aborts.
  void AwaitWritten() const {
    const uint64_t wanted = pushed_;
    constexpr int kRounds = 100;
    const auto round_ms = static_cast<int>(absl::ToInt64Milliseconds(kAbortFlushMost) / kRounds);
    for (int round = 0; round < kRounds && written_to_ < wanted; ++round) {
      poll(nullptr, 0, round_ms);
    }
  }

  [[nodiscard]] uint64_t dropped() const { return dropped_ever_; }

  // Asks the thread to end; false when it has not within the limit.
  bool End() {
    const absl::MutexLock lock(&mutex_);
    ending_ = true;
    news_.Signal();
    return mutex_.AwaitWithTimeout(absl::Condition(&ended_), limits_.flush);
  }

 private:
  struct Line {
    uint64_t number = 0;
    std::string text;
  };

  void NoteDropped() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    ++dropped_;
    ++dropped_ever_;
  }

  [[nodiscard]] size_t Waiting() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return errors_.size() + others_.size();
  }

  [[nodiscard]] bool Fits(size_t bytes) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return Waiting() < limits_.lines && bytes_ + bytes <= limits_.bytes;
  }

  // Errors are dropped last: the oldest lines that are none give way to one.
  bool MakeRoom(size_t bytes, bool error) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    while (error && !Fits(bytes) && !others_.empty()) {
      bytes_ -= others_.front().text.size();
      others_.pop_front();
      NoteDropped();
    }
    return Fits(bytes);
  }

  // The next lines in their order; empty at the end.
  std::string Take() {
    const absl::MutexLock lock(&mutex_);
    if (Waiting() * 2 < limits_.lines) Gather();
    idle_ = true;
    while (Waiting() == 0 && dropped_ == 0 && !ending_) news_.Wait(&mutex_);
    idle_ = false;
    std::string lines;
    // Not for each line that finds room in a queue that is full all the time.
    const bool room = Waiting() * 2 < limits_.lines || written_ >= limits_.lines;
    if (dropped_ > 0 && room) {
      lines = LogLine(clock_.Wall(), LogLevel::kWarning, "log lines were dropped",
                      {{"lines", dropped_}});
      dropped_ = 0;
      written_ = 0;
    }
    while (Waiting() > 0 && lines.size() < kWriteBytes) {
      std::deque<Line>& from = NextFrom();
      bytes_ -= from.front().text.size();
      lines += from.front().text;
      taken_to_ = from.front().number + 1;
      from.pop_front();
      ++written_;
    }
    return lines;
  }

  void Gather() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!ending_ && errors_.empty()) news_.WaitWithTimeout(&mutex_, kGather);
  }

  std::deque<Line>& NextFrom() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (errors_.empty()) return others_;
    if (others_.empty()) return errors_;
    return errors_.front().number < others_.front().number ? errors_ : others_;
  }

  const Write write_;
  const Clock& clock_;
  const Limits limits_;
  absl::Mutex mutex_;
  absl::CondVar news_;
  std::deque<Line> errors_ ABSL_GUARDED_BY(mutex_);
  std::deque<Line> others_ ABSL_GUARDED_BY(mutex_);
  uint64_t next_ ABSL_GUARDED_BY(mutex_) = 0;
  // Numbers behind the last line that was queued, taken by the thread, written by it. A line that
  // gave way to an error counts as written with that.
  std::atomic<uint64_t> pushed_ = 0;
  uint64_t taken_to_ = 0;  // the thread's alone
  std::atomic<uint64_t> written_to_ = 0;
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t dropped_ ABSL_GUARDED_BY(mutex_) = 0;  // since the last warning
  std::atomic<uint64_t> dropped_ever_ = 0;
  size_t written_ ABSL_GUARDED_BY(mutex_) = 0;  // since the last line that said how many
  bool idle_ ABSL_GUARDED_BY(mutex_) = false;   // the thread waits for any line
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
};

LogWriter::LogWriter(Write write, const Clock& clock, Limits limits)
    : queue_(std::make_shared<Queue>(std::move(write), clock, limits)),
      thread_([queue = queue_] { queue->Run(); }) {}

LogWriter::~LogWriter() {
  if (queue_->End()) {
    thread_.join();
  } else {
    thread_.detach();
  }
}

void LogWriter::AwaitWritten() const { queue_->AwaitWritten(); }

uint64_t LogWriter::dropped() const { return queue_->dropped(); }

Log::Sink LogWriter::sink() {
  return [this](LogLevel level, const std::string& line) { queue_->Push(level, line); };
}

FlushOnAbort::FlushOnAbort(const LogWriter& writer) {
  flushed_on_abort = &writer;
  struct sigaction action {};
  action.sa_handler = FlushAndEnd;
  // The next SIGABRT, which is sent again, ends the process.
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGABRT, &action, nullptr);
}

FlushOnAbort::~FlushOnAbort() {
  std::signal(SIGABRT, SIG_DFL);
  flushed_on_abort = nullptr;
}

LogWriter::Write StandardError() {
  return [](const std::string& lines) {
    for (size_t at = 0; at < lines.size();) {
      const ssize_t written = write(STDERR_FILENO, lines.data() + at, lines.size() - at);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0 && errno == EAGAIN) {
        pollfd ready{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
        poll(&ready, 1, /*timeout=*/-1);
        continue;
      }
      // A log that cannot be written is no reason to end.
      if (written <= 0) return;
      at += static_cast<size_t>(written);
    }
  };
}

}  // namespace holdfast

// Spans on their way to a receiver: a bounded queue, batches, and the thread that sends one batch
// at a time. A call that ends never waits for it; what finds no room is dropped and counted.
//
//   SpanExporter exporter({.receiver = ..., .clock = ..., .random = ..., .log = ...});
//   exporter.Add(std::move(span));
#ifndef HOLDFAST_SERVER_TELEMETRY_SPAN_EXPORTER_H_
#define HOLDFAST_SERVER_TELEMETRY_SPAN_EXPORTER_H_

#include "platform/clock.h"
#include "server/log.h"
#include "server/telemetry/export_retry.h"
#include "server/telemetry/span.h"
#include "session/limits.h"

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <thread>
#include <vector>

namespace holdfast {

// Where batches go.
class SpanReceiver {
 public:
  SpanReceiver() = default;
  SpanReceiver(const SpanReceiver&) = delete;
  SpanReceiver& operator=(const SpanReceiver&) = delete;
  virtual ~SpanReceiver() = default;

  // Sends `spans` and waits for the answer, at most for `timeout`. One thread calls it.
  virtual ExportAnswer Export(const std::vector<Span>& spans, absl::Duration timeout) = 0;
  // Ends an Export that is under way, and every later one at once. Any thread may call.
  virtual void Cancel() = 0;
};

// What became of the spans so far: those that were added are the sum of all but `failed_exports`,
// and those that still wait.
struct SpanCounts {
  uint64_t exported = 0;            // taken by the receiver
  uint64_t rejected = 0;            // left out by a receiver that took the rest of their batch
  uint64_t dropped_queue_full = 0;  // never sent
  uint64_t dropped_refused = 0;     // their batch was answered with what is not retried
  uint64_t dropped_given_up = 0;    // their batch was retried for as long as it is
  uint64_t dropped_stopped = 0;     // the server stopped before they were taken
  uint64_t failed_exports = 0;      // answers that were not OK
  bool operator==(const SpanCounts&) const = default;

  [[nodiscard]] uint64_t dropped() const {
    return dropped_queue_full + dropped_refused + dropped_given_up + dropped_stopped;
  }
};

struct ExportLimits {
  size_t queued = kSpansQueued;
  size_t batch = kSpansPerExport;
  absl::Duration delay = kSpanExportDelay;  // that a batch waits to be filled
  absl::Duration timeout = kSpanExportTimeout;
  RetryLimits retry;
};

// Any thread may call.
class SpanExporter final {
 public:
  // `clock`, `random` and `log` must outlive this.
  struct Parts {
    std::unique_ptr<SpanReceiver> receiver;
    const Clock& clock;
    Random& random;
    Log& log;
  };

  // Starts the thread.
  explicit SpanExporter(Parts parts, ExportLimits limits = {});
  SpanExporter(const SpanExporter&) = delete;
  SpanExporter& operator=(const SpanExporter&) = delete;
  // Stops without waiting for the receiver.
  ~SpanExporter();

  // Queues a span, or drops it when the queue is full or the exporter has stopped.
  void Add(Span span);
  // Sends what is queued without waiting for full batches, for at most `at_most`; drops and counts
  // the rest. Only the first call does something.
  void Stop(absl::Duration at_most);

  [[nodiscard]] SpanCounts Counts() const;

 private:
  using Dropped = uint64_t SpanCounts::*;

  void Run();
  // The next batch, at once or when it is time; empty when nothing will come any more.
  std::vector<Span> NextBatch();
  // Sends `batch` until it is taken or dropped.
  void Send(const std::vector<Span>& batch);
  // What is left of the time for an attempt; zero when there is none.
  absl::Duration TimeForAttempt();
  // Waits, less if the exporter is asked to stop meanwhile. False when nothing is sent any more.
  bool Pause(absl::Duration pause);
  void NoteAnswer(const ExportAnswer& answer, size_t spans);
  void Drop(size_t spans, Dropped why);
  bool Ended() {
    const absl::MutexLock lock(&mutex_);
    return ended_;
  }

  Parts parts_;
  const ExportLimits limits_;
  bool failing_ = false;  // the last answer was not OK; of the thread alone
  mutable absl::Mutex mutex_;
  std::deque<Span> queue_ ABSL_GUARDED_BY(mutex_);
  SpanCounts counts_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Duration stop_by_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteDuration();  // since boot
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;  // nothing is sent any more
  bool done_ ABSL_GUARDED_BY(mutex_) = false;   // the thread has nothing left to do
  std::thread thread_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TELEMETRY_SPAN_EXPORTER_H_

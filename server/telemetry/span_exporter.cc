#include "server/telemetry/span_exporter.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

namespace holdfast {

SpanExporter::SpanExporter(Parts parts, ExportLimits limits)
    : parts_(std::move(parts)), limits_(limits), thread_([this] { Run(); }) {}

SpanExporter::~SpanExporter() { Stop(absl::ZeroDuration()); }

void SpanExporter::Add(Span span) {
  const absl::MutexLock lock(&mutex_);
  if (stopping_) {
    ++counts_.dropped_stopped;
  } else if (queue_.size() >= limits_.queued) {
    ++counts_.dropped_queue_full;
  } else {
    queue_.push_back(std::move(span));
  }
}

void SpanExporter::Stop(absl::Duration at_most) {
  {
    const absl::MutexLock lock(&mutex_);
    if (stopping_) return;
    stopping_ = true;
    stop_by_ = parts_.clock.SinceBoot() + at_most;
    mutex_.AwaitWithTimeout(absl::Condition(&done_), at_most);
    ended_ = true;
  }
  parts_.receiver->Cancel();
  thread_.join();
  const absl::MutexLock lock(&mutex_);
  counts_.dropped_stopped += queue_.size();
  queue_.clear();
}

SpanCounts SpanExporter::Counts() const {
  const absl::MutexLock lock(&mutex_);
  return counts_;
}

void SpanExporter::Run() {
  while (true) {
    const std::vector<Span> batch = NextBatch();
    if (batch.empty()) break;
    Send(batch);
  }
  const absl::MutexLock lock(&mutex_);
  done_ = true;
}

std::vector<Span> SpanExporter::NextBatch() {
  const absl::MutexLock lock(&mutex_);
  const auto any = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopping_ || !queue_.empty();
  };
  const auto whole = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopping_ || queue_.size() >= limits_.batch;
  };
  mutex_.Await(absl::Condition(&any));
  mutex_.AwaitWithTimeout(absl::Condition(&whole), limits_.delay);
  if (ended_) return {};
  const auto count = static_cast<std::ptrdiff_t>(std::min(queue_.size(), limits_.batch));
  std::vector<Span> batch(std::make_move_iterator(queue_.begin()),
                          std::make_move_iterator(queue_.begin() + count));
  queue_.erase(queue_.begin(), queue_.begin() + count);
  return batch;
}

absl::Duration SpanExporter::TimeForAttempt() {
  const absl::MutexLock lock(&mutex_);
  if (ended_) return absl::ZeroDuration();
  return std::min(limits_.timeout, stop_by_ - parts_.clock.SinceBoot());
}

void SpanExporter::Send(const std::vector<Span>& batch) {
  ExportRetry retry(limits_.retry, parts_.random, parts_.clock.SinceBoot());
  while (true) {
    const absl::Duration timeout = TimeForAttempt();
    if (timeout <= absl::ZeroDuration()) {
      return Drop(batch.size(), &SpanCounts::dropped_stopped);
    }
    const ExportAnswer answer = parts_.receiver->Export(batch, timeout);
    NoteAnswer(answer, batch.size());
    if (answer.code == grpc::StatusCode::OK) return;
    if (Ended()) return Drop(batch.size(), &SpanCounts::dropped_stopped);
    if (!IsRetryable(answer)) return Drop(batch.size(), &SpanCounts::dropped_refused);
    const auto pause = retry.Next(answer, parts_.clock.SinceBoot());
    if (!pause) return Drop(batch.size(), &SpanCounts::dropped_given_up);
    if (!Pause(*pause)) return Drop(batch.size(), &SpanCounts::dropped_stopped);
  }
}

bool SpanExporter::Pause(absl::Duration pause) {
  const absl::MutexLock lock(&mutex_);
  // When the exporter is asked to stop, one more attempt is made at once.
  const bool was = stopping_;
  if (stopping_ && parts_.clock.SinceBoot() + pause >= stop_by_) return false;
  const auto woken = [this, was]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return ended_ || stopping_ != was;
  };
  mutex_.AwaitWithTimeout(absl::Condition(&woken), pause);
  return !ended_;
}

void SpanExporter::NoteAnswer(const ExportAnswer& answer, size_t spans) {
  const bool failed = answer.code != grpc::StatusCode::OK;
  {
    const absl::MutexLock lock(&mutex_);
    if (failed) {
      ++counts_.failed_exports;
    } else {
      const auto most = static_cast<int64_t>(spans);
      const int64_t rejected = std::clamp<int64_t>(answer.rejected, 0, most);
      counts_.rejected += static_cast<uint64_t>(rejected);
      counts_.exported += static_cast<uint64_t>(most - rejected);
    }
  }
  if (failed == failing_) return;
  failing_ = failed;
  if (failed) {
    parts_.log.Warn("spans are not taken by telemetry.otlp_endpoint",
                    {{"code", static_cast<int64_t>(answer.code)}, {"problem", answer.message}});
  } else {
    parts_.log.Info("spans are taken again", {});
  }
}

void SpanExporter::Drop(size_t spans, Dropped why) {
  const absl::MutexLock lock(&mutex_);
  counts_.*why += spans;
}

}  // namespace holdfast

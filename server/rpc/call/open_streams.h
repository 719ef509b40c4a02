// The open streams, checked on one beat: a client that sends nothing or reads nothing does not hold
// a stream for ever, and when the server drains each stream is asked to end.
#ifndef HOLDFAST_SERVER_RPC_CALL_OPEN_STREAMS_H_
#define HOLDFAST_SERVER_RPC_CALL_OPEN_STREAMS_H_

#include "server/worker_pool.h"
#include "session/limits.h"

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

#include <cstddef>
#include <deque>
#include <set>

namespace holdfast {

// How often streams are checked.
inline constexpr absl::Duration kStreamBeat = absl::Seconds(1);

struct StreamLimits {
  absl::Duration idle = kStreamIdleDefault;                   // until a client sends
  absl::Duration write_timeout = kStreamWriteTimeoutDefault;  // until a client reads
};

// One stream. Both calls come from any thread, under the lock of OpenStreams: they must return soon
// and must not call OpenStreams.
class OpenStream {
 public:
  OpenStream() = default;
  OpenStream(const OpenStream&) = delete;
  OpenStream& operator=(const OpenStream&) = delete;
  virtual ~OpenStream() = default;

  // The server drains. Called at most once.
  virtual void Drain() = 0;
  // About once every kStreamBeat: ends a stream whose client has been silent for too long. `now` is
  // time since boot.
  virtual void Tend(absl::Duration now) = 0;
};

// Any thread may call.
class OpenStreams {
 public:
  // `pool` must outlive this.
  explicit OpenStreams(WorkerPool& pool, StreamLimits limits = {}) : pool_(pool), limits_(limits) {}

  // Drains `stream` at once when the server drains already. It must be removed before it goes.
  void Add(OpenStream* stream);
  void Remove(OpenStream* stream);
  // Asks all of them, and those to come.
  void DrainAll();
  // Looks after all of them. Called on a beat.
  void Tend(absl::Duration now);

  // Runs `task`, which may block, on a worker once the pool has room for it: at a beat, or in
  // RunDeferred.
  void Defer(WorkerPool::Task task);
  // Runs here what is still deferred; called once the pool is gone and no stream is open.
  void RunDeferred();

  [[nodiscard]] const StreamLimits& limits() const { return limits_; }
  [[nodiscard]] size_t Count();

 private:
  WorkerPool& pool_;
  const StreamLimits limits_;
  absl::Mutex mutex_;
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
  std::set<OpenStream*> streams_ ABSL_GUARDED_BY(mutex_);
  // Each belongs to a stream that has ended and holds its share of `staged_bytes` meanwhile.
  std::deque<WorkerPool::Task> deferred_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_CALL_OPEN_STREAMS_H_

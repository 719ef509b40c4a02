// The streams that would stay open for ever: when the server drains, each is asked to end.
#ifndef HOLDFAST_SERVER_RPC_OPEN_STREAMS_H_
#define HOLDFAST_SERVER_RPC_OPEN_STREAMS_H_

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

#include <set>

namespace holdfast {

// A stream that can be asked to end.
class OpenStream {
 public:
  OpenStream() = default;
  OpenStream(const OpenStream&) = delete;
  OpenStream& operator=(const OpenStream&) = delete;
  virtual ~OpenStream() = default;

  // Called at most once, from any thread; must return soon and must not call OpenStreams.
  virtual void Drain() = 0;
};

// Any thread may call.
class OpenStreams {
 public:
  // Tells `stream` at once when the server drains already. It must be removed before it goes.
  void Add(OpenStream* stream);
  void Remove(OpenStream* stream);
  // Asks all of them, and those to come.
  void DrainAll();

 private:
  absl::Mutex mutex_;
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
  std::set<OpenStream*> streams_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_OPEN_STREAMS_H_

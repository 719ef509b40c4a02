// One who watches the server's health: the status at once, and each time it has changed.
#ifndef HOLDFAST_SERVER_RPC_HEALTH_WATCH_REACTOR_H_
#define HOLDFAST_SERVER_RPC_HEALTH_WATCH_REACTOR_H_

#include "server/rpc/call.h"
#include "server/rpc/wire.h"

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include <grpcpp/support/server_callback.h>

#include <set>

namespace holdfast {

// The HealthCheckResponse of every service of the server, which serve or not together.
Bytes HealthResponse(bool serving);

class HealthWatch {
 public:
  HealthWatch() = default;
  HealthWatch(const HealthWatch&) = delete;
  HealthWatch& operator=(const HealthWatch&) = delete;
  virtual ~HealthWatch() = default;

  // Called from any thread, under the lock of HealthWatches; must not call it.
  virtual void Tell(bool serving) = 0;
  virtual void End() = 0;
};

// The watches, and what they watch. Any thread may call.
class HealthWatches {
 public:
  void SetServing(bool serving);
  [[nodiscard]] bool serving();
  // Tells `watch` how it is. False when there are kHealthWatches already.
  bool Add(HealthWatch* watch);
  void Remove(HealthWatch* watch);
  // Ends all of them, and those to come.
  void End();

 private:
  absl::Mutex mutex_;
  bool serving_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  std::set<HealthWatch*> watches_ ABSL_GUARDED_BY(mutex_);
};

using HealthWatchReactor = grpc::ServerWriteReactor<Bytes>;

// Deletes itself when its stream has ended. One whose client reads nothing for
// `limits.stream_write_timeout` is cancelled. All must outlive the transport.
HealthWatchReactor* StartHealthWatch(Edge& edge, grpc::CallbackServerContext& context,
                                     HealthWatches& watches);
// A stream that ends at once.
HealthWatchReactor* RefuseHealthWatch(const grpc::Status& status);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_HEALTH_WATCH_REACTOR_H_

// A watch of the server's health: the status at once, and each time it has changed.
#ifndef HOLDFAST_SERVER_RPC_HEALTH_WATCH_REACTOR_H_
#define HOLDFAST_SERVER_RPC_HEALTH_WATCH_REACTOR_H_

#include "server/rpc/call/call.h"
#include "server/rpc/call/wire.h"

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include <grpcpp/support/server_callback.h>

#include <cstdint>
#include <set>

namespace holdfast {

// What is asked about: whether calls are served, which services are together, or whether this
// process makes progress.
enum class HealthSubject : uint8_t { kReadiness, kLiveness };

// A HealthCheckResponse.
Bytes HealthResponse(bool serving);

class HealthWatch {
 public:
  HealthWatch() = default;
  HealthWatch(const HealthWatch&) = delete;
  HealthWatch& operator=(const HealthWatch&) = delete;
  virtual ~HealthWatch() = default;

  [[nodiscard]] virtual HealthSubject subject() const = 0;
  // Called from any thread, under the lock of HealthWatches; must not call it.
  virtual void Notify(bool serving) = 0;
  virtual void End() = 0;
};

// The watches, and what they watch. Any thread may call.
class HealthWatches {
 public:
  void SetServing(HealthSubject subject, bool serving);
  [[nodiscard]] bool serving(HealthSubject subject);
  // Sends `watch` the current status. False when there are kHealthWatches already.
  bool Add(HealthWatch* watch);
  void Remove(HealthWatch* watch);
  // Ends all of them, and those to come.
  void End();

 private:
  absl::Mutex mutex_;
  bool& StateOf(HealthSubject subject) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return subject == HealthSubject::kLiveness ? alive_ : serving_;
  }

  bool serving_ ABSL_GUARDED_BY(mutex_) = false;
  bool alive_ ABSL_GUARDED_BY(mutex_) = true;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  std::set<HealthWatch*> watches_ ABSL_GUARDED_BY(mutex_);
};

using HealthWatchReactor = grpc::ServerWriteReactor<Bytes>;

// Deletes itself when its stream has ended. One whose client reads nothing for
// `limits.stream_write_timeout` is cancelled. All must outlive the transport.
HealthWatchReactor* StartHealthWatch(Edge& edge, grpc::CallbackServerContext& context,
                                     HealthWatches& watches, HealthSubject subject);
// A stream that ends at once.
HealthWatchReactor* RefuseHealthWatch(const grpc::Status& status);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_HEALTH_WATCH_REACTOR_H_

// What has come in on each connection and belongs to no call that has begun: headers, and requests
// that have not arrived whole. Only the transport holds it, and only its sender can say how much
// more of it there will be.
#ifndef HOLDFAST_SERVER_NET_UNBEGUN_BYTES_H_
#define HOLDFAST_SERVER_NET_UNBEGUN_BYTES_H_

#include "server/net/connection_table.h"

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace holdfast {

// Counts while it is asked to, for a count costs a system call for each connection and a lock for
// each message. Connections to a socket file are not counted: the kernel does not say what came in.
class UnbegunBytes final {
 public:
  // `connections` must outlive this.
  explicit UnbegunBytes(ConnectionTable& connections) : connections_(connections) {}

  // Whether messages are worth reporting. Any thread may call.
  [[nodiscard]] bool counting() const { return counting_.load(std::memory_order_relaxed); }
  // A message of `bytes` has arrived whole, on the connection that gRPC calls `connection`. Any
  // thread may call.
  void MessageArrived(const std::string& connection, size_t bytes);

  // The rest is for one thread.

  // Counts what has come in since the last look, or begins to count.
  void Look();
  // Counts no longer, and forgets.
  void Stop();
  // Closes the connections that have most, until those that are being closed have `bytes` together
  // or none is left that has kUnbegunLeast; answers how many.
  size_t CloseHeaviest(size_t bytes);
  // Whether some that were closed have not ended yet: what they sent is still held.
  [[nodiscard]] bool closing() const;

 private:
  struct Traffic {
    std::string connection;  // as gRPC calls it
    uint64_t received = 0;   // since it was connected
    uint64_t unbegun = 0;    // since the counting began
    uint64_t look = 0;       // at which it was there last
    bool closed = false;     // and has not ended yet
  };
  using Messages = absl::flat_hash_map<std::string, uint64_t>;

  Messages TakeMessages();
  void Count(const OpenConnection& connection, const Messages& messages);

  ConnectionTable& connections_;
  std::atomic<bool> counting_ = false;
  absl::flat_hash_map<uint64_t, Traffic> traffic_;  // by cookie
  uint64_t look_ = 0;
  absl::Mutex mutex_;
  Messages messages_ ABSL_GUARDED_BY(mutex_);  // bytes since the last look, by connection
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_NET_UNBEGUN_BYTES_H_

// Counts the calls that each peer gives up before their work begins (rapid reset, CVE-2023-44487):
// one that does it again and again costs the server more than itself, and is disconnected.
#ifndef HOLDFAST_SERVER_RPC_CALL_RESET_COUNTER_H_
#define HOLDFAST_SERVER_RPC_CALL_RESET_COUNTER_H_

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace holdfast {

// Any thread may call.
class ResetCounter final {
 public:
  // Closes all connections of a peer (server/net/peer.h).
  using Disconnect = std::function<void(const std::string& peer)>;
  // Without one, nothing is counted.
  ResetCounter() = default;
  // A connection may have `calls_per_connection` calls open at once.
  explicit ResetCounter(Disconnect disconnect, size_t calls_per_connection = SIZE_MAX)
      : disconnect_(std::move(disconnect)), calls_per_connection_(calls_per_connection) {}

  // Counts `resets` at `now`, which never goes back, of the peer that gRPC calls `call_peer`. The
  // peer is disconnected when it has kResetsPerPeer within kResetWindow, and counted anew.
  void Count(std::string_view call_peer, absl::Duration now, size_t resets = 1);

  // A call has begun on the connection that gRPC calls `connection`. Whether a call was reset may
  // become known only after its work. A peer with kResetsPerPeer calls in progress more than a
  // connection may have open has reset those, and is disconnected at once. Connections to a socket
  // file have no names of their own, and are left out.
  void Enter(const std::string& connection, absl::Duration now);
  // It is done.
  void Leave(const std::string& connection);

 private:
  [[nodiscard]] bool CountAndCheck(const std::string& peer, absl::Duration now, size_t resets);

  const Disconnect disconnect_;
  const size_t calls_per_connection_ = SIZE_MAX;
  absl::Mutex calls_mutex_;
  // In progress, of each connection that has some.
  absl::flat_hash_map<std::string, size_t> calls_ ABSL_GUARDED_BY(calls_mutex_);
  absl::Mutex mutex_;
  // Of the window that began at `begun_`; forgotten with it, so that it stays small.
  absl::flat_hash_map<std::string, size_t> counts_ ABSL_GUARDED_BY(mutex_);
  absl::Duration begun_ ABSL_GUARDED_BY(mutex_) = -absl::InfiniteDuration();
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_CALL_RESET_COUNTER_H_

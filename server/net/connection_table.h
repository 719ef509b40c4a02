// The connections that the transport was given: how many each peer has, and which may be closed.
#ifndef HOLDFAST_SERVER_NET_CONNECTION_TABLE_H_
#define HOLDFAST_SERVER_NET_CONNECTION_TABLE_H_

#include "session/limits.h"

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

#include <cstddef>
#include <cstdint>
#include <list>
#include <string>
#include <utility>

namespace holdfast {

struct ConnectionLimits {
  size_t connections = kClientConnectionsDefault;
  size_t per_peer = kClientConnectionsPerPeerDefault;
};

// A connection that has not ended.
struct OpenConnection {
  int fd = -1;
  uint64_t cookie = 0;
};

// What becomes of a new connection.
enum class ConnectionVerdict : uint8_t {
  kTaken,
  kTooFast,        // more than kNewConnectionsPerSecond of its peer, after a burst
  kTooManyOfPeer,  // the peer has as many as it may have
  kTooMany,        // the server has
};

// Whether a new connection of a peer comes too soon after others of it: a token bucket for each of
// at most kPeersRemembered peers. For one thread.
class NewConnectionRate final {
 public:
  // Takes a token of `peer` at `now`, which never goes back. False when there is none.
  bool Take(const std::string& peer, absl::Duration now);
  // Answers false for `peer` until `length` has passed, whatever it had.
  void Suspend(const std::string& peer, absl::Duration now, absl::Duration length);

 private:
  struct Bucket {
    double tokens = 0;
    absl::Duration filled;
  };
  using Buckets = std::list<std::pair<std::string, Bucket>>;

  // The bucket of `peer`, filled up to `now`.
  Bucket& Filled(const std::string& peer, absl::Duration now);

  Buckets by_use_;  // most recently used first
  absl::flat_hash_map<std::string, Buckets::iterator> by_peer_;
};

// The transport owns and closes the descriptors, so an entry is (descriptor, SO_COOKIE, peer): a
// descriptor that has another cookie, or is no socket any more, is a connection that has ended. Any
// thread may call.
class ConnectionTable final {
 public:
  explicit ConnectionTable(ConnectionLimits limits) : limits_(limits) {}

  // Remembers the connected socket `fd` of `peer`, or says why it must be closed. `now` never goes
  // back.
  ConnectionVerdict Add(int fd, const std::string& peer, absl::Duration now);
  // Forgets connections that have ended.
  void RemoveEnded();
  // Closes the connections of `peer` (shutdown(2); the transport then ends their calls) and answers
  // how many. A connection that takes the descriptor over between the look at its cookie and the
  // shutdown is closed in its place; its client connects again.
  size_t Disconnect(const std::string& peer);
  // The same, and takes no connection of `peer` for `length`.
  size_t Suspend(const std::string& peer, absl::Duration now, absl::Duration length);
  // The same for the connections with these cookies.
  size_t Disconnect(const absl::flat_hash_set<uint64_t>& cookies);
  // Closes every connection and answers how many.
  size_t DisconnectAll();
  // Calls `visit` for each connection that has not ended. `visit` must not call this table.
  void ForEach(absl::FunctionRef<void(const OpenConnection&)> visit);
  // Closes those on which nothing is under way: nothing came in for `quiet`, nothing is unread, and
  // the client's machine has everything that was sent. A socket file does not say when something
  // came in; there `calls_quiet` decides. Forgets those that have ended, and answers how many
  // there still are.
  size_t DisconnectQuiet(absl::Duration quiet, bool calls_quiet);

  // Of all peers, as of the last look.
  [[nodiscard]] size_t size();

 private:
  struct Entry {
    uint64_t cookie = 0;
    std::string peer;
  };
  using Entries = absl::flat_hash_map<int, Entry>;

  void Forget(Entries::iterator entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RemoveEndedLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  [[nodiscard]] ConnectionVerdict Classify(const std::string& peer) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  size_t DisconnectIf(absl::FunctionRef<bool(int, const Entry&)> chosen)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const ConnectionLimits limits_;
  absl::Mutex mutex_;
  Entries entries_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, size_t> of_peer_ ABSL_GUARDED_BY(mutex_);
  NewConnectionRate rate_ ABSL_GUARDED_BY(mutex_);
  absl::Duration looked_ ABSL_GUARDED_BY(mutex_) = -absl::InfiniteDuration();
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_NET_CONNECTION_TABLE_H_

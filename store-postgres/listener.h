// The connection that registers a server with the others and receives their notifications.
#ifndef HOLDFAST_STORE_POSTGRES_LISTENER_H_
#define HOLDFAST_STORE_POSTGRES_LISTENER_H_

#include "platform/exceptions.h"
#include "store-postgres/database.h"
#include "store-postgres/feed.h"
#include "store-postgres/interest.h"
#include "store-postgres/pg/connection.h"
#include "store-postgres/pg/waker.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::pg {

// Enters the server among those that serve the store (schema/0005_servers.sql), and makes the feed
// poll when another server notifies of events that a watcher here may wait for. A broken connection
// is replaced; the poll that follows finds the events of the gap.
class Listener {
 public:
  // All outlive it.
  Listener(const Database& database, const Interest& interest, Feed& feed)
      : database_(database), interest_(interest), feed_(feed) {}
  ~Listener() { Stop(); }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // Registers this server, and listens from then on. Called once. STORE_UNAVAILABLE.
  absl::Status Start();
  // Leaves in order, if the database is there. More than once is harmless.
  void Stop();

 private:
  // Connects, listens, and enters the server by `entry`.
  absl::StatusOr<std::unique_ptr<Connection>> Enter(const Statement& entry) const;
  void Run(const std::stop_token& stop);
  // Listens for a while, or connects again where the connection is lost.
  void ListenOrEnter(const std::stop_token& stop);
  // Listens for a while; false when the connection is lost.
  bool Listen(const std::stop_token& stop);
  [[nodiscard]] bool Concerns(const std::string& payload) const;
  void Leave();

  const Database& database_;
  LoopGuard guard_{"listener", database_.report};
  const Interest& interest_;
  Feed& feed_;
  Waker waker_;
  std::unique_ptr<Connection> connection_;  // the thread's own, once there is one
  std::jthread thread_;
};

}  // namespace holdfast::pg

#endif  // HOLDFAST_STORE_POSTGRES_LISTENER_H_

// Accepts connections and hands them to the transport, within limits and whatever accept(2) says.
//
// The transport's own listener is not used: it never accepts again after one accept that failed for
// lack of descriptors, and it bounds nothing (ADR 31).
#ifndef HOLDFAST_SERVER_NET_ACCEPTOR_H_
#define HOLDFAST_SERVER_NET_ACCEPTOR_H_

#include "platform/clock.h"
#include "server/log.h"
#include "server/net/connection_table.h"
#include "server/net/descriptor.h"

#include "absl/time/time.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

namespace holdfast {

// Takes accepted connections over.
class ConnectionSink {
 public:
  ConnectionSink() = default;
  ConnectionSink(const ConnectionSink&) = delete;
  ConnectionSink& operator=(const ConnectionSink&) = delete;
  virtual ~ConnectionSink() = default;
  // Owns `connection`, a connected socket that does not block; `listener` is where it came in.
  virtual void Take(int listener, Descriptor connection) = 0;
};

// What was accepted, and what was not.
struct AcceptCounts {
  uint64_t taken = 0;
  uint64_t too_fast = 0;
  uint64_t too_many_of_peer = 0;
  uint64_t too_many = 0;
  uint64_t pauses = 0;  // no descriptor or no memory was left
};

class Acceptor final {
 public:
  // Accepts at `listeners`, which do not block, on a thread of its own. All references must outlive
  // this.
  Acceptor(std::vector<Descriptor> listeners, ConnectionTable& table, ConnectionSink& sink,
           const Clock& clock, Log& log);
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;
  ~Acceptor() { Stop(); }

  // Closes the listeners: from now on connecting fails. Connections that were taken stay. More than
  // once is harmless. For one thread.
  void Stop();
  // Any thread may call.
  [[nodiscard]] AcceptCounts counts() const;

 private:
  enum class Took : uint8_t { kOne, kNone, kNoRoom };

  void Run();
  // Accepts what waits at `listener`. False when the system has no room for a connection.
  bool AcceptAll(int listener);
  Took AcceptOne(int listener);
  void Admit(int listener, Descriptor connection, const std::string& peer);
  void NoteNoRoom(int error);
  void NoteRefused(const std::string& peer, ConnectionVerdict verdict);
  // Waits for a listener, the end, or the time; answers whether the end has come.
  bool Await(bool listen, absl::Duration most);

  std::vector<Descriptor> listeners_;
  ConnectionTable& table_;
  ConnectionSink& sink_;
  const Clock& clock_;
  Log& log_;
  const Descriptor wake_;
  absl::Duration looked_;
  absl::Duration no_room_said_ = -absl::InfiniteDuration();
  absl::Duration refused_said_ = -absl::InfiniteDuration();
  std::atomic<uint64_t> taken_ = 0;
  std::atomic<uint64_t> too_fast_ = 0;
  std::atomic<uint64_t> too_many_of_peer_ = 0;
  std::atomic<uint64_t> too_many_ = 0;
  std::atomic<uint64_t> pauses_ = 0;
  std::thread thread_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_NET_ACCEPTOR_H_

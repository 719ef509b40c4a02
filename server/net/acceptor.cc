#include "server/net/acceptor.h"

#include "server/net/peer.h"
#include "session/limits.h"

#include <algorithm>
#include <cerrno>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <system_error>
#include <utility>

namespace holdfast {
namespace {

// Connections that one listener may bring before the others and the beat have their turn.
constexpr int kAtOnce = 256;
// For how long what was sent may stay without an acknowledgement of the client's machine.
constexpr int kUnacknowledgedMs = 20'000;

// The transport sets none of these on a connection that it did not accept itself.
void Prepare(int connection) {
  constexpr int kOn = 1;
  // Harmless failures: a socket file has no such options.
  setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &kOn, sizeof kOn);
  setsockopt(connection, IPPROTO_TCP, TCP_USER_TIMEOUT, &kUnacknowledgedMs,
             sizeof kUnacknowledgedMs);
}

bool IsNoRoom(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

const char* LimitOf(ConnectionVerdict verdict) {
  if (verdict == ConnectionVerdict::kTooMany) return "server.connections";
  if (verdict == ConnectionVerdict::kTooManyOfPeer) return "server.connections_per_peer";
  return "new connections of one peer in a second";
}

}  // namespace

Acceptor::Acceptor(std::vector<Descriptor> listeners, ConnectionTable& table, ConnectionSink& sink,
                   const Clock& clock, Log& log)
    : listeners_(std::move(listeners)),
      table_(table),
      sink_(sink),
      clock_(clock),
      log_(log),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      looked_(clock.SinceBoot()),
      thread_([this] { Run(); }) {}

void Acceptor::Stop() {
  if (!thread_.joinable()) return;
  eventfd_write(wake_.get(), 1);
  thread_.join();
  listeners_.clear();
}

AcceptCounts Acceptor::counts() const {
  return {.taken = taken_,
          .too_fast = too_fast_,
          .too_many_of_peer = too_many_of_peer_,
          .too_many = too_many_,
          .pauses = pauses_};
}

bool Acceptor::Await(bool listen, absl::Duration most) {
  std::vector<pollfd> polled = {{.fd = wake_.get(), .events = POLLIN}};
  if (listen) {
    for (const Descriptor& listener : listeners_) {
      polled.push_back({.fd = listener.get(), .events = POLLIN});
    }
  }
  const auto milliseconds = absl::ToInt64Milliseconds(absl::Ceil(most, absl::Milliseconds(1)));
  poll(polled.data(), polled.size(), static_cast<int>(std::max<int64_t>(0, milliseconds)));
  return polled.front().revents != 0;
}

void Acceptor::Run() {
  while (!Await(true, looked_ + kConnectionBeat - clock_.SinceBoot())) {
    const absl::Duration now = clock_.SinceBoot();
    if (now - looked_ >= kConnectionBeat) {
      looked_ = now;
      table_.RemoveEnded();
    }
    bool room = true;
    for (const Descriptor& listener : listeners_) room = AcceptAll(listener.get()) && room;
    if (!room && Await(false, kAcceptPause)) return;
  }
}

bool Acceptor::AcceptAll(int listener) {
  for (int count = 0; count < kAtOnce; ++count) {
    const Took took = AcceptOne(listener);
    if (took != Took::kOne) return took == Took::kNone;
  }
  return true;
}

Acceptor::Took Acceptor::AcceptOne(int listener) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  Descriptor connection(accept4(listener, reinterpret_cast<sockaddr*>(&address), &size,
                                SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (connection.valid()) {
    Prepare(connection.get());
    Admit(listener, std::move(connection), PeerOf(address));
    return Took::kOne;
  }
  if (errno == EAGAIN) return Took::kNone;
  // A connection that ended while it waited, or a fault of its network: the next one may be fine.
  if (errno != EBADF && errno != EINVAL && errno != ENOTSOCK && !IsNoRoom(errno)) return Took::kOne;
  NoteNoRoom(errno);
  return Took::kNoRoom;
}

void Acceptor::Admit(int listener, Descriptor connection, const std::string& peer) {
  const ConnectionVerdict verdict = table_.Add(connection.get(), peer, clock_.SinceBoot());
  switch (verdict) {
    case ConnectionVerdict::kTaken:
      ++taken_;
      return sink_.Take(listener, std::move(connection));
    case ConnectionVerdict::kTooFast:
      ++too_fast_;
      break;
    case ConnectionVerdict::kTooManyOfPeer:
      ++too_many_of_peer_;
      break;
    case ConnectionVerdict::kTooMany:
      ++too_many_;
      break;
  }
  NoteRefused(peer, verdict);
}

void Acceptor::NoteNoRoom(int error) {
  ++pauses_;
  const absl::Duration now = clock_.SinceBoot();
  if (now - no_room_said_ < kAcceptLogInterval) return;
  no_room_said_ = now;
  log_.Error("no connection can be accepted: it is tried again every 100 ms",
             {{"problem", std::generic_category().message(error)},
              {"connections", static_cast<int64_t>(table_.size())},
              {"times", static_cast<int64_t>(pauses_)}});
}

void Acceptor::NoteRefused(const std::string& peer, ConnectionVerdict verdict) {
  const absl::Duration now = clock_.SinceBoot();
  if (now - refused_said_ < kAcceptLogInterval) return;
  refused_said_ = now;
  log_.Warn("new connections are closed at once",
            {{"peer", peer},
             {"limit", LimitOf(verdict)},
             {"connections", static_cast<int64_t>(table_.size())},
             {"closed", static_cast<int64_t>(too_fast_ + too_many_of_peer_ + too_many_)}});
}

}  // namespace holdfast

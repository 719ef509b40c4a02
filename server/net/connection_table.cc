#include "server/net/connection_table.h"

#include <algorithm>
#include <array>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <optional>
#include <sys/ioctl.h>
#include <sys/socket.h>

namespace holdfast {
namespace {

// A limit that is reached is looked at again, because connections may have ended since the last
// look; not for each of a flood of them.
constexpr absl::Duration kBetweenLooks = absl::Milliseconds(100);

// What no other socket of this machine has had; nullopt when `fd` is no socket.
std::optional<uint64_t> CookieOf(int fd) {
  uint64_t cookie = 0;
  socklen_t size = sizeof cookie;
  if (getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &size) != 0) return std::nullopt;
  return cookie;
}

// Nothing waits to be read by the transport, nor to be taken by the client's machine.
bool QueuesAreEmpty(int fd) {
  int unread = 0;
  int unsent = 0;
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg, hicpp-vararg): ioctl has no other form
  if (ioctl(fd, SIOCINQ, &unread) != 0 || ioctl(fd, SIOCOUTQ, &unsent) != 0) return true;
  return unread == 0 && unsent == 0;
}

// Since data came in last; nullopt when the socket does not say.
std::optional<absl::Duration> SinceReceived(int fd) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return std::nullopt;
  return absl::Milliseconds(info.tcpi_last_data_recv);
}

// Drops what has come in and was not read yet. The transport would read it to its end, and begin
// the calls in it, although the connection is closed. Nothing more comes in behind a shutdown.
void DiscardReceived(int fd) {
  std::array<char, 64 * kKiB> scratch{};
  // With MSG_TRUNC nothing is copied, but from a socket file.
  while (recv(fd, scratch.data(), scratch.size(), MSG_DONTWAIT | MSG_TRUNC) > 0) {
  }
}

}  // namespace

NewConnectionRate::Bucket& NewConnectionRate::Filled(const std::string& peer, absl::Duration now) {
  const auto found = by_peer_.find(peer);
  if (found == by_peer_.end()) {
    by_use_.emplace_front(peer, Bucket{.tokens = kNewConnectionsBurst, .filled = now});
    by_peer_.emplace(peer, by_use_.begin());
    if (by_use_.size() > kPeersRemembered) {
      by_peer_.erase(by_use_.back().first);
      by_use_.pop_back();
    }
  } else {
    by_use_.splice(by_use_.begin(), by_use_, found->second);
  }
  Bucket& bucket = by_use_.front().second;
  const double grown = absl::ToDoubleSeconds(now - bucket.filled) * kNewConnectionsPerSecond;
  bucket.tokens = std::min(kNewConnectionsBurst, bucket.tokens + grown);
  bucket.filled = now;
  return bucket;
}

bool NewConnectionRate::Take(const std::string& peer, absl::Duration now) {
  Bucket& bucket = Filled(peer, now);
  if (bucket.tokens < 1) return false;
  bucket.tokens -= 1;
  return true;
}

void NewConnectionRate::Suspend(const std::string& peer, absl::Duration now,
                                absl::Duration length) {
  Filled(peer, now).tokens = -absl::ToDoubleSeconds(length) * kNewConnectionsPerSecond;
}

ConnectionVerdict ConnectionTable::Add(int fd, const std::string& peer, absl::Duration now) {
  const std::optional<uint64_t> cookie = CookieOf(fd);
  const absl::MutexLock lock(&mutex_);
  // The kernel gives a number out again once its last connection is closed.
  if (const auto old = entries_.find(fd); old != entries_.end()) Forget(old);
  if (!cookie) return ConnectionVerdict::kTooMany;  // no connection at all
  if (!rate_.Take(peer, now)) return ConnectionVerdict::kTooFast;
  if (Classify(peer) != ConnectionVerdict::kTaken && now - looked_ >= kBetweenLooks) {
    looked_ = now;
    RemoveEndedLocked();
  }
  const ConnectionVerdict verdict = Classify(peer);
  if (verdict != ConnectionVerdict::kTaken) return verdict;
  entries_[fd] = {.cookie = *cookie, .peer = peer};
  ++of_peer_[peer];
  return verdict;
}

ConnectionVerdict ConnectionTable::Classify(const std::string& peer) const {
  const auto of_peer = of_peer_.find(peer);
  if (of_peer != of_peer_.end() && of_peer->second >= limits_.per_peer) {
    return ConnectionVerdict::kTooManyOfPeer;
  }
  if (entries_.size() >= limits_.connections) return ConnectionVerdict::kTooMany;
  return ConnectionVerdict::kTaken;
}

void ConnectionTable::Forget(Entries::iterator entry) {
  const auto of_peer = of_peer_.find(entry->second.peer);
  if (--of_peer->second == 0) of_peer_.erase(of_peer);
  entries_.erase(entry);
}

void ConnectionTable::RemoveEnded() {
  const absl::MutexLock lock(&mutex_);
  RemoveEndedLocked();
}

void ConnectionTable::RemoveEndedLocked() {
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const auto next = std::next(entry);
    if (CookieOf(entry->first) != entry->second.cookie) Forget(entry);
    entry = next;
  }
}

size_t ConnectionTable::DisconnectIf(absl::FunctionRef<bool(int, const Entry&)> chosen) {
  size_t closed = 0;
  for (const auto& [fd, entry] : entries_) {
    if (!chosen(fd, entry) || CookieOf(fd) != entry.cookie) continue;
    shutdown(fd, SHUT_RDWR);
    DiscardReceived(fd);
    ++closed;
  }
  return closed;
}

size_t ConnectionTable::Disconnect(const std::string& peer) {
  const absl::MutexLock lock(&mutex_);
  return DisconnectIf([&](int, const Entry& entry) { return entry.peer == peer; });
}

size_t ConnectionTable::Suspend(const std::string& peer, absl::Duration now,
                                absl::Duration length) {
  {
    const absl::MutexLock lock(&mutex_);
    rate_.Suspend(peer, now, length);
  }
  return Disconnect(peer);
}

size_t ConnectionTable::Disconnect(const absl::flat_hash_set<uint64_t>& cookies) {
  const absl::MutexLock lock(&mutex_);
  return DisconnectIf([&](int, const Entry& entry) { return cookies.contains(entry.cookie); });
}

size_t ConnectionTable::DisconnectAll() {
  const absl::MutexLock lock(&mutex_);
  return DisconnectIf([](int, const Entry&) { return true; });
}

void ConnectionTable::ForEach(absl::FunctionRef<void(const OpenConnection&)> visit) {
  const absl::MutexLock lock(&mutex_);
  for (const auto& [fd, entry] : entries_) {
    if (CookieOf(fd) == entry.cookie) visit({.fd = fd, .cookie = entry.cookie});
  }
}

size_t ConnectionTable::DisconnectQuiet(absl::Duration quiet, bool calls_quiet) {
  const absl::MutexLock lock(&mutex_);
  RemoveEndedLocked();
  DisconnectIf([&](int fd, const Entry&) {
    if (!QueuesAreEmpty(fd)) return false;
    const std::optional<absl::Duration> since = SinceReceived(fd);
    return since ? *since >= quiet : calls_quiet;
  });
  return entries_.size();
}

size_t ConnectionTable::size() {
  const absl::MutexLock lock(&mutex_);
  return entries_.size();
}

}  // namespace holdfast

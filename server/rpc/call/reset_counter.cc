#include "server/rpc/call/reset_counter.h"

#include "server/net/peer.h"
#include "session/limits.h"

namespace holdfast {
namespace {

bool HasPort(std::string_view connection) { return connection.starts_with("ipv"); }

}  // namespace

void ResetCounter::Count(std::string_view call_peer, absl::Duration now, size_t resets) {
  if (!disconnect_) return;
  const std::string peer = PeerOfCall(call_peer);
  if (!peer.empty() && CountAndCheck(peer, now, resets)) disconnect_(peer);
}

void ResetCounter::Enter(const std::string& connection, absl::Duration now) {
  if (!HasPort(connection)) return;
  size_t calls = 0;
  {
    const absl::MutexLock lock(&calls_mutex_);
    calls = ++calls_[connection];
  }
  // Once for as many of them.
  const bool more =
      calls > calls_per_connection_ && (calls - calls_per_connection_) % kResetsPerPeer == 0;
  if (more) Count(connection, now, kResetsPerPeer);
}

void ResetCounter::Leave(const std::string& connection) {
  if (!HasPort(connection)) return;
  const absl::MutexLock lock(&calls_mutex_);
  const auto calls = calls_.find(connection);
  if (calls != calls_.end() && --calls->second == 0) calls_.erase(calls);
}

bool ResetCounter::CountAndCheck(const std::string& peer, absl::Duration now, size_t resets) {
  const absl::MutexLock lock(&mutex_);
  if (now - begun_ >= kResetWindow || counts_.size() >= kPeersRemembered) {
    counts_.clear();
    begun_ = now;
  }
  size_t& count = counts_[peer];
  count += resets;
  if (count < kResetsPerPeer) return false;
  counts_.erase(peer);
  return true;
}

}  // namespace holdfast

#include "server/net/unbegun_bytes.h"

#include "server/net/peer.h"
#include "session/limits.h"

#include "absl/container/flat_hash_set.h"

#include <algorithm>
#include <functional>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <optional>
#include <sys/socket.h>
#include <utility>
#include <vector>

namespace holdfast {
namespace {

// What comes with a message and is none of its bytes: frames, and headers of which most are
// indexed.
constexpr uint64_t kBesideMessageBytes = 128;

// Since the connection was made; nullopt when the kernel does not say.
std::optional<uint64_t> ReceivedBytes(int fd) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return std::nullopt;
  if (size < offsetof(tcp_info, tcpi_bytes_received) + sizeof info.tcpi_bytes_received) {
    return std::nullopt;
  }
  return info.tcpi_bytes_received;
}

std::string ConnectionOf(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return "";
  return ConnectionFrom(address);
}

}  // namespace

void UnbegunBytes::MessageArrived(const std::string& connection, size_t bytes) {
  if (!counting()) return;
  const absl::MutexLock lock(&mutex_);
  messages_[connection] += bytes + kBesideMessageBytes;
}

UnbegunBytes::Messages UnbegunBytes::TakeMessages() {
  const absl::MutexLock lock(&mutex_);
  return std::exchange(messages_, {});
}

void UnbegunBytes::Look() {
  counting_ = true;
  ++look_;
  const Messages messages = TakeMessages();
  connections_.ForEach([&](const OpenConnection& connection) { Count(connection, messages); });
  absl::erase_if(traffic_, [&](const auto& entry) { return entry.second.look != look_; });
}

void UnbegunBytes::Count(const OpenConnection& connection, const Messages& messages) {
  const std::optional<uint64_t> received = ReceivedBytes(connection.fd);
  if (!received) return;
  const auto [entry, is_new] = traffic_.try_emplace(connection.cookie);
  Traffic& traffic = entry->second;
  traffic.look = look_;
  if (is_new) {
    traffic.connection = ConnectionOf(connection.fd);
    // What a connection brought before the first look may have been used up long ago.
    traffic.received = look_ == 1 ? *received : 0;
  }
  traffic.unbegun += *received - std::exchange(traffic.received, *received);
  const auto begun = messages.find(traffic.connection);
  if (begun != messages.end()) traffic.unbegun -= std::min(traffic.unbegun, begun->second);
}

void UnbegunBytes::Stop() {
  if (!counting()) return;
  counting_ = false;
  look_ = 0;
  traffic_.clear();
  TakeMessages();
}

size_t UnbegunBytes::CloseHeaviest(size_t bytes) {
  uint64_t sum = 0;
  std::vector<std::pair<uint64_t, uint64_t>> heaviest;  // bytes, cookie
  for (const auto& [cookie, traffic] : traffic_) {
    if (traffic.closed) {
      sum += traffic.unbegun;
    } else if (traffic.unbegun >= kUnbegunLeast) {
      heaviest.emplace_back(traffic.unbegun, cookie);
    }
  }
  std::ranges::sort(heaviest, std::greater<>());
  absl::flat_hash_set<uint64_t> chosen;
  for (const auto& [unbegun, cookie] : heaviest) {
    if (sum >= bytes) break;
    sum += unbegun;
    chosen.insert(cookie);
    traffic_[cookie].closed = true;
  }
  return connections_.Disconnect(chosen);
}

bool UnbegunBytes::closing() const {
  return std::ranges::any_of(traffic_, [](const auto& entry) { return entry.second.closed; });
}

}  // namespace holdfast

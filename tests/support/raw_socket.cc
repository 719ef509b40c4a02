#include "tests/support/raw_socket.h"

#include "absl/time/clock.h"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>

namespace holdfast::testing {
namespace {

sockaddr_in AddressOf(const std::string& host, int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<in_port_t>(port));
  inet_pton(AF_INET, host.c_str(), &address.sin_addr);
  return address;
}

// Of a socket file; empty for another address.
std::string PathIn(const std::string& address) {
  return address.starts_with("unix:") ? address.substr(5) : "";
}

bool AwaitReadable(int fd, absl::Duration most) {
  pollfd polled{.fd = fd, .events = POLLIN};
  const int64_t milliseconds = std::max<int64_t>(0, absl::ToInt64Milliseconds(most));
  return poll(&polled, 1, static_cast<int>(milliseconds)) > 0;
}

}  // namespace

RawSocket::RawSocket(const std::string& address, const std::string& source, absl::Duration patience)
    : fd_(socket(PathIn(address).empty() ? AF_INET : AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  const timeval most = absl::ToTimeval(patience);
  setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most);
  if (const std::string path = PathIn(address); !path.empty()) {
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    path.copy(to.sun_path, sizeof to.sun_path - 1);
    connected_ = fd_ >= 0 && connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
    return;
  }
  const size_t colon = address.rfind(':');
  const sockaddr_in to = AddressOf(address.substr(0, colon), std::stoi(address.substr(colon + 1)));
  const sockaddr_in from = AddressOf(source, 0);
  // Thousands in a row would else run out of ports, for each ended one rests for a minute.
  constexpr linger kReset{.l_onoff = 1, .l_linger = 0};
  constexpr int kOn = 1;
  setsockopt(fd_, SOL_SOCKET, SO_LINGER, &kReset, sizeof kReset);
  setsockopt(fd_, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &kOn, sizeof kOn);
  connected_ = fd_ >= 0 && bind(fd_, reinterpret_cast<const sockaddr*>(&from), sizeof from) == 0 &&
               connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
}

RawSocket::RawSocket(RawSocket&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), connected_(other.connected_) {}

RawSocket::~RawSocket() {
  if (fd_ >= 0) close(fd_);
}

bool RawSocket::Send(const std::string& bytes) {
  for (size_t sent = 0; sent < bytes.size();) {
    const ssize_t took = send(fd_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (took <= 0) return false;
    sent += static_cast<size_t>(took);
  }
  return true;
}

bool RawSocket::Receive(absl::Duration most, std::string& bytes) {
  std::array<char, 16384> buffer{};
  while (AwaitReadable(fd_, most)) {
    const ssize_t got = recv(fd_, buffer.data(), buffer.size(), 0);
    if (got <= 0) return false;
    bytes.append(buffer.data(), static_cast<size_t>(got));
    most = absl::ZeroDuration();
  }
  return true;
}

bool RawSocket::AwaitEnd(absl::Duration most) {
  const absl::Time end = absl::Now() + most;
  std::string dropped;
  while (Receive(end - absl::Now(), dropped)) {
    dropped.clear();
    if (absl::Now() >= end) return false;
  }
  return true;
}

std::vector<RawSocket> OpenIdle(const std::string& address, const std::string& source,
                                size_t count) {
  std::vector<RawSocket> all;
  for (size_t i = 0; i < count; ++i) {
    RawSocket made(address, source);
    if (made.connected()) all.push_back(std::move(made));
  }
  return all;
}

}  // namespace holdfast::testing

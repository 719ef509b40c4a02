// Connections as an attacker makes them: without the library, and over TCP from an address of its
// own.
#ifndef HOLDFAST_TESTS_SUPPORT_RAW_SOCKET_H_
#define HOLDFAST_TESTS_SUPPORT_RAW_SOCKET_H_

#include "absl/time/time.h"

#include <cstddef>
#include <string>
#include <vector>

namespace holdfast::testing {

// For one thread; closed with its owner.
class RawSocket final {
 public:
  // Connects to `address` (IPV4:PORT) from the IPv4 address `source`, or to the socket file of
  // "unix:PATH", where there is no source.
  // It gives up sending when nothing is taken for `patience`.
  RawSocket(const std::string& address, const std::string& source,
            absl::Duration patience = absl::Seconds(2));
  RawSocket(const RawSocket&) = delete;
  RawSocket& operator=(const RawSocket&) = delete;
  RawSocket(RawSocket&& other) noexcept;
  RawSocket& operator=(RawSocket&&) = delete;
  ~RawSocket();

  [[nodiscard]] bool connected() const { return connected_; }
  // False once the other side has closed it, or has taken nothing for too long.
  bool Send(const std::string& bytes);
  // Adds everything that has come in to `bytes`, after a wait of at most `most`. False when the
  // other side has closed it.
  bool Receive(absl::Duration most, std::string& bytes);
  // Whether the other side closes it within `most`; what comes in before is dropped.
  bool AwaitEnd(absl::Duration most);

 private:
  int fd_ = -1;
  bool connected_ = false;
};

// As many as could be connected of `count`, none of which says anything.
std::vector<RawSocket> OpenIdle(const std::string& address, const std::string& source,
                                size_t count);

}  // namespace holdfast::testing

#endif  // HOLDFAST_TESTS_SUPPORT_RAW_SOCKET_H_

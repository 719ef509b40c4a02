#include "tests/support/reserved_port.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace holdfast::testing {

ReservedPort::ReservedPort() : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  const int on = 1;
  EXPECT_EQ(setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on), 0);
  sockaddr_in name = {.sin_family = AF_INET, .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
  socklen_t size = sizeof name;
  auto* const generic = reinterpret_cast<sockaddr*>(&name);
  EXPECT_EQ(bind(socket_, generic, size), 0) << "no port is free";
  EXPECT_EQ(getsockname(socket_, generic, &size), 0);
  address_ = absl::StrCat("127.0.0.1:", ntohs(name.sin_port));
}

ReservedPort::~ReservedPort() { close(socket_); }

}  // namespace holdfast::testing

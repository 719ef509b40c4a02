// Which connections are closed when the process holds too much: those that sent most without a
// call.
#include "server/net/unbegun_bytes.h"

#include "server/net/peer.h"
#include "session/limits.h"

#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <array>
#include <cstring>
#include <netinet/in.h>
#include <string>
#include <sys/socket.h>
#include <unistd.h>

namespace holdfast::test {
namespace {

sockaddr_storage Loopback(uint16_t port) {
  sockaddr_in in{};
  in.sin_family = AF_INET;
  in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  in.sin_port = htons(port);
  sockaddr_storage address{};
  std::memcpy(&address, &in, sizeof in);
  return address;
}

sockaddr_storage Ipv6(const char* text, uint16_t port) {
  sockaddr_in6 in{};
  in.sin6_family = AF_INET6;
  EXPECT_EQ(inet_pton(AF_INET6, text, &in.sin6_addr), 1);
  in.sin6_port = htons(port);
  sockaddr_storage address{};
  std::memcpy(&address, &in, sizeof in);
  return address;
}

// A TCP connection of this machine, of which both ends are here.
class TcpConnection final {
 public:
  TcpConnection() {
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_storage address = Loopback(0);
    socklen_t size = sizeof(sockaddr_in);
    EXPECT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(listener, 1), 0);
    EXPECT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
    client_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(connect(client_, reinterpret_cast<sockaddr*>(&address), size), 0);
    server_ = accept(listener, reinterpret_cast<sockaddr*>(&address), &size);
    name_ = ConnectionFrom(address);
    close(listener);
  }
  TcpConnection(const TcpConnection&) = delete;
  TcpConnection& operator=(const TcpConnection&) = delete;
  ~TcpConnection() {
    close(client_);
    close(server_);
  }

  [[nodiscard]] int fd() const { return server_; }
  [[nodiscard]] const std::string& name() const { return name_; }

  // Sends so much, and takes it in at the other end.
  void Bring(size_t bytes) const {
    std::string piece(4096, 'x');
    for (size_t sent = 0; sent < bytes; sent += piece.size()) {
      ASSERT_EQ(send(client_, piece.data(), piece.size(), 0), static_cast<ssize_t>(piece.size()));
      ASSERT_EQ(recv(server_, piece.data(), piece.size(), MSG_WAITALL),
                static_cast<ssize_t>(piece.size()));
    }
  }
  // Whether the server has closed it.
  [[nodiscard]] bool Closed() const {
    char byte = 0;
    return recv(client_, &byte, 1, MSG_DONTWAIT) == 0;
  }

 private:
  int client_ = -1;
  int server_ = -1;
  std::string name_;
};

class UnbegunBytesTest : public ::testing::Test {
 protected:
  UnbegunBytesTest() {
    for (const TcpConnection* const one : {&idle_, &busy_, &headers_, &halves_}) {
      EXPECT_EQ(table_.Add(one->fd(), "ipv4:127.0.0.1", absl::ZeroDuration()),
                ConnectionVerdict::kTaken);
    }
  }

  const TcpConnection idle_;
  const TcpConnection busy_;     // whose messages arrive whole
  const TcpConnection headers_;  // whose calls never begin
  const TcpConnection halves_;   // the same, and it sends less
  ConnectionTable table_{{}};
  UnbegunBytes unbegun_{table_};
};

TEST_F(UnbegunBytesTest, ClosesHeaviestSenderWithoutCallFirst) {
  unbegun_.Look();
  busy_.Bring(400 * kKiB);
  headers_.Bring(200 * kKiB);
  halves_.Bring(100 * kKiB);
  for (int i = 0; i < 100; ++i) unbegun_.MessageArrived(busy_.name(), 4 * kKiB);
  unbegun_.Look();
  EXPECT_EQ(unbegun_.CloseHeaviest(150 * kKiB), 1U);
  EXPECT_TRUE(headers_.Closed());
  EXPECT_FALSE(halves_.Closed());
  EXPECT_EQ(unbegun_.CloseHeaviest(SIZE_MAX), 1U);
  EXPECT_TRUE(halves_.Closed());
  EXPECT_FALSE(busy_.Closed());
  EXPECT_FALSE(idle_.Closed());
}

// A message that is on its way at a look counts until it has arrived.
TEST_F(UnbegunBytesTest, WhatHasArrivedIsNoLongerCounted) {
  unbegun_.Look();
  busy_.Bring(64 * kKiB);
  unbegun_.Look();
  busy_.Bring(64 * kKiB);
  unbegun_.MessageArrived(busy_.name(), 128 * kKiB);
  unbegun_.Look();
  EXPECT_EQ(unbegun_.CloseHeaviest(SIZE_MAX), 0U);
}

// What a connection sent that is being closed will be given back: no other is closed for it.
TEST_F(UnbegunBytesTest, ThoseThatAreBeingClosedCount) {
  unbegun_.Look();
  headers_.Bring(200 * kKiB);
  halves_.Bring(100 * kKiB);
  unbegun_.Look();
  EXPECT_FALSE(unbegun_.closing());
  EXPECT_EQ(unbegun_.CloseHeaviest(150 * kKiB), 1U);
  unbegun_.Look();
  EXPECT_TRUE(unbegun_.closing());
  EXPECT_EQ(unbegun_.CloseHeaviest(150 * kKiB), 0U);
  EXPECT_FALSE(halves_.Closed());
}

// Messages in advance do not buy headers later.
TEST_F(UnbegunBytesTest, NothingIsSavedUp) {
  unbegun_.Look();
  unbegun_.MessageArrived(headers_.name(), kMiB);
  unbegun_.Look();
  headers_.Bring(64 * kKiB);
  unbegun_.Look();
  EXPECT_EQ(unbegun_.CloseHeaviest(SIZE_MAX), 1U);
  EXPECT_TRUE(headers_.Closed());
}

// What came before the counting may have been used up long ago; of a connection that is made while
// it goes on, everything counts.
TEST_F(UnbegunBytesTest, CountsFromTheFirstLookOn) {
  headers_.Bring(64 * kKiB);
  unbegun_.Look();
  unbegun_.Look();
  EXPECT_EQ(unbegun_.CloseHeaviest(SIZE_MAX), 0U);
  const TcpConnection later;
  later.Bring(64 * kKiB);
  table_.Add(later.fd(), "ipv4:127.0.0.1", absl::ZeroDuration());
  unbegun_.Look();
  EXPECT_EQ(unbegun_.CloseHeaviest(SIZE_MAX), 1U);
  EXPECT_TRUE(later.Closed());
  headers_.Bring(64 * kKiB);
  unbegun_.Stop();
  EXPECT_EQ(unbegun_.CloseHeaviest(SIZE_MAX), 0U);
}

TEST(ConnectionFrom, NamesAConnectionAsGrpcDoes) {
  EXPECT_EQ(ConnectionFrom(Loopback(50'000)), "ipv4:127.0.0.1:50000");
  EXPECT_EQ(ConnectionFrom(Ipv6("2001:db8::1", 50'000)), "ipv6:%5B2001:db8::1%5D:50000");
  EXPECT_EQ(ConnectionFrom(Ipv6("::ffff:192.0.2.1", 7)), "ipv4:192.0.2.1:7");
  sockaddr_storage file{};
  file.ss_family = AF_UNIX;
  EXPECT_EQ(ConnectionFrom(file), "");
}

}  // namespace
}  // namespace holdfast::test

// How many connections are taken, of all peers and of each.
#include "server/net/connection_table.h"

#include "session/limits.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <sys/socket.h>
#include <unistd.h>

namespace holdfast::test {
namespace {

// A connected socket, and its other end.
class Connection final {
 public:
  Connection() { EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends_.data()), 0); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() {
    for (const int end : ends_) close(end);
  }
  [[nodiscard]] int fd() const { return ends_[0]; }

 private:
  std::array<int, 2> ends_{};
};

TEST(ConnectionTable, TakesAsManyAsItsLimitsSay) {
  ConnectionTable table({.connections = 3, .per_peer = 2});
  const std::array<Connection, 5> made;
  EXPECT_EQ(table.Add(made[0].fd(), "a", absl::ZeroDuration()), ConnectionVerdict::kTaken);
  EXPECT_EQ(table.Add(made[1].fd(), "a", absl::ZeroDuration()), ConnectionVerdict::kTaken);
  EXPECT_EQ(table.Add(made[2].fd(), "a", absl::ZeroDuration()), ConnectionVerdict::kTooManyOfPeer);
  EXPECT_EQ(table.Add(made[3].fd(), "b", absl::ZeroDuration()), ConnectionVerdict::kTaken);
  EXPECT_EQ(table.Add(made[4].fd(), "c", absl::ZeroDuration()), ConnectionVerdict::kTooMany);
  EXPECT_EQ(table.size(), 3U);
}

TEST(ConnectionTable, TakesAnotherOnceOneHasEnded) {
  ConnectionTable table({.connections = 1, .per_peer = 1});
  const Connection second;
  {
    const Connection first;
    EXPECT_EQ(table.Add(first.fd(), "a", absl::ZeroDuration()), ConnectionVerdict::kTaken);
    EXPECT_EQ(table.Add(second.fd(), "a", absl::ZeroDuration()), ConnectionVerdict::kTooManyOfPeer);
  }
  EXPECT_EQ(table.Add(second.fd(), "a", absl::Minutes(1)), ConnectionVerdict::kTaken);
}

TEST(ConnectionTable, RefusesConnectionsThatComeTooFast) {
  ConnectionTable table({});
  const Connection made;
  size_t taken = 0;
  for (int i = 0; i < 2 * static_cast<int>(kNewConnectionsBurst); ++i) {
    if (table.Add(made.fd(), "a", absl::ZeroDuration()) == ConnectionVerdict::kTaken) ++taken;
  }
  EXPECT_EQ(taken, static_cast<size_t>(kNewConnectionsBurst));
  EXPECT_EQ(table.Add(made.fd(), "b", absl::ZeroDuration()), ConnectionVerdict::kTaken);
  EXPECT_EQ(table.Add(made.fd(), "a", absl::Seconds(1)), ConnectionVerdict::kTaken);
}

TEST(ConnectionTable, TakesNoneOfAPeerThatIsSuspended) {
  ConnectionTable table({});
  const std::array<Connection, 3> made;
  EXPECT_EQ(table.Add(made[0].fd(), "a", absl::ZeroDuration()), ConnectionVerdict::kTaken);
  EXPECT_EQ(table.Suspend("a", absl::ZeroDuration(), kResetWindow), 1U);
  const absl::Duration last = kResetWindow - absl::Milliseconds(1);
  EXPECT_EQ(table.Add(made[1].fd(), "a", last), ConnectionVerdict::kTooFast);
  EXPECT_EQ(table.Add(made[1].fd(), "b", last), ConnectionVerdict::kTaken);
  EXPECT_EQ(table.Add(made[2].fd(), "a", 2 * kResetWindow), ConnectionVerdict::kTaken);
}

// Connections from ever new addresses evict old entries: the table does not grow.
TEST(NewConnectionRate, RemembersAsManyPeersAsItMay) {
  NewConnectionRate rate;
  while (rate.Take("first", absl::ZeroDuration())) {
  }
  const auto come = [&rate](const std::string& name, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      rate.Take(name + std::to_string(i), absl::ZeroDuration());
    }
  };
  come("a", kPeersRemembered - 1);
  EXPECT_FALSE(rate.Take("first", absl::ZeroDuration())) << "it was forgotten too early";
  come("b", kPeersRemembered);
  EXPECT_TRUE(rate.Take("first", absl::ZeroDuration())) << "more are remembered than may be";
}

}  // namespace
}  // namespace holdfast::test

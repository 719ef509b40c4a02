// The acceptor by itself, without a transport behind it: what is handed over, what is closed, and
// what it does when the process has no descriptor left.
#include "server/net/acceptor.h"

#include "server/log.h"
#include "server/net/connection_table.h"
#include "server/net/listening.h"
#include "tests/support/fake_clock.h"
#include "tests/support/raw_socket.h"
#include "tests/support/server_process.h"
#include "tests/support/wait.h"

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/synchronization/mutex.h"
#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <cstddef>
#include <fcntl.h>
#include <netinet/in.h>
#include <string>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

using testing::RawSocket;
using testing::WaitUntil;

constexpr char kHere[] = "127.0.0.1";
constexpr absl::Duration kPatience = absl::Seconds(10);

// Keeps what it is given. Any thread may call.
class KeepingSink final : public ConnectionSink {
 public:
  void Take(int listener, Descriptor connection) override {
    const absl::MutexLock lock(&mutex_);
    listener_ = listener;
    taken_.push_back(std::move(connection));
  }
  size_t count() {
    const absl::MutexLock lock(&mutex_);
    return taken_.size();
  }
  int listener() {
    const absl::MutexLock lock(&mutex_);
    return listener_;
  }
  // Whether each connection is one that does not block and is not inherited.
  bool Prepared() {
    const absl::MutexLock lock(&mutex_);
    for (const Descriptor& one : taken_) {
      if ((fcntl(one.get(), F_GETFL) & O_NONBLOCK) == 0) return false;
      if ((fcntl(one.get(), F_GETFD) & FD_CLOEXEC) == 0) return false;
    }
    return true;
  }

 private:
  absl::Mutex mutex_;
  std::vector<Descriptor> taken_ ABSL_GUARDED_BY(mutex_);
  int listener_ ABSL_GUARDED_BY(mutex_) = -1;
};

// Every descriptor that this process may have.
class NoDescriptors final {
 public:
  NoDescriptors() {
    constexpr rlim_t kFew = 256;
    EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &before_), 0);
    rlimit few = before_;
    few.rlim_cur = kFew;
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
    for (Descriptor one(Another()); one.valid(); one = Descriptor(Another())) {
      held_.push_back(std::move(one));
    }
  }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;
  ~NoDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  static int Another() { return fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0); }

  rlimit before_{};
  std::vector<Descriptor> held_;
};

class AcceptorTest : public ::testing::Test {
 protected:
  AcceptorTest() {
    absl::StatusOr<Listening> listening = ListenAt("127.0.0.1:0");
    EXPECT_TRUE(listening.ok()) << listening.status();
    address_ = listening->address;
    listeners_ = std::move(listening->sockets);
  }

  [[nodiscard]] const std::string& address() const { return address_; }
  std::vector<Descriptor> listeners() { return std::move(listeners_); }
  std::string log() {
    const absl::MutexLock lock(&mutex_);
    return lines_;
  }

  FakeClock clock_;
  KeepingSink sink_;
  Log log_{[this](LogLevel, const std::string& line) {
             const absl::MutexLock lock(&mutex_);
             lines_ += line;
           },
           clock_};

 private:
  std::string address_;
  std::vector<Descriptor> listeners_;
  absl::Mutex mutex_;
  std::string lines_ ABSL_GUARDED_BY(mutex_);
};

TEST_F(AcceptorTest, HandsOverWhatConnects) {
  ConnectionTable table({});
  std::vector<Descriptor> sockets = listeners();
  const int listener = sockets.front().get();
  Acceptor acceptor(std::move(sockets), table, sink_, clock_, log_);
  const RawSocket one(address(), kHere);
  const RawSocket two(address(), kHere);
  EXPECT_TRUE(WaitUntil([&] { return sink_.count() == 2; }));
  EXPECT_EQ(sink_.listener(), listener);
  EXPECT_TRUE(sink_.Prepared());
  EXPECT_EQ(acceptor.counts().taken, 2U);
  EXPECT_EQ(table.size(), 2U);
}

TEST_F(AcceptorTest, HandsOverWhatConnectsToASocketFile) {
  const testing::TestFolder folder;
  const std::string path = folder.File("socket");
  absl::StatusOr<Descriptor> file = ListenAtFile(path);
  ASSERT_TRUE(file.ok()) << file.status();
  std::vector<Descriptor> sockets = listeners();
  sockets.push_back(*std::move(file));
  ConnectionTable table({});
  const Acceptor acceptor(std::move(sockets), table, sink_, clock_, log_);
  const RawSocket by_file("unix:" + path, "");
  const RawSocket by_network(address(), kHere);
  EXPECT_TRUE(WaitUntil([&] { return sink_.count() == 2; }));
  EXPECT_EQ(acceptor.counts().taken, 2U);
}

TEST_F(AcceptorTest, ClosesWhatIsOverALimitAndSaysSoOnce) {
  ConnectionTable table({.connections = 2, .per_peer = 1});
  const Acceptor acceptor(listeners(), table, sink_, clock_, log_);
  const RawSocket one(address(), kHere);
  ASSERT_TRUE(WaitUntil([&] { return sink_.count() == 1; }));
  RawSocket of_the_same_peer(address(), kHere);
  EXPECT_TRUE(of_the_same_peer.AwaitEnd(kPatience));
  const RawSocket other(address(), "127.0.0.2");
  ASSERT_TRUE(WaitUntil([&] { return sink_.count() == 2; }));
  RawSocket of_a_third_peer(address(), "127.0.0.3");
  EXPECT_TRUE(of_a_third_peer.AwaitEnd(kPatience));
  EXPECT_TRUE(WaitUntil([&] { return acceptor.counts().too_many == 1; }));
  EXPECT_EQ(acceptor.counts().too_many_of_peer, 1U);
  EXPECT_EQ(acceptor.counts().taken, 2U);
  EXPECT_TRUE(absl::StrContains(log(), "server.connections_per_peer")) << log();
  EXPECT_FALSE(absl::StrContains(log(), "127.0.0.3")) << "a second line within a second: " << log();
}

TEST_F(AcceptorTest, AcceptsOnceADescriptorIsFreeAgain) {
  ConnectionTable table({});
  const Acceptor acceptor(listeners(), table, sink_, clock_, log_);
  // The socket is made before the last descriptor is taken; connecting it needs no other.
  const Descriptor client(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in server{};
  server.sin_family = AF_INET;
  server.sin_port =
      htons(static_cast<uint16_t>(std::stoi(address().substr(address().rfind(':') + 1))));
  server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  {
    const NoDescriptors none;
    ASSERT_EQ(connect(client.get(), reinterpret_cast<const sockaddr*>(&server), sizeof server), 0);
    EXPECT_TRUE(WaitUntil([&] { return acceptor.counts().pauses > 1; }));
    EXPECT_EQ(sink_.count(), 0U);
  }
  EXPECT_TRUE(WaitUntil([&] { return sink_.count() == 1; }));
  EXPECT_TRUE(absl::StrContains(log(), "no connection can be accepted")) << log();
}

TEST_F(AcceptorTest, StopEndsListeningAndLeavesConnections) {
  ConnectionTable table({});
  Acceptor acceptor(listeners(), table, sink_, clock_, log_);
  RawSocket before(address(), kHere);
  ASSERT_TRUE(WaitUntil([&] { return sink_.count() == 1; }));
  acceptor.Stop();
  acceptor.Stop();
  const RawSocket after(address(), kHere);
  EXPECT_FALSE(after.connected());
  EXPECT_FALSE(before.AwaitEnd(absl::ZeroDuration()));
}

}  // namespace
}  // namespace holdfast::test

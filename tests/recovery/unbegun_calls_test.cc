// Calls that never begin: of some nothing but headers arrives, of others all but the end of the
// request. No call counts them in the memory budget, for a call begins with its request: the memory
// of the process itself is bounded.
#include "session/limits.h"
#include "tests/recovery/replay_under_way.h"
#include "tests/support/each_store.h"
#include "tests/support/half_sent_calls.h"
#include "tests/support/raw_http2.h"
#include "tests/support/raw_socket.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <deque>
#include <iostream>
#include <string>

namespace holdfast::testing {
namespace {

using ::testing::HasSubstr;

constexpr char kEchoMethod[] = "/holdfast.v1.AdminService/Echo";
constexpr size_t kUnbegunBudget = 400 * kMiB;
constexpr size_t kLimit = kUnbegunBudget + kProcessBytes;
// Between two looks more arrives, and calls of a connection that is closed end one by one.
constexpr size_t kMostTaken = 5 * kLimit / 2;
// More than the server may hold, so that it would be seen if it did: one byte of headers costs it
// more than one.
constexpr size_t kSent = 3 * kLimit;

// A connection on which calls are opened, and nothing else.
class HeadersAlone final {
 public:
  HeadersAlone(const std::string& address, const std::string& source) : socket_(address, source) {
    connected_ = socket_.connected() && socket_.Send(http2::Opening());
  }

  // Opens another call. False once the server has closed the connection or there are as many as it
  // may have.
  bool Send() {
    if (!connected_ || sent_bytes_ >= kBytes) return false;
    std::string dropped;
    connected_ = socket_.Send(http2::LongHeaders(next_, kEchoMethod, kBytesOfEach)) &&
                 socket_.Receive(absl::ZeroDuration(), dropped);
    next_ += 2;
    sent_bytes_ += kBytesOfEach;
    return connected_;
  }
  [[nodiscard]] size_t sent_bytes() const { return sent_bytes_; }
  [[nodiscard]] bool connected() const { return connected_; }

  static constexpr size_t kBytesOfEach = 16'000;
  static constexpr size_t kBytes = kCallsPerConnectionDefault * kBytesOfEach;

 private:
  RawSocket socket_;
  bool connected_ = false;
  uint32_t next_ = 1;
  size_t sent_bytes_ = 0;
};

// A connection with requests of which the last byte is withheld.
class AllButTheEnd final {
 public:
  AllButTheEnd(const std::string& address, const std::string& source)
      : calls_(address, source, kCalls, kUnaryRequestBytes) {}

  // False once the server has closed the connection.
  bool Send() { return connected_ = connected_ && calls_.Send(); }
  [[nodiscard]] size_t sent_bytes() const { return calls_.sent_bytes(); }
  [[nodiscard]] bool connected() const { return connected_; }

 private:
  static constexpr size_t kCalls = 200;

  HalfSentCalls calls_;
  bool connected_ = true;
};

class UnbegunCalls : public ::testing::TestWithParam<StoreKind> {
 protected:
  // Sends kSent on `count` connections in turn, or until the server has closed them all.
  template <typename Attacker>
  static void Attack(const std::string& address, size_t count) {
    std::deque<Attacker> attackers;
    for (size_t i = 0; i < count; ++i) {
      attackers.emplace_back(address, absl::StrCat("127.0.8.", 1 + i % 4));
    }
    size_t sent = 0;
    for (bool sends = true; sends && sent < kSent;) {
      sends = false;
      sent = 0;
      for (Attacker& attacker : attackers) {
        sends = attacker.Send() || sends;
        sent += attacker.sent_bytes();
      }
    }
    const auto closed = std::count_if(attackers.begin(), attackers.end(),
                                      [](const Attacker& one) { return !one.connected(); });
    std::cout << sent / kMiB << " MiB on " << count << " connections, " << closed << " closed\n";
  }

  // Runs `attack` beside a replay, which must not notice.
  void ExpectBounded(void (*attack)(const std::string& address, size_t count), size_t count) {
    ASSERT_TRUE(server_.Start()) << server_.Log();
    Recordings recordings = FindRecordings();
    recordings.repeat /= 4;  // the attack does not take longer
    ReplayUnderWay replay(folder_, server_.address(), recordings);
    ASSERT_TRUE(replay.WaitForTraffic(100)) << replay.Errors();

    attack(server_.address(), count);
    EXPECT_LT(server_.PeakBytes(), kMostTaken);
    EXPECT_TRUE(absl::StrContains(server_.Log(), "sent most without a call are closed"));
    EXPECT_FALSE(absl::StrContains(server_.Log(), "every connection is closed"));

    EXPECT_EQ(replay.Wait(), 0) << replay.Errors();
    EXPECT_THAT(replay.Sum(), HasSubstr(" 0 differences, "));
    std::cout << "replay: " << replay.Sum() << "\npeak " << server_.PeakBytes() / kMiB << " of "
              << kMostTaken / kMiB << " MiB\n";
    std::string sum;
    EXPECT_EQ(VerifyReplay(folder_, server_.address(), recordings, sum), 0) << sum;
    EXPECT_EQ(server_.Stop().exit_code, 0) << server_.Log();
  }

  TestFolder folder_;
  StoreUnderServer store_{GetParam()};
  ServerProcess server_{folder_, store_.Settings({.more = "limits:\n  memory_budget: 400MiB\n"})};
};

TEST_P(UnbegunCalls, HeadersTakeNoMoreThanTheProcessMay) {
  ExpectBounded(Attack<HeadersAlone>, kSent / HeadersAlone::kBytes);
}

TEST_P(UnbegunCalls, HalfSentRequestsTakeNoMoreThanTheProcessMay) {
  ExpectBounded(Attack<AllButTheEnd>, 32);
}

INSTANTIATE_TEST_SUITE_P(Stores, UnbegunCalls, EachStore(), NameOfStore);

}  // namespace
}  // namespace holdfast::testing

// Requests that never arrive whole. No call counts them in the memory budget, for a call begins
// with its request: the transport's own quota bounds them.
#include "session/limits.h"
#include "tests/recovery/replay_under_way.h"
#include "tests/support/each_store.h"
#include "tests/support/half_sent_calls.h"

#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <deque>
#include <iostream>
#include <numeric>

namespace holdfast::testing {
namespace {

using ::testing::HasSubstr;

constexpr size_t kBudget = 400 * kMiB;
constexpr size_t kConnections = 32;
constexpr size_t kCallsOfEach = 200;
constexpr uint32_t kRequestBytes = kUnaryRequestBytes;
// The quota counts buffers, and calls are reset behind it: the process takes up to as much again.
constexpr size_t kMostTaken = (kBudget + kTransportBytes) * 2;
// More than the server may hold, so that it would be seen if it did.
constexpr size_t kMostSentBytes = 4 * (kBudget + kTransportBytes);

class HalfSent : public ::testing::TestWithParam<StoreKind> {
 protected:
  // Attacks until the server has ended every connection, or has been sent kMostSentBytes.
  static size_t Attack(const std::string& address) {
    std::deque<HalfSentCalls> attackers;
    for (size_t i = 0; i < kConnections; ++i) {
      attackers.emplace_back(address, "127.0.7.1", kCallsOfEach, kRequestBytes);
    }
    const auto sum = [&](auto member) {
      return std::transform_reduce(attackers.begin(), attackers.end(), size_t{0}, std::plus<>(),
                                   std::mem_fn(member));
    };
    bool connected = true;
    while (connected && sum(&HalfSentCalls::sent_bytes) < kMostSentBytes) {
      connected = false;
      for (HalfSentCalls& attacker : attackers) connected = attacker.Send() || connected;
    }
    const size_t sent = sum(&HalfSentCalls::sent_bytes);
    std::cout << sent / kMiB << " MiB of requests without an end, " << sum(&HalfSentCalls::ended)
              << " ended by the server\n";
    return sent;
  }

  TestFolder folder_;
  StoreUnderServer store_{GetParam()};
  ServerProcess server_{folder_, store_.Settings({.more = "limits:\n  memory_budget: 400MiB\n"})};
};

TEST_P(HalfSent, RequestsTakeNoMoreThanTheTransportMay) {
  ASSERT_TRUE(server_.Start()) << server_.Log();
  Recordings recordings = FindRecordings();
  recordings.repeat /= 4;  // the attack does not take longer
  ReplayUnderWay replay(folder_, server_.address(), recordings);
  ASSERT_TRUE(replay.WaitForTraffic(100)) << replay.Errors();
  const size_t idle = server_.PeakBytes();

  EXPECT_GT(Attack(server_.address()), kBudget + kTransportBytes / 2);
  EXPECT_LT(server_.PeakBytes() - idle, kMostTaken + 64 * kMiB);
  EXPECT_TRUE(absl::StrContains(server_.Log(), "gives up its calls again and again"));

  // Who was there before goes on, and what was cut off is sent again and acts once.
  EXPECT_EQ(replay.Wait(), 0) << replay.Errors();
  EXPECT_THAT(replay.Sum(), HasSubstr(" 0 differences, "));
  std::cout << "replay: " << replay.Sum() << "\npeak " << (server_.PeakBytes() - idle) / kMiB
            << " MiB above idle\n";
  std::string sum;
  EXPECT_EQ(VerifyReplay(folder_, server_.address(), recordings, sum), 0) << sum;
  EXPECT_EQ(server_.StopAtRest().exit_code, 0) << server_.Log();
}

INSTANTIATE_TEST_SUITE_P(Stores, HalfSent, EachStore(), NameOfStore);

}  // namespace
}  // namespace holdfast::testing

// When a peer is disconnected for calls that it gives up.
#include "server/rpc/call/reset_counter.h"

#include "session/limits.h"

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace holdfast::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kOne[] = "ipv4:127.0.0.2:1000";
constexpr char kOtherPeer[] = "ipv4:127.0.0.2:1001";
constexpr size_t kCalls = 10;

class ResetCounterTest : public ::testing::Test {
 protected:
  void Count(size_t resets, absl::Duration at) {
    for (size_t i = 0; i < resets; ++i) counter_.Count(i % 2 == 0 ? kOne : kOtherPeer, at);
  }
  void Enter(const std::string& connection, size_t calls) {
    for (size_t i = 0; i < calls; ++i) counter_.Enter(connection, absl::ZeroDuration());
  }
  void Leave(const std::string& connection, size_t calls) {
    for (size_t i = 0; i < calls; ++i) counter_.Leave(connection);
  }

  std::vector<std::string> disconnected_;
  ResetCounter counter_{[this](const std::string& peer) { disconnected_.push_back(peer); }, kCalls};
};

TEST_F(ResetCounterTest, DisconnectsAPeerOnceForAsManyAsItMayReset) {
  Count(kResetsPerPeer - 1, absl::ZeroDuration());
  EXPECT_THAT(disconnected_, IsEmpty());
  Count(1, absl::ZeroDuration());
  EXPECT_THAT(disconnected_, ElementsAre("ipv4:127.0.0.2"));
  Count(kResetsPerPeer - 1, absl::ZeroDuration());
  EXPECT_EQ(disconnected_.size(), 1U);
}

TEST_F(ResetCounterTest, ForgetsResetsOfAnEarlierWindow) {
  Count(kResetsPerPeer - 1, absl::ZeroDuration());
  Count(kResetsPerPeer - 1, kResetWindow);
  EXPECT_THAT(disconnected_, IsEmpty());
}

TEST_F(ResetCounterTest, RemembersAsManyPeersAsItMay) {
  const auto come = [this](const char* network, size_t peers) {
    for (size_t i = 0; i < peers; ++i) {
      counter_.Count(
          absl::StrCat("ipv4:", network, ".", i / 65536, ".", i / 256 % 256, ".", i % 256, ":1"),
          absl::ZeroDuration());
    }
  };
  Count(kResetsPerPeer - 1, absl::ZeroDuration());
  come("10", kPeersRemembered - 2);
  Count(1, absl::ZeroDuration());
  EXPECT_EQ(disconnected_.size(), 1U) << "it was forgotten too early";
  Count(kResetsPerPeer - 1, absl::ZeroDuration());
  come("11", kPeersRemembered);
  Count(1, absl::ZeroDuration());
  EXPECT_EQ(disconnected_.size(), 1U) << "more are remembered than may be";
}

TEST_F(ResetCounterTest, DisconnectsAPeerWithMoreCallsInProgressThanAConnectionMayHaveOpen) {
  Enter(kOne, kCalls + kResetsPerPeer - 1);
  EXPECT_THAT(disconnected_, IsEmpty());
  Enter(kOne, 1);
  EXPECT_THAT(disconnected_, ElementsAre("ipv4:127.0.0.2"));
}

TEST_F(ResetCounterTest, CountsTheCallsInProgressOfEachConnectionAlone) {
  Enter(kOne, kResetsPerPeer);
  Enter(kOtherPeer, kResetsPerPeer);
  Leave(kOne, kResetsPerPeer);
  Enter(kOne, kResetsPerPeer);
  EXPECT_THAT(disconnected_, IsEmpty());
}

TEST_F(ResetCounterTest, LeavesConnectionsWithoutNamesOut) {
  Enter("unix:", 3 * kResetsPerPeer);
  EXPECT_THAT(disconnected_, IsEmpty());
}

}  // namespace
}  // namespace holdfast::test

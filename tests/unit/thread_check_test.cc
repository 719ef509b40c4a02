// The check that the transport's threads only move bytes, as builds for tests have it.
#include "platform/thread_check.h"

#include "platform/scoped_blocking_call.h"
#include "server/rpc/call/wire.h"

#include "google/protobuf/empty.pb.h"
#include "gtest/gtest.h"

namespace holdfast::test {
namespace {

class ThreadCheck : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!ThreadChecksEnabled()) GTEST_SKIP() << "this build has no thread checks";
  }
};

TEST_F(ThreadCheck, EndsTheProcessWhenAThreadOfTheTransportWaits) {
  EXPECT_DEATH(
      {
        const TransportThread here;
        const ScopedBlockingCall blocking;
      },
      "a wait on a thread of the transport");
}

TEST_F(ThreadCheck, EndsTheProcessWhenAThreadOfTheTransportParses) {
  EXPECT_DEATH(
      {
        const TransportThread here;
        Received<google::protobuf::Empty> message;
        (void)message.Parse(Bytes(), 0);
      },
      "parsing on a thread of the transport");
}

TEST_F(ThreadCheck, LetsOtherThreadsWait) {
  { const TransportThread here; }
  const ScopedBlockingCall blocking;
}

}  // namespace
}  // namespace holdfast::test

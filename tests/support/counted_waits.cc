#include "tests/support/counted_waits.h"

#include <gtest/gtest.h>

#include <thread>

namespace holdfast::testing {
namespace {

struct Counter final : ScopedBlockingCall::Observer {
  void BlockingStarted() override {
    ++waits;
    ++away;
  }
  void BlockingEnded(ScopedBlockingCall::Resume) override { --away; }

  int waits = 0;
  int away = 0;
};

}  // namespace

int WaitsOf(absl::FunctionRef<void()> act) {
  Counter counter;
  std::thread([&] {
    ScopedBlockingCall::ObserveThisThread(counter);
    act();
  }).join();
  EXPECT_EQ(counter.away, 0) << "a blocking call did not end";
  return counter.waits;
}

}  // namespace holdfast::testing

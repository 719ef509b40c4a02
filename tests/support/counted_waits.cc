#include "tests/support/counted_waits.h"

#include <gtest/gtest.h>

#include <thread>

namespace holdfast::testing {
namespace {

struct Counter final : OffCore::Sharer {
  void Leave() override {
    ++waits;
    ++away;
  }
  void Return(OffCore::Back) override { --away; }

  int waits = 0;
  int away = 0;
};

}  // namespace

int WaitsOf(absl::FunctionRef<void()> act) {
  Counter counter;
  std::thread([&] {
    OffCore::TellOfThisThread(counter);
    act();
  }).join();
  EXPECT_EQ(counter.away, 0) << "it did not say that it is back";
  return counter.waits;
}

}  // namespace holdfast::testing

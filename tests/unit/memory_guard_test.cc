// What happens when the process holds more memory than it may.
#include "server/memory_guard.h"

#include "session/limits.h"
#include "tests/support/fake_clock.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <sys/socket.h>
#include <unistd.h>

namespace holdfast::test {
namespace {

constexpr size_t kLimit = 100 * kMiB;

class ScriptedMemory final : public ProcessMemory {
 public:
  [[nodiscard]] size_t Held() const override { return held; }
  void ReleaseFree() override {
    held -= free;
    free = 0;
    ++releases;
  }

  size_t held = 0;
  size_t free = 0;  // of it, what is allocated no more
  int releases = 0;
};

class MemoryGuardTest : public ::testing::Test {
 protected:
  MemoryGuardTest() {
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends_.data()), 0);
    connections_.Add(ends_[0], "unix", absl::ZeroDuration());
  }
  ~MemoryGuardTest() override {
    for (const int end : ends_) close(end);
  }

  [[nodiscard]] bool Closed() const {
    char byte = 0;
    return recv(ends_[1], &byte, 1, MSG_DONTWAIT) == 0;
  }
  void Look(int times) {
    for (int i = 0; i < times; ++i) guard_.Look();
  }

  std::array<int, 2> ends_{};
  FakeClock clock_;
  std::string lines_;
  Log log_{[this](LogLevel, const std::string& line) { lines_ += line; }, clock_};
  ScriptedMemory memory_;
  ConnectionTable connections_{{}};
  UnbegunBytes unbegun_{connections_};
  MemoryGuard guard_{{.limit = kLimit,
                      .memory = memory_,
                      .connections = connections_,
                      .unbegun = unbegun_,
                      .log = log_}};
};

TEST_F(MemoryGuardTest, CountsFromTheSecondHalfOn) {
  memory_.held = kLimit / 2 - 1;
  guard_.Look();
  EXPECT_FALSE(unbegun_.counting());
  memory_.held = kLimit / 2;
  guard_.Look();
  EXPECT_TRUE(unbegun_.counting());
  memory_.held = kLimit / 2 - 1;
  guard_.Look();
  EXPECT_FALSE(unbegun_.counting());
}

TEST_F(MemoryGuardTest, WhatIsFreeClosesNothing) {
  for (int i = 0; i < 10 * kMemoryBeatsOver; ++i) {
    memory_.held = 2 * kLimit;
    memory_.free = 2 * kLimit - kMiB;
    guard_.Look();
  }
  EXPECT_EQ(memory_.releases, 10 * kMemoryBeatsOver);
  EXPECT_FALSE(Closed());
  EXPECT_EQ(lines_, "");
}

TEST_F(MemoryGuardTest, ClosesEveryConnectionWhenNothingElseHelps) {
  memory_.held = kLimit;
  Look(kMemoryBeatsOver - 1);
  EXPECT_FALSE(Closed()) << "it sent nothing";
  EXPECT_EQ(guard_.closed(), 0U);
  EXPECT_EQ(guard_.held(), kLimit);
  guard_.Look();
  EXPECT_TRUE(Closed());
  EXPECT_EQ(guard_.closed(), 1U);
  EXPECT_NE(lines_.find("every connection is closed"), std::string::npos) << lines_;
}

// Only looks in a row count.
TEST_F(MemoryGuardTest, BeginsAnewOnceItHasHelped) {
  for (int i = 0; i < 10; ++i) {
    memory_.held = kLimit;
    Look(kMemoryBeatsOver - 1);
    memory_.held = kLimit - 1;
    guard_.Look();
  }
  EXPECT_FALSE(Closed());
}

TEST(ProcessMemory, IsWhatTheKernelSays) {
  ProcessMemory memory;
  const size_t before = memory.Held();
  EXPECT_GT(before, 0U);
  const std::string more(64 * kMiB, 'x');
  EXPECT_GE(memory.Held(), before + more.size() - kMiB);
}

}  // namespace
}  // namespace holdfast::test

// The limits of a container, read from trees of files that look as the kernel's do.
#include "server/container.h"

#include "session/limits.h"
#include "tests/support/temp_dir.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace holdfast::test {
namespace {

constexpr char kMounts[] =
    "24 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n"
    "30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n";

class ContainerTest : public ::testing::Test {
 protected:
  ContainerTest() {
    Write("/proc/self/cgroup", "0::/\n");
    Write("/proc/self/mountinfo", kMounts);
  }

  void Write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root_.path().string() + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
  }
  // Of the cgroup at `path` below the mount's point.
  void SetMemory(const std::string& path, const std::string& text) {
    Write("/sys/fs/cgroup" + path + "/memory.max", text);
  }
  void SetCpu(const std::string& path, const std::string& text) {
    Write("/sys/fs/cgroup" + path + "/cpu.max", text);
  }
  [[nodiscard]] Container Read() const { return Container::OfProcess(root_.path()); }

 private:
  const TempDir root_;
};

TEST_F(ContainerTest, HasNoLimitsWhereNoneAreSet) {
  EXPECT_EQ(Read(), Container()) << "no file";
  SetMemory("", "max\n");
  SetCpu("", "max 100000\n");
  EXPECT_EQ(Read(), Container());
}

TEST_F(ContainerTest, ReadsTheLimitsOfItsOwnNamespace) {
  SetMemory("", "536870912\n");
  SetCpu("", "150000 100000\n");
  EXPECT_EQ(Read(), (Container{.memory_bytes = 512 * kMiB, .cores = 1.5}));
}

TEST_F(ContainerTest, TakesTheSmallestOfItsCgroupAndThoseAbove) {
  Write("/proc/self/cgroup", "0::/pods/one/main\n");
  SetMemory("/pods/one/main", "1073741824\n");
  SetMemory("/pods/one", "536870912\n");
  SetMemory("/pods", "max\n");
  SetMemory("/others", "1\n");
  SetCpu("/pods/one/main", "400000 100000\n");
  SetCpu("/pods", "50000 100000\n");
  SetCpu("", "300000 100000\n");
  EXPECT_EQ(Read(), (Container{.memory_bytes = 512 * kMiB, .cores = 0.5}));
}

TEST_F(ContainerTest, FollowsAMountOfAPartOfTheHierarchy) {
  Write("/proc/self/cgroup", "12:pids:/x\n0::/pods/one/main\n");
  Write("/proc/self/mountinfo",
        "9 1 0:5 /pods/one /sys/fs/cg\\040roup ro shared:1 master:2 - cgroup2 cgroup rw\n");
  Write("/sys/fs/cg roup/memory.max", "2147483648\n");
  Write("/sys/fs/cg roup/main/memory.max", "1073741824\n");
  EXPECT_EQ(Read().memory_bytes, 1024 * kMiB);
}

TEST_F(ContainerTest, ReadsThePointAloneOfACgroupThatIsNotBelowIt) {
  SetMemory("", "536870912\n");
  Write("/sys/fs/memory.max", "1\n");
  for (const char* cgroup : {"0::/../outside\n", "0::/..\n", "0::/a/../../b\n"}) {
    Write("/proc/self/cgroup", cgroup);
    EXPECT_EQ(Read().memory_bytes, 512 * kMiB) << cgroup;
  }
}

TEST_F(ContainerTest, IgnoresWhatIsNotOfTheKernelsForm) {
  for (const char* text : {"", "0\n", "-1\n", "1", "1 2\n", "1\n2\n", "1k\n", " 1\n", "0x10\n",
                           "18446744073709551616\n"}) {
    SetMemory("", text);
    EXPECT_EQ(Read().memory_bytes, std::nullopt) << text;
  }
  for (const char* text :
       {"", "1\n", "1 0\n", "0 1\n", "1 2 3\n", "1  2\n", "-1 2\n", "1 2", "max\n", "1 max\n"}) {
    SetCpu("", text);
    EXPECT_EQ(Read().cores, std::nullopt) << text;
  }
}

TEST_F(ContainerTest, IgnoresVersionOne) {
  SetMemory("", "536870912\n");
  Write("/proc/self/cgroup", "4:memory:/docker/a\n1:name=systemd:/docker/a\n");
  EXPECT_EQ(Read(), Container());
  Write("/proc/self/cgroup", "0::/\n");
  Write("/proc/self/mountinfo", "35 24 0:31 / /sys/fs/cgroup rw - cgroup cgroup rw,memory\nbad\n");
  EXPECT_EQ(Read(), Container());
}

TEST_F(ContainerTest, EndsWhateverTheDepth) {
  std::string path;
  for (int depth = 0; depth < 10'000; ++depth) path += "/a";
  Write("/proc/self/cgroup", "0::" + path + "\n");
  EXPECT_EQ(Read(), Container());
}

TEST(Container, CountsAPartOfACoreAsOne) {
  EXPECT_EQ(Container().Cores(8), 8);
  EXPECT_EQ(Container().Cores(0), 1) << "the machine does not say";
  EXPECT_EQ(Container{.cores = 0.1}.Cores(8), 1);
  EXPECT_EQ(Container{.cores = 1.0}.Cores(8), 1);
  EXPECT_EQ(Container{.cores = 1.5}.Cores(8), 2);
  EXPECT_EQ(Container{.cores = 1e12}.Cores(8), 8);
}

TEST(Container, LeavesHalfOfItsMemoryToTheBudget) {
  EXPECT_EQ(Container().MemoryBudget(), kMemoryBudgetDefault);
  EXPECT_EQ(Container{.memory_bytes = 512 * kMiB}.MemoryBudget(), 256 * kMiB);
  EXPECT_EQ(Container{.memory_bytes = 4 * kMemoryBudgetDefault}.MemoryBudget(),
            kMemoryBudgetDefault);
}

TEST(Container, KeepsTheProcessBelowItsMemory) {
  EXPECT_EQ(Container().ProcessLimit(400 * kMiB), 400 * kMiB + kProcessBytes);
  const Container small{.memory_bytes = 512 * kMiB};
  EXPECT_EQ(small.ProcessLimit(small.MemoryBudget()), 384 * kMiB);
  EXPECT_EQ(small.ProcessLimit(4096 * kMiB), 384 * kMiB) << "a budget that does not fit";
  EXPECT_EQ(Container{.memory_bytes = 16384 * kMiB}.ProcessLimit(kMemoryBudgetDefault),
            kMemoryBudgetDefault + kProcessBytes);
}

}  // namespace
}  // namespace holdfast::test

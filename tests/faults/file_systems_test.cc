// File systems that can do less than others.
#include "store-fs/fs_store.h"
#include "tests/faults/workload.h"
#include "tests/support/fake_clock.h"
#include "tests/support/seeded_random.h"
#include "tests/support/small_disk.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <memory>
#include <string>
#include <unistd.h>

namespace holdfast::test {
namespace {

// What fallocate(2) says of the files in `directory`; 0 when it takes space.
int AllocateIn(const std::filesystem::path& directory) {
  std::string path = directory / "probe.XXXXXX";
  const int fd = mkstemp(path.data());
  const int error = fallocate(fd, 0, 0, 4096) == 0 ? 0 : errno;
  close(fd);
  unlink(path.c_str());
  return error;
}

TEST(FileSystems, TakesSpaceByZerosWhereNoneCanBeAllocated) {
  const SmallDisk disk("64m", "ramfs");
  ASSERT_EQ(AllocateIn(disk.path()), EOPNOTSUPP) << "this test needs such a file system";
  FakeClock clock;
  SeededRandom random;
  const auto open = [&] {
    fs::FsOptions options;
    options.root = disk.path() / "root";
    options.rotate_changes = 7;
    return fs::MakeFsStore(std::move(options), clock, random);
  };
  Workload workload(random);
  const auto store = open();
  ASSERT_TRUE(store->Init().ok());
  const absl::Status ended = workload.Run(*store);
  EXPECT_TRUE(ended.ok()) << ended.message();
  EXPECT_TRUE(store->CheckHealth().ok());
  store->Dispose();
  const auto again = open();
  ASSERT_TRUE(again->Init().ok());
  EXPECT_EQ(workload.Check(*again), "");
  EXPECT_EQ(workload.GoOn(*again), "");
  again->Dispose();
}

}  // namespace
}  // namespace holdfast::test

// A real file system of a few megabytes, in memory.
#ifndef HOLDFAST_TESTS_SUPPORT_SMALL_DISK_H_
#define HOLDFAST_TESTS_SUPPORT_SMALL_DISK_H_

#include "tests/support/temp_dir.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <sys/mount.h>

namespace holdfast::test {

class SmallDisk {
 public:
  // `size` as mount(8) takes it: "2m". A "ramfs" has no bound, and cannot take space in advance.
  explicit SmallDisk(const std::string& size, const char* kind = "tmpfs") {
    EXPECT_EQ(mount(kind, directory_.path().c_str(), kind, 0, ("size=" + size).c_str()), 0)
        << "this test mounts a small disk, which takes a privileged user";
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  ~SmallDisk() { umount2(directory_.path().c_str(), MNT_DETACH); }
  [[nodiscard]] std::filesystem::path path() const { return directory_.path(); }

 private:
  TempDir directory_;
};

}  // namespace holdfast::test

#endif  // HOLDFAST_TESTS_SUPPORT_SMALL_DISK_H_

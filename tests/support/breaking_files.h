// A seam whose writes and syncs fail while a switch is on.
#ifndef HOLDFAST_TESTS_SUPPORT_BREAKING_FILES_H_
#define HOLDFAST_TESTS_SUPPORT_BREAKING_FILES_H_

#include "store-fs/files.h"
#include "tests/support/memory_files.h"

#include <cstdint>
#include <functional>
#include <string>

namespace holdfast::test {

// One thing that is asked of a file or a directory.
struct FileOperation {
  std::string name;    // for example "write" or "sync directory"
  std::string path;    // where; of a rename, where to
  uint64_t bytes = 0;  // of a write
};

// Asked before each operation; anything but OK is what the operation answers, undone or, for a
// write, half done.
using FileFault = std::function<absl::Status(const FileOperation& operation)>;

// The files of the system, each operation of which `fault` may fail.
fs::FilesWrapper BreakBy(FileFault fault);

// Those of `disk` in their place, likewise. `disk` must outlive them.
fs::FilesWrapper BreakBy(MemoryDisk& disk, FileFault fault, MissingSyncs missing = {});

}  // namespace holdfast::test

#endif  // HOLDFAST_TESTS_SUPPORT_BREAKING_FILES_H_

// A seam whose writes and syncs fail while a switch is on.
#ifndef HOLDFAST_TESTS_SUPPORT_BREAKING_FILES_H_
#define HOLDFAST_TESTS_SUPPORT_BREAKING_FILES_H_

#include "store-fs/files.h"

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::test {

// Asked before each operation that changes the disk or makes it durable; anything but OK is what
// the operation answers, undone or, for a write, half done.
using FileFault =
    std::function<absl::Status(const std::string& operation, const std::string& path)>;

// Every operation of `files` that `fault` may fail.
std::unique_ptr<fs::Files> MakeBreakingFiles(std::unique_ptr<fs::Files> files, FileFault fault);

}  // namespace holdfast::test

#endif  // HOLDFAST_TESTS_SUPPORT_BREAKING_FILES_H_

#include "cli/input_file.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include <cerrno>
#include <fcntl.h>
#include <system_error>
#include <unistd.h>
#include <vector>

namespace holdfast::cli {
namespace {

absl::Status InputProblem(const std::string& path, int error) {
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": cannot be read: ", std::generic_category().message(error)));
}

absl::StatusOr<std::string> ReadDescriptor(const std::string& path, int descriptor) {
  constexpr size_t kPart = 64 * size_t{1024};
  std::vector<char> part(kPart);
  std::string bytes;
  for (;;) {
    const ssize_t count = read(descriptor, part.data(), part.size());
    if (count == 0) return bytes;
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return InputProblem(path, errno);
    bytes.append(part.data(), static_cast<size_t>(count));
    if (bytes.size() > kMostInputBytes) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": has more than ", kMostInputBytes, " bytes"));
    }
  }
}

}  // namespace

absl::StatusOr<std::string> ReadInput(const std::string& path) {
  if (path == "-") return ReadDescriptor("standard input", STDIN_FILENO);
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg): the system call's own signature
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return InputProblem(path, errno);
  absl::StatusOr<std::string> bytes = ReadDescriptor(path, descriptor);
  close(descriptor);
  return bytes;
}

}  // namespace holdfast::cli

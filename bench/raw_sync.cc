#include "bench/raw_sync.h"

#include "bench/fresh_bytes.h"
#include "bench/threads.h"
#include "platform/status_macros.h"

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace holdfast::bench {
namespace {

constexpr size_t kSpace = size_t{4} * 1024 * 1024;

absl::Status Failed(const char* what) {
  return absl::UnavailableError(std::string(what) + ": " + std::generic_category().message(errno));
}

}  // namespace

// One file and the thread that writes it, from its beginning again when its space is used up.
class RawFile {
 public:
  explicit RawFile(int fd) : fd_(fd) {}
  RawFile(const RawFile&) = delete;
  RawFile& operator=(const RawFile&) = delete;
  ~RawFile() { close(fd_); }

  absl::Status TakeSpace() const {
    const std::string zeros(kSpace, '\0');
    const bool taken = pwrite(fd_, zeros.data(), zeros.size(), 0) == ssize_t{kSpace};
    return taken && fsync(fd_) == 0 ? absl::OkStatus() : Failed("take space");
  }

  absl::Status Commit() {
    const std::string bytes = fresh_.Take(kPayload);
    if (offset_ + bytes.size() > kSpace) offset_ = 0;
    const ssize_t written = pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset_));
    offset_ += bytes.size();
    if (written != ssize_t(bytes.size()) || fdatasync(fd_) != 0) return Failed("write and sync");
    return absl::OkStatus();
  }

 private:
  const int fd_;
  FreshBytes fresh_;
  size_t offset_ = 0;
};

RawSync::RawSync() = default;
RawSync::~RawSync() = default;

absl::StatusOr<std::unique_ptr<RawSync>> RawSync::Make(const std::string& directory, size_t files) {
  std::filesystem::create_directories(directory);
  auto raw = std::make_unique<RawSync>();
  for (size_t number = 0; number < files; ++number) {
    const std::string path = directory + "/" + std::to_string(number);
    const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (fd < 0) return Failed("open");
    raw->files_.push_back(std::make_unique<RawFile>(fd));
    RETURN_IF_ERROR(raw->files_.back()->TakeSpace());
  }
  return raw;
}

absl::StatusOr<Round> RawSync::Commit(uint64_t count) { return CommitInThreads(files_, count); }

}  // namespace holdfast::bench

#include "bench/rename_store.h"

#include "bench/fresh_bytes.h"
#include "bench/threads.h"
#include "platform/status_macros.h"

#include <array>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace holdfast::bench {
namespace {

struct Part {
  const char* name;
  size_t bytes;
};
// Together one payload: what an agent's session changes with each turn.
constexpr std::array<Part, 3> kParts = {{{.name = "manifest", .bytes = 512},
                                         {.name = "state", .bytes = 5632},
                                         {.name = "messages", .bytes = 2048}}};
static_assert(kParts[0].bytes + kParts[1].bytes + kParts[2].bytes == kPayload);

constexpr char kTemporary[] = "new";

absl::Status Failed(const std::string& what) {
  return absl::UnavailableError(
      what +
      " failed: " + std::strerror(errno));  // NOLINT(concurrency-mt-unsafe): a text for people
}

}  // namespace

// One directory and the thread that writes it.
class RenameSession {
 public:
  explicit RenameSession(int directory) : directory_(directory) {}
  RenameSession(const RenameSession&) = delete;
  RenameSession& operator=(const RenameSession&) = delete;
  ~RenameSession() { close(directory_); }

  absl::Status Count() {
    for (const Part& part : kParts) {
      uint64_t found = 0;
      const int fd = openat(directory_, part.name, O_RDONLY | O_CLOEXEC);
      const bool got = fd >= 0 && read(fd, &found, sizeof found) == ssize_t{sizeof found};
      if (fd >= 0) close(fd);
      if (commits_ > 0 && (!got || found != commits_)) {
        return absl::FailedPreconditionError("the rename store lost a commit");
      }
    }
    return absl::OkStatus();
  }

  absl::Status Commit() {
    const uint64_t number = commits_ + 1;
    for (const Part& part : kParts) {
      std::string bytes = fresh_.Take(part.bytes);
      std::memcpy(bytes.data(), &number, sizeof number);
      RETURN_IF_ERROR(Replace(part.name, bytes));
    }
    commits_ = number;
    return absl::OkStatus();
  }

 private:
  absl::Status Replace(const char* name, const std::string& bytes) const {
    const int fd =
        openat(directory_, kTemporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (fd < 0) return Failed("open");
    const bool written = write(fd, bytes.data(), bytes.size()) == ssize_t(bytes.size());
    const bool synced = written && fdatasync(fd) == 0;
    close(fd);
    if (!synced) return Failed("write and sync");
    if (renameat(directory_, kTemporary, directory_, name) != 0) return Failed("rename");
    return fsync(directory_) == 0 ? absl::OkStatus() : Failed("sync of a directory");
  }

  const int directory_;
  FreshBytes fresh_;
  uint64_t commits_ = 0;  // acknowledged
};

RenameStore::RenameStore() = default;
RenameStore::~RenameStore() = default;

absl::StatusOr<std::unique_ptr<RenameStore>> RenameStore::Make(const std::string& directory,
                                                               size_t sessions) {
  auto store = std::make_unique<RenameStore>();
  for (size_t number = 0; number < sessions; ++number) {
    const std::string path = directory + "/" + std::to_string(number);
    std::filesystem::create_directories(path);
    const int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return Failed("open");
    store->sessions_.push_back(std::make_unique<RenameSession>(fd));
  }
  return store;
}

absl::StatusOr<Round> RenameStore::Commit(uint64_t count) {
  return CommitInThreads(sessions_, count);
}

absl::Status RenameStore::Count() {
  for (const auto& session : sessions_) {
    RETURN_IF_ERROR(session->Count());
  }
  return absl::OkStatus();
}

}  // namespace holdfast::bench

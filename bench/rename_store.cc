#include "bench/rename_store.h"

#include "bench/fresh_bytes.h"
#include "session/status_macros.h"

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <utility>

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

  // Commits while `left` lasts.
  void Run(std::atomic<int64_t>& left) {
    latencies_.clear();
    while (status_.ok() && left.fetch_sub(1) > 0) {
      const auto begin = std::chrono::steady_clock::now();
      status_ = Commit();
      latencies_.push_back(
          std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
              .count());
    }
  }

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

  [[nodiscard]] const absl::Status& status() const { return status_; }
  [[nodiscard]] const std::vector<double>& latencies() const { return latencies_; }

 private:
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
  absl::Status status_;
  std::vector<double> latencies_;
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
  std::atomic<int64_t> left(static_cast<int64_t>(count));
  const auto begin = std::chrono::steady_clock::now();
  {
    std::vector<std::jthread> threads;
    threads.reserve(sessions_.size());
    for (const auto& session : sessions_) {
      threads.emplace_back([&session, &left] { session->Run(left); });
    }
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::vector<double> latencies;
  for (const auto& session : sessions_) {
    RETURN_IF_ERROR(session->status());
    latencies.insert(latencies.end(), session->latencies().begin(), session->latencies().end());
  }
  return Summarise(count, seconds, std::move(latencies));
}

absl::Status RenameStore::Count() {
  for (const auto& session : sessions_) {
    RETURN_IF_ERROR(session->Count());
  }
  return absl::OkStatus();
}

}  // namespace holdfast::bench

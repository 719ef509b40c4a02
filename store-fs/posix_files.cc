#include "platform/scoped_blocking_call.h"
#include "platform/status_macros.h"
#include "store-fs/files.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <memory>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace holdfast::fs {
namespace {

constexpr mode_t kFileMode = 0600;
constexpr mode_t kDirectoryMode = 0700;
constexpr size_t kZeroBytes = size_t{64} * 1024;
constexpr size_t kPiecesAtOnce = 256;  // fewer than the system takes
constexpr int64_t kNanosPerSecond = 1'000'000'000;

absl::Status Failure(const char* what, const std::string& path, int error) {
  const std::string text =
      std::string(what) + " " + path + ": " + std::generic_category().message(error);
  switch (error) {
    case ENOENT:
      return absl::NotFoundError(text);
    case EEXIST:
    case ENOTEMPTY:
      return absl::AlreadyExistsError(text);
    case ENOSPC:
    case EDQUOT:
      return absl::ResourceExhaustedError(text);
    case ELOOP:
    case EXDEV:
    case ENOTDIR:
    case EISDIR:
      return absl::FailedPreconditionError(text);
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      return absl::AbortedError(text);
    default:
      return absl::UnavailableError(text);
  }
}

// The same of an operation that changes the disk: a lack of memory in the middle of one is no
// better than any other failure.
absl::Status Broken(const char* what, const std::string& path, int error) {
  absl::Status status = Failure(what, path, error);
  return IsShortage(status) ? absl::UnavailableError(std::string(status.message())) : status;
}

// Owns a descriptor.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] int Release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

// Opens beneath `root` without following any link; -1 with errno on failure.
int OpenBeneath(int root, const std::string& path, uint64_t flags, mode_t mode) {
  open_how how{};
  how.flags = flags | O_CLOEXEC | O_NOFOLLOW;
  how.mode = (flags & O_CREAT) != 0 ? mode : 0;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  for (;;) {
    const int64_t fd = syscall(SYS_openat2, root, path.c_str(), &how, sizeof how);
    if (fd >= 0 || (errno != EINTR && errno != EAGAIN)) return static_cast<int>(fd);
  }
}

using Parts = std::array<iovec, kPiecesAtOnce>;

// Fills `parts` with what is left of `pieces`, of whose first one so many bytes are `written`, as
// far as it has room. Answers how many it has filled.
size_t FillParts(absl::Span<const std::string_view> pieces, size_t written, Parts& parts) {
  const size_t count = std::min(pieces.size(), parts.size());
  for (size_t i = 0; i < count; ++i) {
    const std::string_view left = pieces[i].substr(i == 0 ? written : 0);
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): the system only reads it
    parts[i] = {.iov_base = const_cast<char*>(left.data()), .iov_len = left.size()};
  }
  return count;
}

class PosixFile final : public File {
 public:
  PosixFile(Descriptor fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

  absl::Status WritePieces(uint64_t offset, absl::Span<const std::string_view> pieces) override {
    Parts parts{};
    size_t written = 0;  // of the first piece
    for (;;) {
      while (!pieces.empty() && written >= pieces.front().size()) {
        written -= pieces.front().size();
        pieces.remove_prefix(1);
      }
      if (pieces.empty()) return absl::OkStatus();
      const size_t count = FillParts(pieces, written, parts);
      const ssize_t done =
          pwritev(fd_.get(), parts.data(), static_cast<int>(count), static_cast<off_t>(offset));
      if (done < 0 && errno == EINTR) continue;
      if (done <= 0) return Broken("write", path_, done < 0 ? errno : EIO);
      offset += static_cast<uint64_t>(done);
      written += static_cast<size_t>(done);
    }
  }

  absl::StatusOr<std::string> Read(uint64_t offset, size_t count) override {
    std::string bytes(count, '\0');
    size_t have = 0;
    const ScopedBlockingCall blocking;
    while (have < count) {
      const ssize_t got =
          pread(fd_.get(), bytes.data() + have, count - have, static_cast<off_t>(offset + have));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return Failure("read", path_, errno);
      if (got == 0) break;
      have += static_cast<size_t>(got);
    }
    bytes.resize(have);
    return bytes;
  }

  absl::Status Sync() override {
    const ScopedBlockingCall blocking(ScopedBlockingCall::Resume::kQueued);
    if (fdatasync(fd_.get()) != 0) return Broken("sync", path_, errno);
    return absl::OkStatus();
  }

  absl::Status Allocate(uint64_t offset, uint64_t size) override {
    while (fallocate(fd_.get(), 0, static_cast<off_t>(offset), static_cast<off_t>(size)) != 0) {
      // Where space cannot be taken in advance, the zeros below take it.
      if (errno == EOPNOTSUPP || errno == ENOSYS) break;
      if (errno != EINTR) return Broken("allocate", path_, errno);
    }
    // Written zeros spare each later sync the conversion of unwritten extents.
    static constexpr std::array<char, kZeroBytes> kZeros{};
    for (uint64_t done = 0; done < size; done += kZeroBytes) {
      const size_t count = std::min<uint64_t>(kZeroBytes, size - done);
      RETURN_IF_ERROR(Write(offset + done, std::string_view(kZeros.data(), count)));
    }
    return absl::OkStatus();
  }

  absl::Status Truncate(uint64_t size) override {
    if (ftruncate(fd_.get(), static_cast<off_t>(size)) != 0) return Broken("cut", path_, errno);
    return absl::OkStatus();
  }

  absl::StatusOr<uint64_t> Size() override {
    struct stat info {};
    if (fstat(fd_.get(), &info) != 0) return Failure("stat", path_, errno);
    return static_cast<uint64_t>(info.st_size);
  }

  absl::StatusOr<uint64_t> Inode() override {
    struct stat info {};
    if (fstat(fd_.get(), &info) != 0) return Failure("stat", path_, errno);
    return static_cast<uint64_t>(info.st_ino);
  }

 private:
  Descriptor fd_;
  const std::string path_;
};

class PosixFiles final : public Files {
 public:
  explicit PosixFiles(Descriptor root) : root_(std::move(root)) {}

  absl::StatusOr<std::unique_ptr<File>> Open(const std::string& path, OpenMode mode) override {
    uint64_t flags = O_RDONLY;
    if (mode == OpenMode::kWrite) flags = O_RDWR;
    if (mode == OpenMode::kCreate) flags = O_RDWR | O_CREAT | O_EXCL;
    Descriptor fd(OpenBeneath(root_.get(), path, flags, kFileMode));
    if (fd.get() < 0) return Failure("open", path, errno);
    return std::make_unique<PosixFile>(std::move(fd), path);
  }

  absl::Status MakeDirectory(const std::string& path) override {
    return InParent("make directory", path, [](int parent, const char* name) {
      return mkdirat(parent, name, kDirectoryMode);
    });
  }

  // NOLINTNEXTLINE(bugprone-easily-swappable-parameters): the order of rename(2)
  absl::Status Rename(const std::string& from, const std::string& to) override {
    ASSIGN_OR_RETURN(const FileInfo what, Stat(from));
    const unsigned flags = what.directory ? RENAME_NOREPLACE : 0;
    const auto [from_parent, from_name] = Split(from);
    const Descriptor source = Directory(from_parent);
    if (source.get() < 0) return Failure("rename", from, errno);
    return InParent("rename to", to,
                    [&, &name_of_source = from_name](int parent, const char* name) {
                      return renameat2(source.get(), name_of_source.c_str(), parent, name, flags);
                    });
  }

  // NOLINTNEXTLINE(bugprone-easily-swappable-parameters): the order of link(2)
  absl::Status Link(const std::string& from, const std::string& to) override {
    const auto [from_parent, from_name] = Split(from);
    const Descriptor source = Directory(from_parent);
    if (source.get() < 0) return Failure("link", from, errno);
    const auto [to_parent, to_name] = Split(to);
    const Descriptor target = Directory(to_parent);
    if (target.get() < 0) return Failure("link to", to, errno);
    if (linkat(source.get(), from_name.c_str(), target.get(), to_name.c_str(), 0) == 0) {
      return absl::OkStatus();
    }
    const bool unknown =
        errno == EPERM || errno == EOPNOTSUPP || errno == ENOSYS || errno == EMLINK;
    return unknown ? absl::UnimplementedError("link to " + to) : Broken("link to", to, errno);
  }

  absl::Status RemoveFile(const std::string& path) override {
    return InParent("remove", path,
                    [](int parent, const char* name) { return unlinkat(parent, name, 0); });
  }

  absl::Status RemoveDirectory(const std::string& path) override {
    return InParent("remove directory", path, [](int parent, const char* name) {
      return unlinkat(parent, name, AT_REMOVEDIR);
    });
  }

  absl::Status SyncDirectory(const std::string& path) override {
    const Descriptor directory = Directory(path);
    if (directory.get() < 0) return Failure("open directory", path, errno);
    const ScopedBlockingCall blocking(ScopedBlockingCall::Resume::kQueued);
    if (fsync(directory.get()) != 0) return Broken("sync directory", path, errno);
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<std::string>> List(const std::string& path) override {
    Descriptor directory = Directory(path);
    if (directory.get() < 0) return Failure("open directory", path, errno);
    const std::unique_ptr<DIR, int (*)(DIR*)> stream(fdopendir(directory.Release()), closedir);
    if (stream == nullptr) return Failure("list", path, errno);
    std::vector<std::string> names;
    errno = 0;
    while (const dirent* entry = readdir(
               stream.get())) {  // NOLINT(concurrency-mt-unsafe): the stream is this call's own
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") names.emplace_back(name);
    }
    if (errno != 0) return Failure("list", path, errno);
    std::ranges::sort(names);
    return names;
  }

  // Takes no descriptor, since it is asked whether what was just written still has its name. No
  // link is followed: each directory on the way is looked at first.
  absl::StatusOr<FileInfo> Stat(const std::string& path) override {
    struct statx info {};
    for (size_t slash = path.find('/'); slash != std::string::npos;
         slash = path.find('/', slash + 1)) {
      if (Look(path.substr(0, slash), info) != 0) return Failure("stat", path, errno);
      if (S_ISLNK(info.stx_mode)) return Failure("stat", path, ELOOP);
      if (!S_ISDIR(info.stx_mode)) return Failure("stat", path, ENOTDIR);
    }
    if (Look(path, info) != 0) return Failure("stat", path, errno);
    const bool has_birth = (info.stx_mask & STATX_BTIME) != 0;
    const auto nanos = [](const statx_timestamp& time) {
      return time.tv_sec * kNanosPerSecond + time.tv_nsec;
    };
    return FileInfo{.directory = S_ISDIR(info.stx_mode),
                    .link = S_ISLNK(info.stx_mode),
                    .inode = info.stx_ino,
                    .birth_ns = has_birth ? nanos(info.stx_btime) : 0,
                    .changed_ns = nanos(info.stx_ctime),
                    .mode = info.stx_mode & 07777U,
                    .owner = info.stx_uid};
  }

 private:
  static std::pair<std::string, std::string> Split(const std::string& path) {
    const size_t slash = path.rfind('/');
    if (slash == std::string::npos) return {".", path};
    return {path.substr(0, slash), path.substr(slash + 1)};
  }

  // What is behind a name; -1 with errno on failure.
  int Look(const std::string& path, struct statx& info) const {
    return statx(root_.get(), path.c_str(), AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS | STATX_BTIME,
                 &info);
  }

  [[nodiscard]] Descriptor Directory(const std::string& path) const {
    return Descriptor(OpenBeneath(root_.get(), path, O_RDONLY | O_DIRECTORY, 0));
  }

  // Does `act` with the parent's descriptor and the last name, since only opening can refuse links.
  template <typename Act>
  absl::Status InParent(const char* what, const std::string& path, Act act) {
    const auto [parent, name] = Split(path);
    const Descriptor directory = Directory(parent);
    if (directory.get() < 0) return Failure(what, path, errno);
    if (act(directory.get(), name.c_str()) != 0) return Broken(what, path, errno);
    return absl::OkStatus();
  }

  Descriptor root_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Files>> OpenFiles(const std::string& root) {
  Descriptor fd(open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.get() < 0) return Failure("open", root, errno);
  return std::make_unique<PosixFiles>(std::move(fd));
}

}  // namespace holdfast::fs

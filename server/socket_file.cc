#include "server/socket_file.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace holdfast {
namespace {

constexpr std::string_view kScheme = "unix:";
constexpr mode_t kLockFileMode = 0600;

absl::Status UnservablePath(const std::string& path, const std::string& why) {
  return absl::UnavailableError("server.address: unix:" + path + " cannot be served: " + why);
}

// Others must not be able to put another socket in the place of this one.
std::string DirectoryProblem(const std::string& path) {
  const std::string directory = path.substr(0, std::max<size_t>(1, path.rfind('/')));
  struct stat found {};
  if (stat(directory.c_str(), &found) != 0) {
    return directory + ": " + std::generic_category().message(errno);
  }
  if (found.st_uid != geteuid() && found.st_uid != 0) {
    return directory +
           " belongs to another user, who could replace the socket: use a directory of "
           "the server's own user";
  }
  // Also a sticky one, such as /tmp: others can take the path while no server runs.
  if ((found.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return directory +
           " may be written by other users, who could put their own socket there: use a directory "
           "of the server's own user, mode 0700";
  }
  return "";
}

}  // namespace

std::optional<std::string> SocketFile::PathIn(std::string_view address) {
  if (!address.starts_with(kScheme)) return std::nullopt;
  return std::string(address.substr(kScheme.size()));
}

std::string SocketFile::Problem(std::string_view path) {
  if (!path.starts_with('/') || path.ends_with('/')) return "must be unix: and an absolute path";
  // A client's library reads it as part of a URI.
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._-";
  if (path.find_first_not_of(kPlain) != std::string_view::npos) {
    return "may hold A-Z a-z 0-9 / . _ - alone behind unix:";
  }
  constexpr size_t kMost = sizeof(sockaddr_un::sun_path) - 1;
  if (path.size() > kMost) {
    return "may have at most " + std::to_string(kMost) + " bytes behind unix:";
  }
  return "";
}

absl::StatusOr<std::unique_ptr<SocketFile>> SocketFile::Take(const std::string& path) {
  if (const std::string problem = DirectoryProblem(path); !problem.empty()) {
    return UnservablePath(path, problem);
  }
  const std::string lock = path + ".lock";
  // Neither through a link nor waiting for the other end of a pipe.
  Descriptor fd(
      open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, kLockFileMode));
  if (!fd.valid()) {
    const std::string why =
        errno == ELOOP ? "is a symbolic link: remove it" : std::generic_category().message(errno);
    return UnservablePath(path, lock + ": " + why);
  }
  struct stat found {};
  if (fstat(fd.get(), &found) != 0 || !S_ISREG(found.st_mode) || found.st_uid != geteuid()) {
    return UnservablePath(path, lock + ": is no file of the server's own user: remove it");
  }
  if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    return UnservablePath(path, "another server serves there");
  }
  return std::make_unique<SocketFile>(path, std::move(fd));
}

SocketFile::~SocketFile() {
  struct stat found {};
  const bool ours = lstat(path_.c_str(), &found) == 0 && S_ISSOCK(found.st_mode);
  if (ours) unlink(path_.c_str());
}

}  // namespace holdfast

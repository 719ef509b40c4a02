#include "server/socket_file.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <system_error>
#include <unistd.h>

namespace holdfast {
namespace {

constexpr std::string_view kScheme = "unix:";
constexpr mode_t kOwnersAlone = 0600;

absl::Status Unservable(const std::string& path, const std::string& why) {
  return absl::UnavailableError("server.address: unix:" + path + " cannot be served: " + why);
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
  const std::string lock = path + ".lock";
  const int fd = open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kOwnersAlone);
  if (fd < 0) return Unservable(path, lock + ": " + std::generic_category().message(errno));
  auto taken = std::make_unique<SocketFile>(path, fd);
  if (flock(fd, LOCK_EX | LOCK_NB) == 0) return taken;
  return Unservable(path, "another server serves there");
}

SocketFile::~SocketFile() { close(lock_); }

absl::Status SocketFile::CloseToOthers() const {
  if (chmod(path_.c_str(), kOwnersAlone) == 0) return absl::OkStatus();
  return Unservable(path_, std::generic_category().message(errno));
}

}  // namespace holdfast

// A server's address as a file: `unix:PATH`, for callers on the same machine.
#ifndef HOLDFAST_SERVER_SOCKET_FILE_H_
#define HOLDFAST_SERVER_SOCKET_FILE_H_

#include "server/net/descriptor.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace holdfast {

// Keeps the path for this process while it lives: what is served there would else be taken away
// from one server by the next, without a word. The socket itself is made by ListenAtFile.
class SocketFile {
 public:
  // The path behind `unix:`; nullopt for an address of another form.
  static std::optional<std::string> PathIn(std::string_view address);
  // Why nothing can be served at the path; empty when it has the right form.
  static std::string Problem(std::string_view path);

  // Locks PATH.lock, which stays behind. UNAVAILABLE when another process has it, or it cannot be
  // made, or is a link or not this user's; and when others could replace what is served or take the
  // path while no server runs: the directory must be this user's or root's, and must not be
  // writable by others, whether it is sticky or not.
  static absl::StatusOr<std::unique_ptr<SocketFile>> Take(const std::string& path);
  // See Take, which alone makes one. Owns `lock`.
  SocketFile(std::string path, Descriptor lock) : path_(std::move(path)), lock_(std::move(lock)) {}
  SocketFile(const SocketFile&) = delete;
  SocketFile& operator=(const SocketFile&) = delete;
  // Removes the socket file.
  ~SocketFile();

 private:
  const std::string path_;
  const Descriptor lock_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_SOCKET_FILE_H_

// A server's address as a file: `unix:PATH`, for callers on the same machine.
#ifndef HOLDFAST_SERVER_SOCKET_FILE_H_
#define HOLDFAST_SERVER_SOCKET_FILE_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast {

// Keeps the path for this process while it lives: what is served there would else be taken away
// from one server by the next, without a word.
class SocketFile {
 public:
  // What stands behind `unix:`; nullopt for an address of another form.
  static std::optional<std::string> PathIn(std::string_view address);
  // Why nothing can be served at the path; empty when it has the right form.
  static std::string Problem(std::string_view path);

  // Locks PATH.lock, which stays behind. UNAVAILABLE when another process has it, or it cannot be
  // made.
  static absl::StatusOr<std::unique_ptr<SocketFile>> Take(const std::string& path);
  // See Take, which alone makes one. Owns `lock`.
  SocketFile(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}
  SocketFile(const SocketFile&) = delete;
  SocketFile& operator=(const SocketFile&) = delete;
  ~SocketFile();

  // Once it is served: only this user may connect.
  [[nodiscard]] absl::Status CloseToOthers() const;

 private:
  const std::string path_;
  const int lock_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_SOCKET_FILE_H_

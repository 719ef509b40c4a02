// The seam to the file system: everything the store does to a disk goes through here, so that a
// test can make any single operation fail, and nothing outside one root can be reached.
//
// Paths are relative to the root, with '/' between names. No symbolic link is followed anywhere on
// the way. Errors: NOT_FOUND, ALREADY_EXISTS, RESOURCE_EXHAUSTED (no space), FAILED_PRECONDITION (a
// symbolic link or something else that must not be there), ABORTED (the process or the system has
// no descriptor or no memory left; nothing was begun, and the disk may be healthy), UNAVAILABLE for
// the rest, with the system's words, which never leave the server's own log.
#ifndef HOLDFAST_STORE_FS_FILES_H_
#define HOLDFAST_STORE_FS_FILES_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::fs {

// An open file. Reads from any thread; writes from one at a time.
class File {
 public:
  File() = default;
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  virtual ~File() = default;

  // All of `pieces`, one behind the other, at `offset`.
  virtual absl::Status WritePieces(uint64_t offset, absl::Span<const std::string_view> pieces) = 0;
  absl::Status Write(uint64_t offset, std::string_view bytes) {
    return WritePieces(offset, {&bytes, 1});
  }
  // Up to `count` bytes from `offset`; fewer only at the end of the file.
  virtual absl::StatusOr<std::string> Read(uint64_t offset, size_t count) = 0;
  // Contents, and size, are on the disk when this is OK. After an error nothing is known of
  // what was written since the last OK: never try again.
  virtual absl::Status Sync() = 0;
  // Takes space for `size` bytes, which read as zeros. RESOURCE_EXHAUSTED when there is none;
  // nothing that was written is touched.
  virtual absl::Status Allocate(uint64_t offset, uint64_t size) = 0;
  virtual absl::Status Truncate(uint64_t size) = 0;
  virtual absl::StatusOr<uint64_t> Size() = 0;
  // The inode behind this file, whatever has become of its name.
  virtual absl::StatusOr<uint64_t> Inode() = 0;
};

enum class OpenMode : uint8_t { kRead, kWrite, kCreate /* must not exist; 0600 */ };

// What is behind a name.
struct FileInfo {
  bool directory = false;
  bool link = false;
  uint64_t inode = 0;
  int64_t birth_ns = 0;    // 0 where the file system does not know
  int64_t changed_ns = 0;  // when contents, name or mode were changed last, by the wall clock
  uint32_t mode = 0;       // permission bits
  uint32_t owner = 0;
};

class Files {
 public:
  Files() = default;
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;
  virtual ~Files() = default;

  virtual absl::StatusOr<std::unique_ptr<File>> Open(const std::string& path, OpenMode mode) = 0;
  // 0700; ALREADY_EXISTS when it does.
  virtual absl::Status MakeDirectory(const std::string& path) = 0;
  // Replaces a file of that name; ALREADY_EXISTS for a directory that is there.
  virtual absl::Status Rename(const std::string& from, const std::string& to) = 0;
  // Gives the file `from` a further name. ALREADY_EXISTS when there is something of that name;
  // UNIMPLEMENTED where a file has one name alone.
  virtual absl::Status Link(const std::string& from, const std::string& to) = 0;
  virtual absl::Status RemoveFile(const std::string& path) = 0;
  virtual absl::Status RemoveDirectory(const std::string& path) = 0;
  // Makes the names in a directory durable.
  virtual absl::Status SyncDirectory(const std::string& path) = 0;
  // Names in a directory, sorted, without "." and "..".
  virtual absl::StatusOr<std::vector<std::string>> List(const std::string& path) = 0;
  // Takes no descriptor: it says whether what was just written still has its name.
  virtual absl::StatusOr<FileInfo> Stat(const std::string& path) = 0;
};

// For tests: answers the files that a store uses in place of those it is given.
using FilesWrapper = std::function<std::unique_ptr<Files>(std::unique_ptr<Files>)>;

// ABORTED: what was asked was not begun, and may be asked again.
inline bool IsShortage(const absl::Status& status) { return absl::IsAborted(status); }
// A failure that does not mean that the disk failed, if nothing that counts was written before it:
// there is no space, or a shortage.
inline bool IsLack(const absl::Status& status) {
  return absl::IsResourceExhausted(status) || IsShortage(status);
}
// The error of a failure after a write that counts: a lack is no longer harmless there.
absl::Status AfterWriting(const absl::Status& status);

// The files below `root`, an absolute path of a directory that exists.
absl::StatusOr<std::unique_ptr<Files>> OpenFiles(const std::string& root);

// The whole file; at most `limit` bytes, else FAILED_PRECONDITION.
absl::StatusOr<std::string> ReadWhole(Files& files, const std::string& path, size_t limit);

// Writes a new file and makes its contents durable. Its name is not yet.
absl::Status WriteNew(Files& files, const std::string& path, std::string_view bytes);

// Takes space for `file`, which has `allocated` bytes, up to `needed` or a step beyond it, and
// never beyond `most`: steps of as much as there is, from 64 KiB to 1 MiB. Errors of
// File::Allocate, after which `allocated` is as before.
absl::Status Preallocate(File& file, uint64_t& allocated, uint64_t needed, uint64_t most);

// Removes a file or a directory with all it holds. OK when it is not there.
absl::Status RemoveTree(Files& files, const std::string& path);

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_FILES_H_

// The two files of the write-ahead log, and what a start finds in them.
#ifndef HOLDFAST_STORE_FS_WRITE_AHEAD_FILES_H_
#define HOLDFAST_STORE_FS_WRITE_AHEAD_FILES_H_

#include "platform/clock.h"
#include "store-fs/files.h"
#include "store-fs/write_ahead_record.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::fs {

inline constexpr char kWriteAheadDirectory[] = "wal";
inline constexpr size_t kWriteAheadFiles = 2;

// "wal/0" and "wal/1".
std::string WriteAheadPath(size_t file);

// Makes those that are missing, empty, and their names durable.
absl::Status MakeWriteAheadFiles(Files& files, Random& random);

// All that the log holds.
struct LogContents {
  std::array<std::string, kWriteAheadFiles> bytes;
  std::vector<StoredFrame> frames;  // into these, the oldest first
  uint64_t generation = 0;          // of the newest file
};

// Reads both files of at most `most` bytes. Of the last write of each only what is whole counts: it
// was not acknowledged. FAILED_PRECONDITION when a file is missing, or something else in it is not
// what was written.
absl::StatusOr<LogContents> ReadWriteAheadLog(Files& files, uint64_t most);

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_WRITE_AHEAD_FILES_H_

// Writes a run: entries in the order of their keys, block by block, so that of a large one only a
// block and the directory are in memory.
#ifndef HOLDFAST_STORE_FS_RUN_WRITER_H_
#define HOLDFAST_STORE_FS_RUN_WRITER_H_

#include "platform/encoding.h"
#include "store-fs/files.h"
#include "store-fs/index_entry.h"
#include "store-fs/run_directory.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::fs {

// Used by one thread.
class RunWriter {
 public:
  // A run in a new file at `path`, which nothing names yet: one of that name is removed. `suffix`
  // is that of the space, see FilterPart.
  static absl::StatusOr<RunWriter> Create(Files& files, const std::string& path, size_t suffix);

  // Adds an entry whose key is greater than the one before. OUT_OF_RANGE when a reader would not
  // take the run with this entry; else an error of the file.
  absl::Status Add(const IndexEntry& entry);
  // Writes the rest and makes the file durable; answers what the head says of it, without the
  // number of its file. FAILED_PRECONDITION when there was no entry. Called once, at the end.
  absl::StatusOr<RunInfo> Finish();

  [[nodiscard]] bool empty() const { return entries_ == 0; }

 private:
  RunWriter(std::unique_ptr<File> file, size_t suffix) : file_(std::move(file)) {
    directory_.suffix = suffix;
  }
  absl::Status EndBlock();

  std::unique_ptr<File> file_;
  Encoder block_;
  std::string first_;  // key of `block_`
  RunDirectory directory_;
  std::vector<uint64_t> hashes_;
  uint64_t bytes_ = 0;          // of the blocks that are written
  size_t directory_bytes_ = 0;  // at most, without the filter
  uint64_t entries_ = 0;
};

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_RUN_WRITER_H_

// A run: an immutable file of entries, sorted by their keys (docs/formats.md). A point read touches
// one block of it at most, and none where the range or the filter of the run says that it does not
// hold the key.
#ifndef HOLDFAST_STORE_FS_SORTED_RUN_H_
#define HOLDFAST_STORE_FS_SORTED_RUN_H_

#include "session/ids.h"
#include "store-fs/file_kind.h"
#include "store-fs/files.h"
#include "store-fs/index_entry.h"
#include "store-fs/run_block.h"
#include "store-fs/run_directory.h"

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::fs {

// Where the runs of a session are found.
struct RunFiles {
  Files& files;
  const SessionKey& key;
};

// Whether a run, or a part of it, is not what was written or not there.
inline bool IsUnreadable(const absl::Status& status) {
  return absl::IsDataLoss(status) || absl::IsNotFound(status);
}

// Any thread may call. Its directory is read by the first call that needs it and kept; blocks are
// read anew. Errors of all calls: DATA_LOSS when something is not what was written; NOT_FOUND when
// the file is not there, for example since a merge has replaced it; else those of the file.
class SortedRun {
 public:
  explicit SortedRun(const RunInfo& info, FileKind kind = FileKind::kRun)
      : info_(info), kind_(kind) {}
  SortedRun(const SortedRun&) = delete;
  SortedRun& operator=(const SortedRun&) = delete;
  ~SortedRun() = default;

  [[nodiscard]] const RunInfo& info() const { return info_; }

  // A block that was read, for the next read of the same run.
  struct BlockMemo {
    std::optional<uint64_t> offset;  // of the block; absent: none
    std::string bytes;
  };

  // The entry with the greatest key that is not greater than `key` and has the same filter part;
  // nullopt when there is none. Uses and sets `memo`, unless it is nullptr.
  absl::StatusOr<std::optional<IndexEntry>> FindAtOrBelow(const RunFiles& where,
                                                          std::string_view key,
                                                          BlockMemo* memo = nullptr) const;

  [[nodiscard]] absl::StatusOr<std::unique_ptr<File>> Open(const RunFiles& where) const;

  using Directory = std::shared_ptr<const RunDirectory>;
  absl::StatusOr<Directory> LoadDirectory(const RunFiles& where) const;

 private:
  const RunInfo info_;
  const FileKind kind_;
  mutable absl::Mutex mutex_;
  mutable Directory directory_ ABSL_GUARDED_BY(mutex_);
};

// Reads the entries of a run in the order of their keys, or in the opposite one. Used by one
// thread.
class RunCursor {
 public:
  // From the first key in `range` on, or from the last one. `where` and `run` must outlive it.
  RunCursor(const RunFiles& where, const SortedRun& run, KeyRange range,
            Direction direction = Direction::kAscending)
      : where_(where), run_(run), range_(std::move(range)), direction_(direction) {}
  RunCursor(const RunCursor&) = delete;
  RunCursor& operator=(const RunCursor&) = delete;
  ~RunCursor() = default;

  // The next entry; nullopt at the end of the range. Errors as of SortedRun; the cursor is at its
  // end then.
  absl::StatusOr<std::optional<IndexEntry>> Next();

 private:
  absl::StatusOr<std::optional<IndexEntry>> Step();
  absl::StatusOr<std::optional<IndexEntry>> StepBack();
  absl::Status Open();
  // Reads the block at `at_`.
  absl::Status ReadBlock();
  // Sets `behind_` to the entries of the block that are in the range.
  absl::Status ListBlock();

  const RunFiles& where_;
  const SortedRun& run_;
  const KeyRange range_;
  const Direction direction_;
  bool ended_ = false;
  SortedRun::Directory directory_;
  std::unique_ptr<File> file_;
  size_t at_ = 0;  // of the block that is being read
  std::string bytes_;
  std::optional<BlockReader> block_;
  std::vector<BlockReader::Entry> behind_;  // descending: those that come, the next one last
};

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_SORTED_RUN_H_

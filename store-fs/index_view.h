// A space of a session's index as it was at one moment: newer entries that were in memory, over
// runs. The newest entry of a key counts, and one that says that the key is deleted hides those
// below it.
#ifndef HOLDFAST_STORE_FS_INDEX_VIEW_H_
#define HOLDFAST_STORE_FS_INDEX_VIEW_H_

#include "store-fs/index_entry.h"
#include "store-fs/index_layer.h"
#include "store-fs/sorted_run.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::fs {

using Runs = std::vector<std::shared_ptr<const SortedRun>>;  // oldest first

struct IndexView {
  std::vector<IndexEntry> newer;  // in the order of their keys
  Runs runs;
};

// Looks keys up in runs. A block of a run that was read for the key before is not read again. Used
// by one thread.
class RunLookup {
 public:
  // `where` must outlive it.
  RunLookup(const RunFiles& where, const Runs& runs)
      : where_(where), runs_(runs), memos_(runs.size()) {}

  // The newest entry with `key`, which may say that it is deleted; nullopt when there is none. Of
  // each run whose range and filter match one block is read. Errors as of SortedRun.
  absl::StatusOr<std::optional<IndexEntry>> Find(const std::string& key);

 private:
  const RunFiles& where_;
  const Runs runs_;
  std::vector<SortedRun::BlockMemo> memos_;  // one of each run
};

// The newest entry with `key`; nullopt when there is none or the key is deleted. Of each run whose
// range and filter match one block is read. Errors as of SortedRun.
absl::StatusOr<std::optional<IndexEntry>> FindEntry(const RunFiles& where, const IndexView& view,
                                                    const std::string& key);

enum class Deleted : uint8_t { kHide, kShow };

// What a cursor reads.
struct IndexScan {
  KeyRange range;
  Deleted deleted = Deleted::kHide;
  Direction direction = Direction::kAscending;
};

// The entries in a range, in the order of their keys or in the opposite one, the newest of each
// key. Used by one thread.
class IndexCursor {
 public:
  // Of a view. `where` and `view` must outlive it.
  IndexCursor(const RunFiles& where, const IndexView& view, IndexScan scan);
  // Of layers, the newest one first, over runs. All must outlive it, and the layers not change.
  IndexCursor(const RunFiles& where, const std::vector<const IndexLayer*>& layers, const Runs& runs,
              IndexScan scan);
  IndexCursor(const IndexCursor&) = delete;
  IndexCursor& operator=(const IndexCursor&) = delete;
  ~IndexCursor() = default;

  // The next entry; nullopt at the end of the range. Errors as of SortedRun; the cursor is at its
  // end then.
  absl::StatusOr<std::optional<IndexEntry>> Next();

 private:
  // Newer entries or a run, and the entry of it that comes next.
  struct Source {
    std::function<absl::StatusOr<std::optional<IndexEntry>>()> read;
    std::optional<IndexEntry> next;
  };

  void AddRuns(const RunFiles& where, const Runs& runs);
  static absl::Status Advance(Source& source);
  absl::StatusOr<std::optional<IndexEntry>> Step();
  [[nodiscard]] bool IsBefore(const IndexEntry& one, const IndexEntry& other) const;

  const IndexScan scan_;
  std::vector<Source> sources_;  // newest first
  bool begun_ = false;
  bool ended_ = false;
};

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_INDEX_VIEW_H_

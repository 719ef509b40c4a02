// A space of a session's index as it was at one moment: newer entries that were in memory, over
// runs. The newest entry of a key counts, and one that says that the key is deleted hides those
// below it.
#ifndef HOLDFAST_STORE_FS_INDEX_VIEW_H_
#define HOLDFAST_STORE_FS_INDEX_VIEW_H_

#include "store-fs/index_entry.h"
#include "store-fs/sorted_run.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <cstddef>
#include <cstdint>
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

// The newest entry with `key`; nullopt when there is none or the key is deleted. Of each run whose
// range and filter match one block is read. Errors as of SortedRun.
absl::StatusOr<std::optional<IndexEntry>> FindEntry(const RunFiles& where, const IndexView& view,
                                                    const std::string& key);

enum class Deleted : uint8_t { kHide, kShow };

// The entries of a view in a range, in the order of their keys, the newest of each key. Used by one
// thread.
class IndexCursor {
 public:
  // `where` and `view` must outlive it.
  IndexCursor(const RunFiles& where, const IndexView& view, const KeyRange& range, Deleted deleted);
  IndexCursor(const IndexCursor&) = delete;
  IndexCursor& operator=(const IndexCursor&) = delete;
  ~IndexCursor() = default;

  // The next entry; nullopt at the end of the range. Errors as of SortedRun; the cursor is at its
  // end then.
  absl::StatusOr<std::optional<IndexEntry>> Next();

 private:
  // A layer or a run, and the entry of it that comes next.
  struct Source {
    std::unique_ptr<RunCursor> run;  // nullptr: the newer entries
    std::optional<IndexEntry> next;
  };

  absl::Status Advance(Source& source);
  absl::StatusOr<std::optional<IndexEntry>> Step();

  const IndexView& view_;
  const KeyRange range_;
  const Deleted deleted_;
  size_t newer_at_ = 0;
  std::vector<Source> sources_;  // newest first
  bool begun_ = false;
  bool ended_ = false;
};

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_INDEX_VIEW_H_

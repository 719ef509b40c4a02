// Which runs of a space become one, and how. Adjacent runs of like size are merged eight to one, so
// that there are O(log n) of them and an entry is written again a few times and then never more.
#ifndef HOLDFAST_STORE_FS_RUN_MERGE_H_
#define HOLDFAST_STORE_FS_RUN_MERGE_H_

#include "store-fs/index_entry.h"
#include "store-fs/index_view.h"
#include "store-fs/run_directory.h"
#include "store-fs/sorted_run.h"

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace holdfast::fs {

inline constexpr size_t kRunFanout = 8;

// A run as the choice sees it.
struct RunSize {
  uint64_t bytes = 0;
  bool readable = true;
};

// Adjacent runs.
struct RunRange {
  size_t first = 0;
  size_t count = 0;

  bool operator==(const RunRange&) const = default;
};

// The newest full group of readable runs of like size, oldest run first; together with the next
// larger group if the run that it becomes fills that. Of count 0 when there is none.
RunRange ChooseRuns(std::span<const RunSize> runs);

// Whether `entry` is to be kept; `next` is the entry that follows it in the merge, kept or not, or
// nullptr.
using KeepEntry = absl::FunctionRef<bool(const IndexEntry& entry, const IndexEntry* next)>;

// What a merge makes.
struct MergeTarget {
  const std::string& path;  // of the new file
  size_t suffix = 0;        // of the space, see FilterPart
};

// Writes the entries of adjacent runs, the newest of each key, as one run. Nothing is left of it
// when no entry is kept: nullopt. Errors as of SortedRun and RunWriter.
absl::StatusOr<std::optional<RunInfo>> MergeRuns(const RunFiles& where, const Runs& runs,
                                                 const MergeTarget& target, KeepEntry keep);

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_RUN_MERGE_H_

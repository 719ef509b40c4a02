#include "store-fs/run_merge.h"

#include "platform/status_macros.h"
#include "store-fs/bounds.h"
#include "store-fs/run_writer.h"

#include <utility>

namespace holdfast::fs {
namespace {

// Half of what a run may have: a merge never fails for the length of its result.
constexpr uint64_t kMergedMost = kRunBlocks * kRunBlockBytes / 2;

}  // namespace

RunRange ChooseRuns(std::span<const RunSize> runs) {
  RunRange chosen;
  size_t end = 0;  // of the group, behind its newest run; 0: there is no group
  size_t members = 0;
  uint64_t newest = 0;  // bytes of its newest run
  uint64_t bytes = 0;   // of all
  for (size_t at = runs.size(); at > 0; --at) {
    const RunSize& run = runs[at - 1];
    const bool joins = members > 0 && run.readable && run.bytes <= newest * kRunFanout / 2 &&
                       bytes + run.bytes <= kMergedMost;
    if (!joins) {
      if (chosen.count > 0) return chosen;
      members = 0;
      if (!run.readable) continue;
      end = at;
      newest = run.bytes;
      bytes = 0;
    }
    bytes += run.bytes;
    if (++members < kRunFanout) continue;
    chosen = {.first = at - 1, .count = end - at + 1};
    members = 1;
    newest = bytes;
  }
  return chosen;
}

absl::StatusOr<std::optional<RunInfo>> MergeRuns(const RunFiles& where, const Runs& runs,
                                                 const MergeTarget& target, KeepEntry keep) {
  const IndexView view{.newer = {}, .runs = runs};
  IndexCursor cursor(where, view, {.range = {}, .deleted = Deleted::kShow});
  ASSIGN_OR_RETURN(RunWriter writer, RunWriter::Create(where.files, target.path, target.suffix));
  ASSIGN_OR_RETURN(std::optional<IndexEntry> entry, cursor.Next());
  while (entry) {
    ASSIGN_OR_RETURN(std::optional<IndexEntry> next, cursor.Next());
    if (keep(*entry, next ? &*next : nullptr)) {
      RETURN_IF_ERROR(writer.Add(*entry));
    }
    entry = std::move(next);
  }
  if (!writer.empty()) {
    ASSIGN_OR_RETURN(const RunInfo info, writer.Finish());
    return info;
  }
  RETURN_IF_ERROR(RemoveTree(where.files, target.path));
  return std::nullopt;
}

}  // namespace holdfast::fs

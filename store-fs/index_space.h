// A space of a session's sorted index: its newer entries, in memory, over its runs.
#ifndef HOLDFAST_STORE_FS_INDEX_SPACE_H_
#define HOLDFAST_STORE_FS_INDEX_SPACE_H_

#include "platform/encoding.h"
#include "store-fs/file_kind.h"
#include "store-fs/index_layer.h"
#include "store-fs/index_view.h"
#include "store-fs/run_directory.h"
#include "store-fs/sorted_run.h"

#include "absl/status/statusor.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>

namespace holdfast::fs {

// Used by one thread at a time.
class IndexSpace {
 public:
  // Its runs are files of this kind. `suffix` is that of its keys, see FilterPart.
  IndexSpace(FileKind kind, size_t suffix) : kind_(kind), suffix_(suffix) {}

  [[nodiscard]] const IndexLayer& newer() const { return newer_; }
  [[nodiscard]] IndexLayer& newer() { return newer_; }
  [[nodiscard]] const Runs& runs() const { return runs_; }

  // Writes the newer entries as the run of this number, durably, and keeps them: nullopt when there
  // are none or too many runs. Errors as of RunWriter.
  [[nodiscard]] absl::StatusOr<std::optional<RunInfo>> WriteNewer(const RunFiles& where,
                                                                  uint64_t file) const;
  // Makes a run the newest one.
  void AddRun(const RunInfo& info);
  // Puts a run, if any, in the place of adjacent ones.
  void ReplaceRuns(const std::set<uint64_t>& files, const std::optional<RunInfo>& by);

  void PutRuns(Encoder& out) const;
  // Fails `in` for more runs than there may be.
  void ReadRuns(Decoder& in);

 private:
  FileKind kind_;
  size_t suffix_;
  IndexLayer newer_;
  Runs runs_;
};

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_INDEX_SPACE_H_

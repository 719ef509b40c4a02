// Merges of the runs that hold slot versions, beside the session's service.
#ifndef HOLDFAST_STORE_FS_MERGED_RUN_H_
#define HOLDFAST_STORE_FS_MERGED_RUN_H_

#include "store-fs/files.h"
#include "store-fs/manifest.h"
#include "store-fs/replacement.h"
#include "store-fs/run_directory.h"
#include "store-fs/session_state.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace holdfast::fs {

// The numbers of the runs that are to become one, see ChooseRuns. Empty when there are none. None
// of `unreadable` is among them.
std::set<uint64_t> ChooseSlotRuns(const SessionState& state, const std::set<uint64_t>& unreadable);

// Adjacent runs as one, without the versions that no kept snapshot shows.
class MergedRun final : public Replacement {
 public:
  // Of these runs, without a result: see Write.
  explicit MergedRun(const std::set<uint64_t>& sources) : sources_(sources) {}

  // Writes it to tmp/, durably, of the state in a head file. DATA_LOSS when a run cannot be read:
  // it joins `unreadable`. Else errors as of MergeRuns.
  static absl::StatusOr<std::unique_ptr<Replacement>> Write(Files& files, const Manifest& manifest,
                                                            const SessionState& state,
                                                            const std::set<uint64_t>& sources,
                                                            std::set<uint64_t>& unreadable);

  absl::Status PutInPlace(const SwitchPlace& place, const SessionState& state) override;
  void Adopt(uint64_t file, SessionState& state) const override;
  [[nodiscard]] std::vector<std::string> Replaced(const SessionKey& key) const override;

 private:
  std::set<uint64_t> sources_;
  std::optional<RunInfo> run_;  // nullopt: nothing of them is needed
};

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_MERGED_RUN_H_

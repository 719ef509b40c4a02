// Merges of the runs of a space of the index, beside the session's service.
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
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::fs {

// The spaces of a session's index.
enum class RunSpace : uint8_t { kSlots, kItems };

// Runs of one space, by their numbers.
struct ChosenRuns {
  RunSpace space = RunSpace::kSlots;
  std::set<uint64_t> files;
};

// Those of each space that a merge leaves as they are, since they cannot be read.
using UnreadableRuns = std::map<RunSpace, std::set<uint64_t>>;

// The runs that are to become one, see ChooseRuns. None when nothing is to be merged. None of
// `unreadable` is among them.
ChosenRuns ChooseRunsToMerge(const SessionState& state, const UnreadableRuns& unreadable);

// Adjacent runs as one, without slot versions that no kept snapshot shows, and without deletions of
// items that no earlier run has.
class MergedRun final : public Replacement {
 public:
  // Of these runs, without a result: see Write.
  explicit MergedRun(ChosenRuns sources) : sources_(std::move(sources)) {}

  // Writes it to tmp/, durably, of the state in a head file. DATA_LOSS when a run cannot be read:
  // it joins `unreadable`. Else errors as of MergeRuns.
  static absl::StatusOr<std::unique_ptr<Replacement>> Write(Files& files, const Manifest& manifest,
                                                            const SessionState& state,
                                                            const ChosenRuns& sources,
                                                            UnreadableRuns& unreadable);

  absl::Status PutInPlace(const SwitchPlace& place, const SessionState& state) override;
  void Adopt(uint64_t file, SessionState& state) const override;
  [[nodiscard]] std::vector<std::string> Replaced(const SessionKey& key) const override;

 private:
  ChosenRuns sources_;
  std::optional<RunInfo> run_;  // nullopt: nothing of them is needed
};

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_MERGED_RUN_H_

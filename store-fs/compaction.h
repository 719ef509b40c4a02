// Compaction: sealed logs of which most is dead, or that are many and small, are written anew as
// one log of what is live of them: slots, items of the session, and the numbered logs' entries
// (docs/formats.md). It reads and writes without the session's lock; only the switch to the new log
// needs it.
#ifndef HOLDFAST_STORE_FS_COMPACTION_H_
#define HOLDFAST_STORE_FS_COMPACTION_H_

#include "session/ids.h"
#include "store-fs/file_kind.h"
#include "store-fs/files.h"
#include "store-fs/index_entry.h"
#include "store-fs/index_view.h"
#include "store-fs/item_entry.h"
#include "store-fs/manifest.h"
#include "store-fs/replacement.h"
#include "store-fs/run_directory.h"
#include "store-fs/segment.h"
#include "store-fs/session_state.h"
#include "store-fs/slot_version.h"
#include "store-fs/sorted_run.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::fs {

// Which sealed logs are to become one: adjacent ones of which more than half is dead, else a group
// of small ones of like size. Empty when it is not worth its cost. None of `unreadable` is among
// them.
std::set<uint64_t> ChooseLogs(const SessionState& state, const std::set<uint64_t>& unreadable);

// The live items and slots of several sealed logs, in a log and an index of their own that nothing
// names yet.
class CompactedLog final : public Replacement {
 public:
  // Of nothing: see Write.
  CompactedLog() = default;

  // Writes both to tmp/, durably, from the state in a head file, which is all that any later
  // ones name of these logs. DATA_LOSS when an item cannot be read, whatever the disk says of it:
  // its log joins `unreadable`; and when a run cannot be read that may name slots of them: the logs
  // that have such slots do. NOT_FOUND when one of the logs is no longer there.
  static absl::StatusOr<std::unique_ptr<Replacement>> Write(Files& files, const Manifest& manifest,
                                                            const SessionState& state,
                                                            const std::set<uint64_t>& sources,
                                                            std::set<uint64_t>& unreadable);

  // Also writes the runs of the slot versions and items that runs have, with their new places.
  // OUT_OF_RANGE when there are too many runs.
  absl::Status PutInPlace(const SwitchPlace& place, const SessionState& state) override;
  void Adopt(uint64_t file, SessionState& state) const override;
  [[nodiscard]] std::vector<std::string> Replaced(const SessionKey& key) const override;

 private:
  // The former place of a slot version or a segment: a file, and a place in the log or in the
  // index.
  using Origin = std::pair<uint64_t, uint64_t>;
  class Writer;
  // A slot version whose record was copied.
  struct MovedSlot {
    SlotEntry entry;  // with its former place
    bool was_in_run = false;
  };

  // An item some of whose bytes were copied.
  struct MovedItem {
    ItemEntry entry;  // with the former places
    bool was_in_run = false;
  };
  // A run of entries with new places.
  struct MovedRun {
    FileKind kind;
    size_t suffix;
    const Runs& runs;  // that the space has
  };

  void AdoptSegments(uint64_t file, NumberedLog& log) const;
  // Writes `moved` as the newest run of a space; nullopt when there are none. OUT_OF_RANGE when the
  // space has too many runs.
  static absl::StatusOr<std::optional<RunInfo>> WriteMoved(const SwitchPlace& place,
                                                           const MovedRun& run,
                                                           const std::vector<IndexEntry>& moved);
  // The entries of items that runs name at their former places. An item that was put or deleted
  // since the copy was made is not among them: its newer entry may be in a run, which these must
  // not outrank.
  [[nodiscard]] absl::StatusOr<std::vector<IndexEntry>> MovedItems(const RunFiles& where,
                                                                   uint64_t file,
                                                                   const SessionItems& items) const;
  // The new place of a slot record or of bytes of an item; nullopt of what was not copied.
  [[nodiscard]] std::optional<Extent> PlaceOf(const Extent& from, uint64_t file) const;
  // The entries of slot versions that runs name at their former places.
  [[nodiscard]] absl::StatusOr<std::vector<IndexEntry>> MovedEntries(
      const RunFiles& where, uint64_t file, const SessionState& state) const;

  std::set<uint64_t> sources_;
  uint64_t bytes_ = 0;
  std::vector<SegmentInfo> joined_;  // one for each log of items
  std::map<Origin, size_t> joined_by_source_;
  std::map<Origin, Extent> copies_;  // of slot records and bytes of items
  std::vector<MovedSlot> moved_;     // in the order of their keys
  std::optional<RunInfo> run_;       // of the moved ones
  std::vector<MovedItem> moved_items_;
  std::optional<RunInfo> items_run_;
  std::set<uint64_t> item_runs_;  // that were there when the copy was made
};

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_COMPACTION_H_

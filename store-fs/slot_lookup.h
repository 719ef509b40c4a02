// Reads of slot versions: newer entries and runs, as a view has them. Errors of all are those of
// SortedRun.
#ifndef HOLDFAST_STORE_FS_SLOT_LOOKUP_H_
#define HOLDFAST_STORE_FS_SLOT_LOOKUP_H_

#include "session/model.h"
#include "store-fs/index_view.h"
#include "store-fs/pins.h"
#include "store-fs/slot_version.h"
#include "store-fs/sorted_run.h"

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <optional>
#include <string>
#include <vector>

namespace holdfast::fs {

// The entry of `owner` with the greatest key that is not greater than `key`, which is one of its
// own; nullopt when there is none. Reads no run when the newer entries have one.
absl::StatusOr<std::optional<SlotEntry>> FindSlot(const RunFiles& where, const IndexView& view,
                                                  const std::string& key);

// Calls `visit` with each entry in the order of owner and position, and with the position at which
// it ends, if it has.
using VisitSlot = absl::FunctionRef<void(const SlotEntry& entry, std::optional<Position> until)>;
absl::Status VisitSlots(const RunFiles& where, const IndexView& view, VisitSlot visit);

// The versions that count at a position, by owner.
absl::StatusOr<std::vector<SlotVersion>> SlotsAt(const RunFiles& where, const IndexView& view,
                                                 Position at);

// What a merge keeps of slot versions.
struct KeptSlots {
  Position oldest;
  const Pins& pins;
  bool is_whole = false;  // the merge has all runs of the space

  // Whether it keeps `entry`, which `next` follows: a position from `oldest` on or a pinned
  // snapshot shows it, or it hides one of another run.
  [[nodiscard]] bool Contain(const IndexEntry& entry, const IndexEntry* next) const;
};

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_SLOT_LOOKUP_H_

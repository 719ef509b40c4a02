// Counts the slots of a session while the changes of a batch are decided: at most, as long as that
// is below their bound, and exactly from then on.
#ifndef HOLDFAST_STORE_FS_SLOT_COUNTER_H_
#define HOLDFAST_STORE_FS_SLOT_COUNTER_H_

#include "session/apply.h"
#include "session/bounds.h"
#include "session/head.h"
#include "session/refusal.h"
#include "store-fs/session_state.h"
#include "store-fs/sorted_run.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace holdfast::fs {

// Used by the session's leader.
class SlotCounter {
 public:
  // `state` is what is durable, or nullptr for a session that does not exist. All must outlive it.
  SlotCounter(const RunFiles& where, const SessionState* state);

  // TOO_LARGE when `applied`, which is made on `before`, leaves too many slots. `taken` are the
  // changes of the batch before it. An error when a run cannot be read now.
  absl::StatusOr<std::optional<Refusal>> Check(const Head& before, const Applied& applied,
                                               const std::vector<Applied>& taken);
  // `applied` is part of the batch. It was checked.
  void Take(const Head& before, const Applied& applied);

 private:
  absl::Status BeginCounting(const std::vector<Applied>& taken);
  // Names the owners of which `applied` may add or delete a slot.
  absl::Status NameOwners(const Applied& applied);
  absl::Status NameOwner(const std::string& owner);

  const RunFiles where_;
  const SessionState* state_;
  size_t at_most_ = 0;                // slots, with those of the batch
  std::optional<SlotOwners> owners_;  // the same, counted: once there may be too many
  std::set<std::string> named_;       // owners that were looked up
  std::set<std::string> pending_;     // owners whose updates wait for the commit of their turn
};

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_SLOT_COUNTER_H_

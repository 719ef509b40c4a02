// The items of a session while the changes of a batch are decided: what is durable, and what the
// changes before have made of it.
#ifndef HOLDFAST_STORE_FS_BATCH_ITEMS_H_
#define HOLDFAST_STORE_FS_BATCH_ITEMS_H_

#include "session/apply.h"
#include "session/item_writes.h"
#include "session/refusal.h"
#include "store-fs/index_entry.h"
#include "store-fs/index_layer.h"
#include "store-fs/index_view.h"
#include "store-fs/session_state.h"
#include "store-fs/sorted_run.h"

#include "absl/status/statusor.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::fs {

// Used by the session's leader.
class BatchItems final : private ItemLookup {
 public:
  // `state` is what is durable, or nullptr for a session that does not exist. All must outlive it.
  BatchItems(const RunFiles& where, const SessionState* state, const ItemBounds& bounds);

  // Sets the item effects of `applied`, or answers the refusal of ResolveItems. Errors as of
  // SortedRun; DATA_LOSS also for an entry that is no item.
  absl::StatusOr<std::optional<Refusal>> Resolve(Applied& applied);
  // `applied` is part of the batch. It was resolved.
  void Take(const Applied& applied);

 private:
  absl::StatusOr<std::optional<StoredItem>> Find(const ItemName& name) override;
  absl::StatusOr<std::vector<StoredItem>> FindRange(const std::string& collection,
                                                    const holdfast::KeyRange& range, bool only_last,
                                                    uint64_t most) override;

  const RunFiles where_;
  const SessionState* state_;
  const ItemBounds& bounds_;
  RunLookup runs_;
  ItemTotals totals_;  // with those of the batch
  IndexLayer taken_;   // entries of the batch
};

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_BATCH_ITEMS_H_

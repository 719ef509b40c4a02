#include "server/rpc/staged_budget.h"

#include "server/rpc/admission.h"

namespace holdfast {

absl::StatusOr<StagedBudget::Share> StagedBudget::Take(uint64_t bytes) {
  const absl::MutexLock lock(&mutex_);
  if (bytes > left_) return Overloaded("limits.staged_bytes");
  left_ -= bytes;
  return Share(this, bytes);
}

}  // namespace holdfast

#include "server/rpc/write/staged_budget.h"

#include "platform/status_macros.h"
#include "server/rpc/call/admission.h"
#include "session/limits.h"

#include <algorithm>

namespace holdfast {

absl::Status StagedBudget::Share::Cover(uint64_t bytes) {
  if (budget_ == nullptr || bytes <= reserved_ || bytes > announced_) return absl::OkStatus();
  const uint64_t steps = (bytes + kStagedStepBytes - 1) / kStagedStepBytes;
  const uint64_t wanted = std::min(announced_, steps * kStagedStepBytes);
  RETURN_IF_ERROR(budget_->Take(wanted - reserved_));
  reserved_ = wanted;
  return absl::OkStatus();
}

uint64_t StagedBudget::Reserved() {
  const absl::MutexLock lock(&mutex_);
  return reserved_;
}

absl::Status StagedBudget::Take(uint64_t bytes) {
  const absl::MutexLock lock(&mutex_);
  if (bytes > most_ - reserved_) return Overloaded("limits.staged_bytes");
  reserved_ += bytes;
  return absl::OkStatus();
}

void StagedBudget::GiveBack(uint64_t bytes) {
  const absl::MutexLock lock(&mutex_);
  reserved_ -= bytes;
}

}  // namespace holdfast

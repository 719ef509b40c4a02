// How many bytes of unfinished uploads this server takes at once (DESIGN section 3).
#ifndef HOLDFAST_SERVER_RPC_STAGED_BUDGET_H_
#define HOLDFAST_SERVER_RPC_STAGED_BUDGET_H_

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

#include <cstdint>
#include <utility>

namespace holdfast {

// Any thread may call. Must outlive its shares.
class StagedBudget {
 public:
  explicit StagedBudget(uint64_t most) : left_(most) {}

  // What one upload may stage, until it is destroyed.
  class Share {
   public:
    Share() = default;
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;
    Share(StagedBudget* budget, uint64_t bytes) : budget_(budget), bytes_(bytes) {}
    Share(Share&& other) noexcept
        : budget_(std::exchange(other.budget_, nullptr)), bytes_(other.bytes_) {}
    Share& operator=(Share&& other) noexcept {
      std::swap(budget_, other.budget_);
      std::swap(bytes_, other.bytes_);
      return *this;
    }
    ~Share() {
      if (budget_ != nullptr) budget_->GiveBack(bytes_);
    }

   private:
    StagedBudget* budget_ = nullptr;
    uint64_t bytes_ = 0;
  };

  // OVERLOADED while others hold too much of it.
  absl::StatusOr<Share> Take(uint64_t bytes);

 private:
  void GiveBack(uint64_t bytes) {
    const absl::MutexLock lock(&mutex_);
    left_ += bytes;
  }

  absl::Mutex mutex_;
  uint64_t left_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_STAGED_BUDGET_H_

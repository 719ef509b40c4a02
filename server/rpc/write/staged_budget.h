// How many bytes of unfinished uploads this server takes at once.
#ifndef HOLDFAST_SERVER_RPC_WRITE_STAGED_BUDGET_H_
#define HOLDFAST_SERVER_RPC_WRITE_STAGED_BUDGET_H_

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"

#include <cstdint>
#include <utility>

namespace holdfast {

// Any thread may call. Must outlive its shares.
class StagedBudget {
 public:
  explicit StagedBudget(uint64_t most) : most_(most) {}

  // What one upload has reserved, until it is destroyed. It takes nothing for bytes that are only
  // announced: a client that never sends them would keep others out. Used by one thread at a time.
  class Share {
   public:
    Share() = default;
    // Of an upload that has announced `announced` bytes.
    Share(StagedBudget& budget, uint64_t announced) : budget_(&budget), announced_(announced) {}
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;
    Share(Share&& other) noexcept
        : budget_(std::exchange(other.budget_, nullptr)),
          announced_(other.announced_),
          reserved_(other.reserved_) {}
    Share& operator=(Share&& other) noexcept {
      std::swap(budget_, other.budget_);
      std::swap(announced_, other.announced_);
      std::swap(reserved_, other.reserved_);
      return *this;
    }
    ~Share() {
      if (budget_ != nullptr) budget_->GiveBack(reserved_);
    }

    // Called before an upload grows to `bytes`: reserves what is missing, in steps of
    // kStagedStepBytes. OVERLOADED while others hold too much. Nothing for more than was announced,
    // which the upload refuses itself.
    absl::Status Cover(uint64_t bytes);

   private:
    StagedBudget* budget_ = nullptr;
    uint64_t announced_ = 0;
    uint64_t reserved_ = 0;
  };

  // What uploads have reserved together.
  uint64_t Reserved();

 private:
  absl::Status Take(uint64_t bytes);
  void GiveBack(uint64_t bytes);

  const uint64_t most_;
  absl::Mutex mutex_;
  uint64_t reserved_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_WRITE_STAGED_BUDGET_H_

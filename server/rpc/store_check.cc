#include "server/rpc/store_check.h"

#include "server/rpc/admission.h"
#include "session/limits.h"
#include "session/off_core.h"

#include <utility>

namespace holdfast {
namespace {

constexpr absl::Duration kFirstCheckWait = absl::Seconds(1);

}  // namespace

absl::StatusOr<StoreCheck> SharedStoreCheck::Get() {
  {
    const absl::MutexLock lock(&mutex_);
    if (under_way_ && !last_) AwaitFirst();
    const bool fresh = last_ && clock_.SinceBoot() - last_->at < kStoreCheckShared;
    if (fresh || (under_way_ && last_)) return last_->check;
    if (under_way_) return Overloaded("CheckStore");
    under_way_ = true;
  }
  absl::StatusOr<StoreCheck> check = store_.Check();
  const absl::MutexLock lock(&mutex_);
  under_way_ = false;
  last_ = {.check = std::move(check), .at = clock_.SinceBoot()};
  return last_->check;
}

void SharedStoreCheck::AwaitFirst() {
  const OffCore waiting;
  const auto ended = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !under_way_; };
  mutex_.AwaitWithTimeout(absl::Condition(&ended), kFirstCheckWait);
}

}  // namespace holdfast

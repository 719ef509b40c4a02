#include "server/rpc/store_check.h"

#include "platform/scoped_blocking_call.h"
#include "server/rpc/call/admission.h"
#include "session/limits.h"
#include "session/refusal.h"

#include "absl/cleanup/cleanup.h"

#include <string>
#include <utility>

namespace holdfast {
namespace {

constexpr absl::Duration kCheckWait = absl::Seconds(1);

}  // namespace

absl::StatusOr<StoreCheck> SharedStoreCheck::Get() {
  {
    const absl::MutexLock lock(&mutex_);
    if (YoungerThan(kStoreCheckShared)) return last_->check;
    if (under_way_) {
      if (auto answer = Meanwhile()) return *std::move(answer);
    }
    under_way_ = true;
    begun_ = clock_.SinceBoot();
  }
  // Also when the store throws: it is checked again then.
  const absl::Cleanup ended = [this] {
    const absl::MutexLock lock(&mutex_);
    under_way_ = false;
  };
  absl::StatusOr<StoreCheck> check = store_.Check();
  const absl::MutexLock lock(&mutex_);
  last_ = {.check = std::move(check), .at = clock_.SinceBoot()};
  return last_->check;
}

std::optional<absl::StatusOr<StoreCheck>> SharedStoreCheck::Meanwhile() {
  if (!YoungerThan(kStoreCheckTrusted)) AwaitEnd();
  if (YoungerThan(kStoreCheckTrusted)) return last_->check;
  if (!under_way_) return std::nullopt;
  const absl::Duration taken = clock_.SinceBoot() - begun_;
  if (!last_ && taken < kStoreCheckTrusted) return Overloaded("CheckStore");
  return StoreUnavailable("a check of the store has not ended for " +
                              std::to_string(absl::ToInt64Seconds(taken)) + " s",
                          Fate::kNoEffect);
}

void SharedStoreCheck::AwaitEnd() {
  const ScopedBlockingCall blocking;
  const auto ended = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !under_way_; };
  mutex_.AwaitWithTimeout(absl::Condition(&ended), begun_ + kCheckWait - clock_.SinceBoot());
}

bool SharedStoreCheck::YoungerThan(absl::Duration most) const {
  return last_ && clock_.SinceBoot() - last_->at < most;
}

}  // namespace holdfast

#include "store-postgres/pg/failure.h"

#include "absl/time/time.h"

namespace holdfast::pg {
namespace {

constexpr absl::Duration kFullRetry = absl::Seconds(5);

}  // namespace

bool LostToAnother(const Failure& failure) {
  return failure.effect == Effect::kNone &&
         (failure.sqlstate == kDeadlock || failure.sqlstate == kSerialization);
}

Refusal RefusalFor(const Failure& failure) {
  if (failure.effect == Effect::kUnknown) {
    return StoreUnavailable("the connection to the database broke during the call", Fate::kUnknown);
  }
  if (failure.sqlstate == kDiskFull) {
    return Refusal(Reason::kStorageFull, "the database has no space left").RetryAfter(kFullRetry);
  }
  if (failure.sqlstate == kQueryCanceled || failure.sqlstate == kLockNotAvailable) {
    return StoreUnavailable("the database did not carry the call out in time", Fate::kNoEffect);
  }
  return StoreUnavailable("the database did not carry the call out", Fate::kNoEffect);
}

}  // namespace holdfast::pg

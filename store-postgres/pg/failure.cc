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
    return StoreUnavailable(
        "the database did not finish this call in time (a lock or a slow statement); nothing was "
        "changed",
        Fate::kNoEffect);
  }
  return StoreUnavailable(
      "the database refused this call; nothing was changed, and the server's standard error says "
      "why",
      Fate::kNoEffect);
}

}  // namespace holdfast::pg

#include "store-postgres/pg/failure.h"

namespace holdfast::pg {

bool LostToAnother(const Failure& failure) {
  return failure.effect == Effect::kNone &&
         (failure.sqlstate == kDeadlock || failure.sqlstate == kSerialization);
}

Refusal RefusalFor(const Failure& failure) {
  if (failure.effect == Effect::kUnknown) {
    return StoreUnavailable("the connection to the database broke during the call", Fate::kUnknown);
  }
  if (failure.sqlstate == kDiskFull) {
    return StorageFull("the database has no space left");
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

// Decided changes as the parameters of holdfast.change and holdfast.change_many (schema/).
#ifndef HOLDFAST_STORE_POSTGRES_CHANGE_PARAMS_H_
#define HOLDFAST_STORE_POSTGRES_CHANGE_PARAMS_H_

#include "store-postgres/change_rows.h"
#include "store-postgres/pg/params.h"

#include "absl/time/time.h"

#include <cstdint>
#include <vector>

namespace holdfast::pg {

// The server that writes, and when, by the clock that says how long replies are kept.
struct WriterFacts {
  int64_t writer = 0;
  absl::Time now;
};

// What a change does when somebody else has its row locked.
enum class WhenLocked : uint8_t { kWait, kSkip };

// Of one change alone.
Params ParamsOf(const DecidedChange& decided, WhenLocked when_locked, const WriterFacts& facts);

// Of several, each of another session that there is: none creates or deletes one, or takes over an
// upload.
Params ParamsOfMany(const std::vector<const DecidedChange*>& changes, const WriterFacts& facts);

}  // namespace holdfast::pg

#endif  // HOLDFAST_STORE_POSTGRES_CHANGE_PARAMS_H_

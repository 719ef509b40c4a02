// Decided changes as the parameters of holdfast.change and holdfast.change_alone (schema/).
#ifndef HOLDFAST_STORE_POSTGRES_CHANGE_PARAMS_H_
#define HOLDFAST_STORE_POSTGRES_CHANGE_PARAMS_H_

#include "store-postgres/change_rows.h"
#include "store-postgres/pg/params.h"

#include "absl/time/time.h"

#include <cstdint>
#include <vector>

namespace holdfast::pg {

// The server that writes, and when, by the clock that says how long something is kept.
struct WriterFacts {
  int64_t writer = 0;
  absl::Time now;
};

// Of several, each of another session that there is: none creates or deletes one, or takes over an
// upload. All but the one that says whether a locked row is waited for.
Params ParamsOf(const std::vector<const DecidedChange*>& changes, const WriterFacts& facts);

// Of one that creates a session, deletes it or takes over an upload.
Params ParamsOfAlone(const DecidedChange& change, const WriterFacts& facts);

}  // namespace holdfast::pg

#endif  // HOLDFAST_STORE_POSTGRES_CHANGE_PARAMS_H_

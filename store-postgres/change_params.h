// A decided change as the parameters of holdfast.change (schema/0002_functions.sql).
#ifndef HOLDFAST_STORE_POSTGRES_CHANGE_PARAMS_H_
#define HOLDFAST_STORE_POSTGRES_CHANGE_PARAMS_H_

#include "session/apply.h"
#include "session/change.h"
#include "session/ids.h"
#include "store-postgres/pg/params.h"

#include "absl/time/time.h"

#include <cstdint>

namespace holdfast::pg {

// Beside what the change made: what it was decided on.
struct DecidedOn {
  int64_t version = 0;              // of the head; 0: there was no such session
  bool needs_free = false;          // it would have been refused under another's live lease
  JournalNumber turn_began_behind;  // of the active turn
};

Params ParamsOf(const Change& change, const Applied& applied, const DecidedOn& on, int64_t writer,
                absl::Time kept_since);

}  // namespace holdfast::pg

#endif  // HOLDFAST_STORE_POSTGRES_CHANGE_PARAMS_H_

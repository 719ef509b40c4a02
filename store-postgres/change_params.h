// Decided changes as the parameters of holdfast.change (schema/0003_changes.sql), each by its name.
#ifndef HOLDFAST_STORE_POSTGRES_CHANGE_PARAMS_H_
#define HOLDFAST_STORE_POSTGRES_CHANGE_PARAMS_H_

#include "session/item_writes.h"
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
  ItemBounds item_bounds;
};

// Of several changes, each of another session that there is: none creates or deletes one, takes
// over an upload, or writes items. The call waits for no lock.
Params ParamsOfMany(const std::vector<const DecidedChange*>& changes, const WriterFacts& facts);

// Of one such change. `waits`: for some seconds, where its row is locked.
Params ParamsOfOne(const DecidedChange& change, const WriterFacts& facts, bool waits);

// Of one that creates a session, deletes it or takes over an upload. It waits where a row is
// locked.
Params ParamsOfAlone(const DecidedChange& change, const WriterFacts& facts);

// The same of one that writes items, and may do one of these as well.
Params ParamsOfItems(const DecidedChange& change, const WriterFacts& facts);

}  // namespace holdfast::pg

#endif  // HOLDFAST_STORE_POSTGRES_CHANGE_PARAMS_H_

// Entries of one turn that a decision compares with.
#ifndef HOLDFAST_STORE_POSTGRES_ENTRY_RANGE_H_
#define HOLDFAST_STORE_POSTGRES_ENTRY_RANGE_H_

#include "session/head.h"
#include "session/ids.h"
#include "session/model.h"
#include "store-postgres/database.h"

#include "absl/status/statusor.h"

#include <vector>

namespace holdfast::pg {

struct EntryRange {
  TurnNumber turn;
  EntryNumber first;
  EntryNumber last;
};

// Those of the range that are kept and can be read. Errors: those of the database.
absl::StatusOr<std::vector<JournalEntry>> ReadEntryRange(const Database& database,
                                                         const SessionKey& key, const Head& head,
                                                         const EntryRange& range);

}  // namespace holdfast::pg

#endif  // HOLDFAST_STORE_POSTGRES_ENTRY_RANGE_H_

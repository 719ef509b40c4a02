#include "store-postgres/entry_range.h"

#include "platform/status_macros.h"
#include "store-postgres/change_rows.h"
#include "store-postgres/journal_part.h"
#include "store-postgres/pg/params.h"
#include "store-postgres/pg/rows.h"
#include "store-postgres/stored_head.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace holdfast::pg {
namespace {

constexpr Statement kEntriesOf = {
    "entries_of",
    "SELECT rec, slot_rec, slot_data FROM holdfast.journal WHERE tenant = $1 AND session_id = $2"
    " AND number > $3 AND number <= $4 AND turn = $5 AND entry >= $6 AND entry <= $7"
    " ORDER BY number LIMIT $8"};

}  // namespace

absl::StatusOr<std::vector<JournalEntry>> ReadEntryRange(const Database& database,
                                                         const SessionKey& key, const Head& head,
                                                         const EntryRange& range) {
  const JournalPart part = PartOf(head, range.turn);
  const uint64_t behind =
      std::max(part.behind.value(), part.began.value() + range.first.value() - 1);
  Params params;
  params.Text(key.tenant.value()).Text(key.session.value());
  params.Int(Signed(behind)).Int(Signed(std::min(part.last, head.journal)));
  params.Int(Signed(range.turn)).Int(Signed(range.first)).Int(Signed(range.last));
  params.Int(Signed(range.last.value() - range.first.value() + 1));
  ASSIGN_OR_RETURN(const Rows rows, database.Ask(kEntriesOf, params));
  std::vector<JournalEntry> entries;
  for (size_t row = 0; row < rows.size(); ++row) {
    std::optional<JournalEntry> stored = ReadEntry(rows, row, 0);
    if (stored) entries.push_back(*std::move(stored));
  }
  return entries;
}

}  // namespace holdfast::pg

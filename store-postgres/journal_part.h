// Where in a session's journal the entries of one turn are, as far as the head says: a statement
// reads no entries of others but those between.
#ifndef HOLDFAST_STORE_POSTGRES_JOURNAL_PART_H_
#define HOLDFAST_STORE_POSTGRES_JOURNAL_PART_H_

#include "session/head.h"
#include "session/ids.h"

#include <cstdint>
#include <limits>
#include <optional>

namespace holdfast::pg {

struct JournalPart {
  // As the turn began; its entry N has the number `began` + N or a later one.
  JournalNumber began;
  JournalNumber behind;  // the same, but nothing that is no longer kept
  JournalNumber last{std::numeric_limits<uint64_t>::max()};
};

// Without a turn: of all. Between turns entries are anywhere.
JournalPart PartOf(const Head& head, std::optional<TurnNumber> turn);

}  // namespace holdfast::pg

#endif  // HOLDFAST_STORE_POSTGRES_JOURNAL_PART_H_

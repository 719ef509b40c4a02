#include "store-postgres/journal_part.h"

#include <algorithm>

namespace holdfast::pg {

JournalPart PartOf(const Head& head, std::optional<TurnNumber> turn) {
  JournalPart part{.began = JournalNumber(), .behind = JournalFloor(head)};
  if (!turn || *turn == TurnNumber()) return part;
  // Of the turns that have ended the head remembers the last ones: one that it has forgotten lies
  // before them.
  for (const EndedTurn& ended : head.ended) {
    if (ended.turn < *turn) {
      part.began = std::max(part.began, ended.last_journal);
    } else {
      part.last = std::min(part.last, ended.last_journal);
    }
  }
  if (head.turn && *turn < head.turn->number) {
    part.last = std::min(part.last, head.turn->journal_before);
  } else if (head.turn && *turn == head.turn->number) {
    part.began = head.turn->journal_before;
  }
  part.behind = std::max(part.behind, part.began);
  return part;
}

}  // namespace holdfast::pg

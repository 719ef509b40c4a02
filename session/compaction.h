// Compactions: snapshots whose history was made shorter, so that a model's context has room again.
#ifndef HOLDFAST_SESSION_COMPACTION_H_
#define HOLDFAST_SESSION_COMPACTION_H_

#include "session/change.h"
#include "session/commands.h"
#include "session/head.h"

#include "absl/status/status.h"

namespace holdfast {

// INVALID_FIELD and TOO_LARGE for what no compaction can be.
absl::Status ValidateCompaction(const Compaction& compaction);

// `change`, which writes a snapshot and an audit record, is one of a compaction: it pins the
// snapshot before, and its audit record is of class Compaction, with the facts that it has already.
void AddCompaction(const Head& head, const Compaction& compaction, Change& change);

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_COMPACTION_H_

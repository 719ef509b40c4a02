// What of a session can still be read, and where: the same over every store.
#ifndef HOLDFAST_SESSION_KEPT_H_
#define HOLDFAST_SESSION_KEPT_H_

#include "session/head.h"
#include "session/ids.h"
#include "session/model.h"

#include "absl/status/status.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace holdfast {

// OK for a revision that can be read, and for none, which is the current one. REVISION_AHEAD for
// one above the stored one; REVISION_PRUNED(oldest) for one before the oldest snapshot.
absl::Status CheckKept(const Head& head, std::optional<Revision> revision);

// The last snapshot at or before `revision`, which is kept; it lives as long as `head`.
const SnapshotRecord& SnapshotAt(const Head& head, Revision revision);

// The current position of the session.
Position PositionOf(const Head& head);

// DAMAGED: an item of the session cannot be read.
absl::Status Damaged(std::string_view what, uint64_t number);

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_KEPT_H_

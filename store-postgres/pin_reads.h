// What checkpoints pin of a session.
#ifndef HOLDFAST_STORE_POSTGRES_PIN_READS_H_
#define HOLDFAST_STORE_POSTGRES_PIN_READS_H_

#include "session/checkpoint.h"
#include "session/head.h"
#include "session/ids.h"
#include "store-postgres/database.h"

#include "absl/status/statusor.h"

#include <optional>
#include <vector>

namespace holdfast::pg {

// All snapshots that are pinned, in any order, and one as often as checkpoints pin it. DAMAGED, and
// errors of the database.
absl::StatusOr<std::vector<PinnedSnapshot>> ReadPins(const Database& database,
                                                     const SessionKey& key);

// `head` with the snapshot of this revision; nothing where it is one of the newest, or not pinned.
// Asks the database only where a snapshot may be pinned. Errors as above.
absl::StatusOr<std::optional<Head>> ReadHeadWithPin(const Database& database, const SessionKey& key,
                                                    const Head& head,
                                                    std::optional<Revision> revision);

}  // namespace holdfast::pg

#endif  // HOLDFAST_STORE_POSTGRES_PIN_READS_H_

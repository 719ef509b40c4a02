// Reads of a session's checkpoints. Errors of all are those of SessionStore::ReadItems and
// ReadSlots, and DAMAGED for what is not as it was written.
#ifndef HOLDFAST_SESSION_CHECKPOINT_READS_H_
#define HOLDFAST_SESSION_CHECKPOINT_READS_H_

#include "session/checkpoint.h"
#include "session/ids.h"
#include "session/item.h"
#include "session/model.h"
#include "session/snapshot_description.h"
#include "session/store.h"

#include "absl/status/statusor.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace holdfast {

// Those of one revision, at most one of each kind.
absl::StatusOr<std::vector<Checkpoint>> ReadCheckpointsAt(SessionStore& store,
                                                          const SessionKey& key, Revision revision);
// The revision of the checkpoint that has this name.
absl::StatusOr<std::optional<Revision>> ReadCheckpointNamed(SessionStore& store,
                                                            const SessionKey& key,
                                                            const std::string& name);
// What a kept snapshot says of itself.
absl::StatusOr<SnapshotDescription> ReadSnapshotDescription(SessionStore& store,
                                                            const SessionKey& key,
                                                            Revision revision);
// `head` with what is pinned at `revision`, if the snapshot there is older than the newest ones and
// pinned.
absl::StatusOr<Head> ReadPinnedHead(SessionStore& store, const SessionKey& key, const Head& head,
                                    Revision revision);

// A place in the order of a listing: the newest revision first, then by kind.
struct CheckpointPlace {
  Revision revision;
  uint8_t kind = 0;

  // Whether a listing comes to this one later.
  [[nodiscard]] bool IsBehind(const CheckpointPlace& other) const {
    return revision == other.revision ? kind > other.kind : revision < other.revision;
  }
};

struct CheckpointQuery {
  std::vector<CheckpointKind> kinds;  // empty: all
  bool only_valid = false;
  ItemLabels labels;            // that a checkpoint must have
  bool include_window = false;  // the newest snapshots too, that are no checkpoint
  std::optional<CheckpointPlace> after;
  uint32_t limit = 0;
};

// One of the newest snapshots that is no checkpoint has no kind.
struct ListedCheckpoint {
  Checkpoint checkpoint;
  bool is_pinned = true;

  [[nodiscard]] CheckpointPlace place() const {
    return {.revision = checkpoint.revision(),
            .kind = is_pinned ? static_cast<uint8_t>(checkpoint.kind) : uint8_t{0}};
  }
};

struct CheckpointPage {
  SessionUid uid;
  std::vector<ListedCheckpoint> checkpoints;  // by revision, the newest first; then by kind
  bool end = false;
};

// A page of the checkpoints of a session, which also ends at kPageBytes.
absl::StatusOr<CheckpointPage> ReadCheckpoints(SessionStore& store, const SessionKey& key,
                                               const CheckpointQuery& query);

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_CHECKPOINT_READS_H_

// Rotation: the journal is sealed as it is, and a new one begins (docs/formats.md). No item is
// copied, so its cost follows what was changed since the one before.
#ifndef HOLDFAST_STORE_FS_ROTATION_H_
#define HOLDFAST_STORE_FS_ROTATION_H_

#include "platform/clock.h"
#include "store-fs/bounds.h"
#include "store-fs/recovery.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace holdfast::fs {

// Where a rotation takes place.
struct RotationPlace {
  Files& files;
  const SessionKey& key;
  Random& random;
  const Bounds& bounds;
  absl::Duration events_kept;  // beside the newest kEventsKeptLeast
};

// Whether a rotation or a compaction ended with nothing switched, so that the old files go on: by a
// lack (IsLack), an item that cannot be read (DATA_LOSS), a head that has no room in its file or an
// exception (both OUT_OF_RANGE).
bool WasPutOff(const absl::Status& status);

// Steps 1 and 2: seals the journal and switches manifest.json. Afterwards ReplaceJournal and
// RemoveUnnamed follow (steps 3 and 4). After an error that is not WasPutOff nothing is known.
absl::StatusOr<StoredSession> SwitchFiles(const RotationPlace& place, const StoredSession& old,
                                          absl::Time now);

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_ROTATION_H_

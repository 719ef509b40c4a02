// Rotation: what the journal holds moves into immutable files, and a new journal begins (STORES
// section 2). Its cost follows what the journal holds, not the history: segments are merged only
// while they are small.
#ifndef HOLDFAST_STORE_FS_ROTATION_H_
#define HOLDFAST_STORE_FS_ROTATION_H_

#include "session/clock.h"
#include "store-fs/recovery.h"

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace holdfast::fs {

// Steps 1 and 2: writes the files of the next rotation and switches manifest.json to them.
// Afterwards ReplaceJournal and RemoveUnnamed follow (steps 3 and 4). RESOURCE_EXHAUSTED means that
// nothing was switched and the old files go on; any other error means that nothing is known.
absl::StatusOr<Opened> SwitchFiles(Files& files, const SessionKey& key, const Opened& old,
                                   absl::Time now, Random& random);

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_ROTATION_H_

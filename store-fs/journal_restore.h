// Writes to the journals what they lack and the write-ahead log has, at the start of a store.
#ifndef HOLDFAST_STORE_FS_JOURNAL_RESTORE_H_
#define HOLDFAST_STORE_FS_JOURNAL_RESTORE_H_

#include "session/ids.h"
#include "store-fs/files.h"
#include "store-fs/write_ahead_record.h"

#include "absl/status/status.h"

#include <vector>

namespace holdfast::fs {

// Writes each frame to the journal that it is of, and syncs the journals. Frames of journals that
// are there no longer (sealed, removed, or of a former creation) are left out, and so are those of
// a session whose manifest or journal cannot be read, which is found when it is opened. OK when
// every other journal is durable with all its frames.
absl::Status RestoreJournals(Files& files, const StoreId& store,
                             const std::vector<StoredFrame>& frames);

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_JOURNAL_RESTORE_H_

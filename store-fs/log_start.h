// What a start does with the write-ahead log.
#ifndef HOLDFAST_STORE_FS_LOG_START_H_
#define HOLDFAST_STORE_FS_LOG_START_H_

#include "platform/clock.h"
#include "store-fs/fail_stop.h"
#include "store-fs/fs_store.h"
#include "store-fs/root.h"
#include "store-fs/write_ahead_log.h"

#include "absl/status/statusor.h"

#include <memory>

namespace holdfast::fs {

// Writes to the journals what they lack, if the last run did not end in order, and begins the log
// anew. STORE_UNAVAILABLE, with what to do, when the log is not what was written: what was
// acknowledged last may be missing. An adoption goes on without it, and says so by `options.note`.
// The same when a journal lacks something and there is no space for it.
absl::StatusOr<std::unique_ptr<WriteAheadLog>> StartLog(const FsOptions& options, const Root& root,
                                                        FailStop& fail_stop, Random& random);

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_LOG_START_H_

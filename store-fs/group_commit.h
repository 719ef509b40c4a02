// Changes of several sessions that are committed with one sync.
#ifndef HOLDFAST_STORE_FS_GROUP_COMMIT_H_
#define HOLDFAST_STORE_FS_GROUP_COMMIT_H_

#include "session/store.h"
#include "store-fs/session_table.h"
#include "store-fs/write_ahead_log.h"

#include <vector>

namespace holdfast::fs {

// As SessionStore::CommitMany. A change is left alone when its session is not open or is led by
// another call, when it is refused or repeated, when there is no room for it, and when its frame is
// too long for the log.
std::vector<GroupedResult> CommitGroup(const std::vector<GroupedChange>& changes,
                                       SessionTable& sessions, WriteAheadLog& log);

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_GROUP_COMMIT_H_

// Changes of several sessions that are committed with one sync.
#ifndef HOLDFAST_STORE_FS_GROUP_COMMIT_H_
#define HOLDFAST_STORE_FS_GROUP_COMMIT_H_

#include "session/store.h"
#include "store-fs/session_table.h"
#include "store-fs/write_ahead_log.h"

#include <vector>

namespace holdfast::fs {

// See SessionStore::CommitMany. Alone goes whatever is not simply applied: a change of a session
// that is not open or that another call changes, one that is refused or repeated, one without room,
// and one that is too long for the log.
std::vector<GroupedResult> CommitGroup(const std::vector<GroupedChange>& changes,
                                       SessionTable& sessions, WriteAheadLog& log);

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_GROUP_COMMIT_H_

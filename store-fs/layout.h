// The names inside a session's directory.
#ifndef HOLDFAST_STORE_FS_LAYOUT_H_
#define HOLDFAST_STORE_FS_LAYOUT_H_

#include "session/ids.h"
#include "store-fs/file_kind.h"
#include "store-fs/session_state.h"

#include <cstdint>
#include <set>
#include <string>

namespace holdfast::fs {

inline constexpr char kJournalFile[] = "journal.log";
inline constexpr char kStateDirectory[] = "state";

// "t/<tenant>/<session>/state/head.<file>" and so on.
std::string PathOf(const SessionKey& key, FileKind kind, uint64_t file);

// "t/<tenant>/<session>/state/upload.<id>".
std::string UploadPathOf(const SessionKey& key, const UploadId& upload);

// Every file of state/ that this state and head.<file> name, relative to the directory.
std::set<std::string> NamedFiles(const SessionState& state, uint64_t file);

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_LAYOUT_H_

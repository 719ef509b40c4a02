// The file `index`: the listing's rows at the time when the store was closed in order, so that the
// next start lists without opening a session. A hint: without it, or when the run did not end in
// order, the directory scanner builds the rows anew (docs/formats.md, "index").
#ifndef HOLDFAST_STORE_FS_INDEX_H_
#define HOLDFAST_STORE_FS_INDEX_H_

#include "session/store.h"
#include "store-fs/bounds.h"
#include "store-fs/files.h"

#include "absl/status/status.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace holdfast::fs {

struct IndexRow {
  TenantId tenant;
  SessionRow row;
};

// Replaces the file durably. Leaves out rows of foreign and damaged sessions: the next start reads
// those sessions again. An index that would be longer than a reader takes (`most`) is not written.
absl::Status WriteIndex(Files& files, const std::vector<IndexRow>& rows,
                        size_t most = kIndexFileBytes);

struct StoredIndex {
  std::vector<IndexRow> rows;
  int64_t written_ns = 0;  // what was changed later is not as its row says
};

// What the file holds, and removes it, since the next commit makes it old; nullopt when there is
// none or it is not what was written. UNAVAILABLE when it cannot be removed.
absl::StatusOr<std::optional<StoredIndex>> TakeIndex(Files& files);

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_INDEX_H_

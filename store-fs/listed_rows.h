// Pages of the listing with what it does not keep: attributes and slots, which are read of each
// session that a page shows.
#ifndef HOLDFAST_STORE_FS_LISTED_ROWS_H_
#define HOLDFAST_STORE_FS_LISTED_ROWS_H_

#include "session/store.h"
#include "store-fs/environment.h"
#include "store-fs/session_table.h"

#include "absl/status/statusor.h"

namespace holdfast::fs {

// As SessionStore::List. Opens the sessions of the page, one after the other, if the query asks for
// attributes or slots. A session that turns out to be unreadable is shown as such; an error is that
// of the disk, and says nothing about a session.
absl::StatusOr<ListPage> ListRows(Environment& environment, SessionTable& sessions,
                                  const ListQuery& query);

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_LISTED_ROWS_H_

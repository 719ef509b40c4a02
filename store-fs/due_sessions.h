// Which sessions a sweep is to look at.
#ifndef HOLDFAST_STORE_FS_DUE_SESSIONS_H_
#define HOLDFAST_STORE_FS_DUE_SESSIONS_H_

#include "session/ids.h"
#include "store-fs/lease_table.h"
#include "store-fs/listing.h"
#include "store-fs/session_table.h"

#include "absl/time/time.h"

#include <cstddef>
#include <optional>
#include <vector>

namespace holdfast::fs {

// The tables that say which sessions are due. Owns none.
struct KnownSessions {
  SessionTable& sessions;
  LeaseTable& leases;
  Listing& listing;
};

struct DueQuery {
  absl::Duration since;             // for how long it has been so
  std::optional<SessionKey> after;  // sessions behind this one
  size_t limit = 0;
};

// Active sessions whose lease has ended and that have been quiet since.
std::vector<SessionKey> DueToRecover(const KnownSessions& known, const DueQuery& query);

// Sessions that are being cancelled and have had the time to end.
std::vector<SessionKey> DueToEnd(const KnownSessions& known, const DueQuery& query);

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_DUE_SESSIONS_H_

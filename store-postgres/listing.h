// Listings, and the candidates for the server's own work.
#ifndef HOLDFAST_STORE_POSTGRES_LISTING_H_
#define HOLDFAST_STORE_POSTGRES_LISTING_H_

#include "session/ids.h"
#include "session/store.h"
#include "store-postgres/database.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include <cstddef>
#include <optional>
#include <vector>

namespace holdfast::pg {

// As SessionStore::List.
absl::StatusOr<ListPage> ListSessions(const Database& database, const ListQuery& query);

// As SessionStore::ListDue, without the tidying.
absl::StatusOr<std::vector<SessionKey>> ListDueSessions(const Database& database, DueKind kind,
                                                        absl::Duration quiet,
                                                        const std::optional<SessionKey>& after,
                                                        size_t limit);

}  // namespace holdfast::pg

#endif  // HOLDFAST_STORE_POSTGRES_LISTING_H_

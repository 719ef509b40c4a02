// Takes over a database that was copied or restored.
#ifndef HOLDFAST_STORE_POSTGRES_ADMIN_ADOPT_H_
#define HOLDFAST_STORE_POSTGRES_ADMIN_ADOPT_H_

#include "store-postgres/admin/connection.h"
#include "store-postgres/migrations.h"
#include "store-postgres/server_facts.h"

#include "absl/status/statusor.h"

#include <span>

namespace holdfast::pg {

// Takes over a store that was copied or restored, on this cluster and nowhere else: raises its
// incarnation, which distinguishes tokens and cursors of before. A database that was restored into
// its own cluster cannot be recognised, so the incarnation is raised in any case; no server may
// serve the store meanwhile. STORE_UNAVAILABLE for what CheckConnection refuses apart from the
// cluster; with the outcome unknown when the commit was not confirmed.
absl::StatusOr<Identity> Adopt(AdminConnection& connection,
                               std::span<const Migration> known = Migrations());

}  // namespace holdfast::pg

#endif  // HOLDFAST_STORE_POSTGRES_ADMIN_ADOPT_H_

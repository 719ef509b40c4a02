// What an operator's command reads of a database's schema and of the servers that use it.
#ifndef HOLDFAST_STORE_POSTGRES_ADMIN_SCHEMA_STATUS_H_
#define HOLDFAST_STORE_POSTGRES_ADMIN_SCHEMA_STATUS_H_

#include "store-postgres/admin/connection.h"
#include "store-postgres/migrations.h"
#include "store-postgres/servers.h"

#include "absl/status/statusor.h"

#include <vector>

namespace holdfast::pg {

// The steps that were taken, in order; none in an empty database. STORE_UNAVAILABLE when that
// cannot be read.
absl::StatusOr<std::vector<AppliedMigration>> ReadApplied(AdminConnection& connection);
// The same inside AdminConnection::Do.
std::vector<AppliedMigration> AppliedIn(pqxx::transaction_base& transaction);

// The servers that run now, in the order in which they started; those that know no kServersStep are
// not among them. STORE_UNAVAILABLE when that cannot be read.
absl::StatusOr<std::vector<ServingServer>> ReadServing(AdminConnection& connection);
// The same inside AdminConnection::Do.
std::vector<ServingServer> ServingIn(pqxx::transaction_base& transaction);

}  // namespace holdfast::pg

#endif  // HOLDFAST_STORE_POSTGRES_ADMIN_SCHEMA_STATUS_H_

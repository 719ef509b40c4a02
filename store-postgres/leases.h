// Renewals of leases: many in one statement, whose flush is not waited for.
#ifndef HOLDFAST_STORE_POSTGRES_LEASES_H_
#define HOLDFAST_STORE_POSTGRES_LEASES_H_

#include "session/store.h"
#include "store-postgres/database.h"

#include "absl/status/statusor.h"

#include <vector>

namespace holdfast::pg {

// As SessionStore::RenewLeases.
std::vector<absl::StatusOr<Renewed>> Renew(const Database& database,
                                           const std::vector<RenewRequest>& requests);

}  // namespace holdfast::pg

#endif  // HOLDFAST_STORE_POSTGRES_LEASES_H_

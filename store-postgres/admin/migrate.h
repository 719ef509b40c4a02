// Takes the missing steps of a database's schema (store-postgres/migrations.h).
#ifndef HOLDFAST_STORE_POSTGRES_ADMIN_MIGRATE_H_
#define HOLDFAST_STORE_POSTGRES_ADMIN_MIGRATE_H_

#include "store-postgres/admin/connection.h"
#include "store-postgres/migrations.h"

#include "absl/status/statusor.h"

#include <span>

namespace holdfast::pg {

// Takes every step of `known` that is missing, each in a transaction, one caller at a time in a
// database; `connection` must have no statement timeout. Answers how many were taken; of a step
// that fails nothing stays, and those before it do. STORE_UNAVAILABLE, in words for the operator,
// also for a step that a server which runs now may not serve; with the outcome unknown when a
// step's commit was not confirmed.
absl::StatusOr<int> Migrate(AdminConnection& connection,
                            std::span<const Migration> known = Migrations());

}  // namespace holdfast::pg

#endif  // HOLDFAST_STORE_POSTGRES_ADMIN_MIGRATE_H_

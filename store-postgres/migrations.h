// The schema of the database, as numbered steps that are taken once and never taken back
// (admin/migrate.h). The steps are the files of store-postgres/schema, which are built into the
// program.
//
// A step's first line may say `-- oldest server: N`: servers that know no step behind N may go on
// while this one is there. Without it only servers that know the step may.
#ifndef HOLDFAST_STORE_POSTGRES_MIGRATIONS_H_
#define HOLDFAST_STORE_POSTGRES_MIGRATIONS_H_

#include "platform/digest.h"
#include "store-postgres/pg/connection.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::pg {

// One step.
struct Migration {
  int32_t version;
  std::string_view name;
  std::string_view sql;
};

// The steps of this program, in order: 1, 2, and so on.
std::span<const Migration> Migrations();

// Servers that know at least this step may serve a database with `step`.
int32_t OldestServer(const Migration& step);

// The schema that this program needs at least: the last step it knows.
int32_t NeededSchema();

// A step that was taken in a database.
struct AppliedMigration {
  int32_t version = 0;
  std::string name;
  Digest digest{};            // SHA-256 of its text
  int32_t oldest_server = 0;  // servers that know at least this step may serve
  absl::Time at;
};

// Whether any step was taken, and the columns of AppliedMigration, the time in microseconds.
extern const Statement kMigrationsPrepared;
extern const Statement kMigrationsApplied;

// The steps that were taken, in order; none in an empty database. STORE_UNAVAILABLE when that
// cannot be read.
absl::StatusOr<std::vector<AppliedMigration>> ReadApplied(Connection& connection);

// What `applied` has that `known` has not in the same way, for the operator; empty when there is
// nothing.
std::string Difference(std::span<const AppliedMigration> applied, std::span<const Migration> known);

// OK when a program that knows `known` may serve a database with `applied`. STORE_UNAVAILABLE, in
// words for the operator, when the schema is older, newer than these servers may serve, or was
// made by other steps of the same numbers.
absl::Status CheckSchema(std::span<const AppliedMigration> applied,
                         std::span<const Migration> known = Migrations());

}  // namespace holdfast::pg

#endif  // HOLDFAST_STORE_POSTGRES_MIGRATIONS_H_

#include "store-postgres/admin/schema_status.h"

#include "platform/status_macros.h"
#include "store-postgres/admin/driver.h"

#include "absl/time/time.h"

#include <cstdint>
#include <string>

namespace holdfast::pg {
namespace {

constexpr Statement kIsThere = {"serving_there",
                                "SELECT to_regclass('holdfast.serving') IS NOT NULL"};
constexpr Statement kServing = {
    "serving",
    "SELECT writer, schema, backend, (extract(epoch FROM started_at) * 1000000)::bigint "
    "FROM holdfast.serving ORDER BY started_at, writer"};

absl::Time TimeIn(const pqxx::field& microseconds) {
  return absl::FromUnixMicros(microseconds.as<int64_t>());
}

}  // namespace

absl::StatusOr<std::vector<AppliedMigration>> ReadApplied(AdminConnection& connection) {
  std::vector<AppliedMigration> applied;
  RETURN_IF_ERROR(connection.Do("the database's schema", [&] {
    pqxx::nontransaction transaction(connection.driver());
    applied = AppliedIn(transaction);
    return absl::OkStatus();
  }));
  return applied;
}

std::vector<AppliedMigration> AppliedIn(pqxx::transaction_base& transaction) {
  std::vector<AppliedMigration> applied;
  if (!Execute(transaction, kMigrationsPrepared)[0][0].as<bool>()) return applied;
  for (const pqxx::row& row : Execute(transaction, kMigrationsApplied)) {
    applied.push_back({.version = row[0].as<int32_t>(),
                       .name = row[1].as<std::string>(),
                       .digest = DigestFrom(pqxx::binarystring(row[2]).str()),
                       .oldest_server = row[3].as<int32_t>(),
                       .at = TimeIn(row[4])});
  }
  return applied;
}

absl::StatusOr<std::vector<ServingServer>> ReadServing(AdminConnection& connection) {
  std::vector<ServingServer> servers;
  RETURN_IF_ERROR(connection.Do("the servers of the database", [&] {
    pqxx::nontransaction transaction(connection.driver());
    servers = ServingIn(transaction);
    return absl::OkStatus();
  }));
  return servers;
}

std::vector<ServingServer> ServingIn(pqxx::transaction_base& transaction) {
  std::vector<ServingServer> servers;
  if (!Execute(transaction, kIsThere)[0][0].as<bool>()) return servers;
  for (const pqxx::row& row : Execute(transaction, kServing)) {
    servers.push_back({.writer = row[0].as<int64_t>(),
                       .schema = row[1].as<int32_t>(),
                       .backend = row[2].as<int32_t>(),
                       .since = TimeIn(row[3])});
  }
  return servers;
}

}  // namespace holdfast::pg

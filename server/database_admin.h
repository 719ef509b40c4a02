// What an operator does to the databases that a configuration names, with no server running here.
#ifndef HOLDFAST_SERVER_DATABASE_ADMIN_H_
#define HOLDFAST_SERVER_DATABASE_ADMIN_H_

#include "server/config.h"
#include "session/store.h"

#include "absl/status/statusor.h"

#include <string>
#include <vector>

namespace holdfast {

// Brings the schema of every enabled store that is in a database up to date; a line for each says
// what was done. Servers of the version before go on meanwhile. FAILED_PRECONDITION, with words for
// the operator, when a step fails (those before it stay) or there is no such store.
absl::StatusOr<std::vector<std::string>> MigrateDatabases(const Config& config);

// What has been done so far.
struct SchemaStatus {
  std::vector<std::string> lines;
  bool serves = true;  // false when this server may not serve one of the stores
};
absl::StatusOr<SchemaStatus> ReadSchemas(const Config& config);

// Raises the incarnation of the store in `config`'s database, which distinguishes tokens and
// cursors of before. Returns the description of the store afterwards.
absl::StatusOr<StoreDescription> AdoptDatabase(const StoreConfig& config);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_DATABASE_ADMIN_H_

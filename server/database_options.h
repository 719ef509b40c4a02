// How a configured store that is in a database is reached. Only what makes a connection includes
// it.
#ifndef HOLDFAST_SERVER_DATABASE_OPTIONS_H_
#define HOLDFAST_SERVER_DATABASE_OPTIONS_H_

#include "server/config.h"
#include "store-postgres/pg/connection.h"

#include "absl/status/statusor.h"

namespace holdfast {

// The DSN with the password that its reference leads to. INVALID_ARGUMENT when there is none there.
absl::StatusOr<pg::ConnectOptions> DatabaseOptionsOf(const StoreConfig& config);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_DATABASE_OPTIONS_H_

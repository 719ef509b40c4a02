// The check of every new connection before it is used for sessions.
#ifndef HOLDFAST_STORE_POSTGRES_CONNECTION_CHECK_H_
#define HOLDFAST_STORE_POSTGRES_CONNECTION_CHECK_H_

#include "store-postgres/migrations.h"
#include "store-postgres/pg/connection.h"
#include "store-postgres/server_facts.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include <span>
#include <string>
#include <vector>

namespace holdfast::pg {

// What a check of a connection found.
struct ConnectionCheck {
  Identity identity;
  absl::Time now;                     // by the database's clock
  std::vector<std::string> warnings;  // for the operator: what its settings may lose
};

// Checks the server behind `connection`, notes its timeline there, and answers which store it
// holds. STORE_UNAVAILABLE, in words for the operator, when it
// - is older than PostgreSQL 15, or a standby: in recovery, so that it takes no writes
// - answers this role before its log is flushed (synchronous_commit = off)
// - has a schema that this program may not serve (CheckSchema)
// - is another cluster than the one that the store was made in or adopted by: a copy
absl::StatusOr<ConnectionCheck> CheckConnection(Connection& connection,
                                                std::span<const Migration> known = Migrations());

// OK when a later connection leads to the same store as the first: STORE_UNAVAILABLE, in words for
// the operator, for another store, and for one that was adopted since.
absl::Status CheckSame(const Identity& first, const Identity& later);

// OK, or STORE_UNAVAILABLE in words for the operator when a pooler between this program and the
// server lends its connections out by the transaction: other clients would then share the prepared
// statements and locks of a connection. Opens two connections and closes them.
absl::Status CheckForPooler(const ConnectOptions& options);

}  // namespace holdfast::pg

#endif  // HOLDFAST_STORE_POSTGRES_CONNECTION_CHECK_H_

// What a server and the store in its database say of themselves, and which of it is refused: for
// connections of traffic (connection_check.h) and of administration (admin/adopt.h).
#ifndef HOLDFAST_STORE_POSTGRES_SERVER_FACTS_H_
#define HOLDFAST_STORE_POSTGRES_SERVER_FACTS_H_

#include "session/ids.h"
#include "session/refusal.h"
#include "store-postgres/pg/connection.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::pg {

// The store that a database holds.
struct Identity {
  StoreId store;
  Incarnation incarnation;
  bool operator==(const Identity&) const = default;
};

struct ServerFacts {
  int32_t version_number = 0;
  bool is_standby = false;
  int64_t timeline = 0;
  int64_t cluster = 0;
  bool has_our_settings = false;
  std::string synchronous_commit;
  std::string standby_names;
  std::string fsync;
  std::string full_page_writes;
};

// Answers one row with the columns of ServerFacts.
extern const Statement kServerFacts;
enum ServerFactsColumn : size_t {
  kVersionNumber,
  kIsStandby,
  kTimeline,
  kCluster,
  kHasOurSettings,
  kSynchronousCommit,
  kStandbyNames,
  kFsync,
  kFullPageWrites,
};

// Answers one row: the store's id, its incarnation, the cluster it was made in, and the time.
extern const Statement kStoreFacts;

// STORE_UNAVAILABLE, in words for the operator, of the database at `peer`.
Refusal RefusedAt(const std::string& peer, std::string_view why);

// STORE_UNAVAILABLE for what no connection may use: see CheckConnection.
absl::Status CheckServer(const std::string& peer, const ServerFacts& server);

// For a database without exactly one row of kStoreFacts.
Refusal NoStore(const std::string& peer);

// STORE_UNAVAILABLE when `store` is no id.
absl::StatusOr<Identity> IdentityFrom(const std::string& peer, std::string_view store,
                                      int64_t incarnation);

}  // namespace holdfast::pg

#endif  // HOLDFAST_STORE_POSTGRES_SERVER_FACTS_H_

// The team store: sessions in a PostgreSQL database, for any number of servers.
#ifndef HOLDFAST_STORE_POSTGRES_POSTGRES_STORE_H_
#define HOLDFAST_STORE_POSTGRES_POSTGRES_STORE_H_

#include "platform/clock.h"
#include "session/item_writes.h"
#include "session/limits.h"
#include "session/retention.h"
#include "session/store.h"
#include "session/store_meter.h"
#include "store-postgres/pg/connection.h"
#include "store-postgres/pg/pool.h"

#include "absl/time/time.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace holdfast::pg {

struct PostgresOptions {
  ConnectOptions connect;                   // how the database is reached
  size_t connections = PoolOptions().size;  // at most, beside the two that other servers want
  size_t group = kGroupMost;                // changes in one statement at most; 1: one by one
  Retention retention;
  ItemBounds item_bounds;                       // of each session
  absl::Duration feed_beat = absl::Seconds(1);  // how often the feed is looked at in any case
  // Gets the cause of a failed connection or statement, in the driver's words: for the operator's
  // log alone. Called by several threads at once.
  std::function<void(const std::string& why)> report;
  // Gets figures on group writes, connections and the database; outlives the store.
  StoreMeter* meter = &StoreMeter::None();
};

// A store over the database. It connects nowhere before Init. `clock` and `random` must outlive it.
std::unique_ptr<SessionStore> MakePostgresStore(const PostgresOptions& options, const Clock& clock,
                                                Random& random);

}  // namespace holdfast::pg

#endif  // HOLDFAST_STORE_POSTGRES_POSTGRES_STORE_H_

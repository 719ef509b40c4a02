// The team store: sessions in a PostgreSQL database, for any number of servers (STORES section 3).
#ifndef HOLDFAST_STORE_POSTGRES_POSTGRES_STORE_H_
#define HOLDFAST_STORE_POSTGRES_POSTGRES_STORE_H_

#include "session/clock.h"
#include "session/store.h"
#include "store-postgres/pg/pool.h"

#include <memory>

namespace holdfast::pg {

struct PostgresOptions {
  PoolOptions pool;  // how the database is reached
};

// A store over the database. It connects nowhere before Init. `clock` and `random` must outlive it.
std::unique_ptr<SessionStore> MakePostgresStore(const PostgresOptions& options, const Clock& clock,
                                                Random& random);

}  // namespace holdfast::pg

#endif  // HOLDFAST_STORE_POSTGRES_POSTGRES_STORE_H_

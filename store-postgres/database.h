// The database as every part of the store uses it: the connections, the identity of its store, and
// how a statement that changes nothing is asked.
#ifndef HOLDFAST_STORE_POSTGRES_DATABASE_H_
#define HOLDFAST_STORE_POSTGRES_DATABASE_H_

#include "platform/clock.h"
#include "session/ids.h"
#include "session/item_writes.h"
#include "session/retention.h"
#include "session/store_meter.h"
#include "store-postgres/pg/connection.h"
#include "store-postgres/pg/failure.h"
#include "store-postgres/pg/params.h"
#include "store-postgres/pg/pool.h"
#include "store-postgres/pg/rows.h"
#include "store-postgres/store_clock.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include <cstdint>
#include <functional>
#include <string>

namespace holdfast::pg {

// How long a call waits for a connection.
inline constexpr absl::Duration kConnectionWait = absl::Seconds(5);

// Any thread may use it.
struct Database {
  Pool& pool;
  const Clock& clock;
  const StoreClock& store_clock;
  StoreId store;
  Incarnation incarnation;
  int64_t writer = 0;  // names this server among those that serve the database
  // Gets the cause of a failed statement, in the driver's words: for the operator's log alone.
  std::function<void(const std::string& why)> report;
  Retention retention;
  ItemBounds item_bounds = {};             // of each session
  StoreMeter& meter = StoreMeter::None();  // gets figures on what is written together

  // What `statement` answers. It may be sent twice, on another connection, when the first one
  // broke. STORE_UNAVAILABLE with the outcome known: whatever it did, doing it again is the same.
  absl::StatusOr<Rows> Ask(const Statement& statement, const Params& params) const;

  // The same of a statement that may wait: for a flush, for a standby, or for a lock.
  absl::StatusOr<Rows> AskFlushed(const Statement& statement, const Params& params) const;

  // The same as Ask, but a connection is given up when the database is silent for `patience`.
  absl::StatusOr<Rows> AskWithin(absl::Duration patience, const Statement& statement,
                                 const Params& params) const;

  // Sends `statement` over `connection`, and reports its duration to the meter if it is for
  // recorded `spans`. As Connection::RunWithin.
  Answer RunFor(const std::vector<RecordedSpan>& spans, absl::Duration patience,
                Connection& connection, const Statement& statement, const Params& params) const;
  // The span of the calling thread, if it is recorded.
  [[nodiscard]] std::vector<RecordedSpan> CurrentSpans() const;

  // Reports `failure` to the operator.
  void Report(const Statement& statement, const Failure& failure) const;

  // The time for people, as exact as a record keeps it. Decides nothing: see store_clock.
  [[nodiscard]] absl::Time Now() const;

 private:
  absl::StatusOr<Rows> AskFor(Purpose purpose, absl::Duration patience, const Statement& statement,
                              const Params& params) const;
};

}  // namespace holdfast::pg

#endif  // HOLDFAST_STORE_POSTGRES_DATABASE_H_

// The opponents that only insert: one row of fresh bytes in each transaction, acknowledged when it
// is flushed.
#ifndef HOLDFAST_BENCH_PGBENCH_H_
#define HOLDFAST_BENCH_PGBENCH_H_

#include "bench/closed_loop.h"
#include "bench/fresh_bytes.h"
#include "bench/postgres.h"
#include "store-postgres/pg/connection.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::bench {

// PostgreSQL's own client. It can only send the bytes as text, and the same ones throughout a
// round. Its table has no index and tries no compression. Used by one thread.
class Pgbench {
 public:
  // `database` outlives it; `table` is made in its store's database.
  Pgbench(Postgres& database, std::string table, size_t bytes)
      : database_(database), table_(std::move(table)), bytes_(bytes) {}

  absl::Status Open();
  // About `count` rows, by so many clients. The percentiles are known for one client alone: they
  // cost a line of log for each row.
  absl::StatusOr<Round> Insert(size_t clients, uint64_t count);
  // Says that somebody else has put `rows` into the table.
  void Note(uint64_t rows) { acknowledged_ += rows; }
  // FAILED_PRECONDITION unless the table holds exactly what was acknowledged.
  absl::Status Count();

 private:
  Postgres& database_;
  const std::string table_;
  const size_t bytes_;
  FreshBytes fresh_;
  uint64_t acknowledged_ = 0;
};

// The same rows over one connection of libpq's, whose bytes are fresh in each row and are sent as
// they are. Used by one thread.
class RawInsert {
 public:
  // Into the table `raw`.
  static absl::StatusOr<std::unique_ptr<RawInsert>> Make(const Postgres& database, size_t bytes);
  RawInsert(std::unique_ptr<pg::Connection> connection, size_t bytes)
      : connection_(std::move(connection)), bytes_(bytes) {}

  absl::Status Commit();

 private:
  const std::unique_ptr<pg::Connection> connection_;
  const size_t bytes_;
  FreshBytes fresh_;
};

}  // namespace holdfast::bench

#endif  // HOLDFAST_BENCH_PGBENCH_H_

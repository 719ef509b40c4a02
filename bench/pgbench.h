// The opponent that only inserts: one row in each transaction, acknowledged when it is flushed.
#ifndef HOLDFAST_BENCH_PGBENCH_H_
#define HOLDFAST_BENCH_PGBENCH_H_

#include "bench/closed_loop.h"
#include "bench/fresh_bytes.h"
#include "bench/postgres.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace holdfast::bench {

// PostgreSQL's own client. It can only send the bytes as text, and the same ones throughout a
// round, and it connects anew in each round. Its table has no index and tries no compression. Used
// by one thread.
class Pgbench {
 public:
  // `database` outlives it; `table` is made in its store's database.
  Pgbench(Postgres& database, std::string table, size_t bytes)
      : database_(database), table_(std::move(table)), bytes_(bytes) {}

  absl::Status Open();
  // About `count` rows, by so many clients. The percentiles are known for one client alone: they
  // cost a line of log for each row.
  absl::StatusOr<Round> Insert(size_t clients, uint64_t count);
  // Counts `rows` that another opponent has inserted into the table.
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

}  // namespace holdfast::bench

#endif  // HOLDFAST_BENCH_PGBENCH_H_

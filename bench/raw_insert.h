// The opponents that only insert, over persistent connections of libpq: one row of fresh bytes in
// each transaction, sent as binary parameters, acknowledged when it is flushed.
#ifndef HOLDFAST_BENCH_RAW_INSERT_H_
#define HOLDFAST_BENCH_RAW_INSERT_H_

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
#include <utility>
#include <vector>

namespace holdfast::bench {

// Rows of the table `raw`, which has no key. Used by one thread.
class RawInsert {
 public:
  static absl::StatusOr<std::unique_ptr<RawInsert>> Make(const Postgres& database, size_t bytes);
  RawInsert(std::unique_ptr<pg::Connection> connection, size_t bytes)
      : connection_(std::move(connection)), bytes_(bytes) {}

  absl::Status Commit();

 private:
  const std::unique_ptr<pg::Connection> connection_;
  const size_t bytes_;
  FreshBytes fresh_;
};

// Rows of one session: each insert locks the session's head, counts its version up and takes that
// as the row's key, in one statement. What a store of sessions cannot do without. Used by one
// thread.
class KeyedInsert {
 public:
  KeyedInsert(std::unique_ptr<pg::Connection> connection, std::string session, size_t bytes)
      : connection_(std::move(connection)), session_(std::move(session)), bytes_(bytes) {}

  absl::Status Commit();

 private:
  const std::unique_ptr<pg::Connection> connection_;
  const std::string session_;
  const size_t bytes_;
  FreshBytes fresh_;
};

// The tables of KeyedInsert. Used by one thread.
class KeyedTable {
 public:
  // `database` outlives it.
  explicit KeyedTable(Postgres& database) : database_(database) {}

  // Makes the tables in the store's database.
  absl::Status Open();
  // A new session with a connection of its own.
  absl::StatusOr<std::unique_ptr<KeyedInsert>> Make(const std::string& session, size_t bytes);
  // `count` rows, shared by the writers, which are of this table.
  absl::StatusOr<Round> Insert(const std::vector<std::unique_ptr<KeyedInsert>>& writers,
                               uint64_t count);
  // FAILED_PRECONDITION unless rows and versions are exactly what was acknowledged.
  absl::Status Count();

 private:
  Postgres& database_;
  uint64_t acknowledged_ = 0;
};

}  // namespace holdfast::bench

#endif  // HOLDFAST_BENCH_RAW_INSERT_H_

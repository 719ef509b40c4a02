// The fastest way out of PostgreSQL: COPY in its binary format.
#ifndef HOLDFAST_BENCH_COPY_OUT_H_
#define HOLDFAST_BENCH_COPY_OUT_H_

#include "absl/status/statusor.h"

#include <cstdint>
#include <memory>
#include <string>

struct pg_conn;  // libpq's PGconn

namespace holdfast::bench {

// One connection. Used by one thread.
class CopyOut {
 public:
  static absl::StatusOr<std::unique_ptr<CopyOut>> Open(const std::string& dsn);
  // Takes the connection over.
  explicit CopyOut(pg_conn* connection) : connection_(connection) {}

  // How many bytes `statement`, a COPY to standard output, gives.
  absl::StatusOr<uint64_t> Read(const std::string& statement);

 private:
  struct Finish {
    void operator()(pg_conn* connection) const;
  };
  std::unique_ptr<pg_conn, Finish> connection_;
};

}  // namespace holdfast::bench

#endif  // HOLDFAST_BENCH_COPY_OUT_H_

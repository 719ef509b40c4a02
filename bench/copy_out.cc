#include "bench/copy_out.h"

#include <libpq-fe.h>

namespace holdfast::bench {

void CopyOut::Finish::operator()(pg_conn* connection) const { PQfinish(connection); }

absl::StatusOr<std::unique_ptr<CopyOut>> CopyOut::Open(const std::string& dsn) {
  auto copy = std::make_unique<CopyOut>(PQconnectdb(dsn.c_str()));
  if (PQstatus(copy->connection_.get()) == CONNECTION_OK) return copy;
  return absl::UnavailableError(PQerrorMessage(copy->connection_.get()));
}

absl::StatusOr<uint64_t> CopyOut::Read(const std::string& statement) {
  PGconn* const connection = connection_.get();
  PGresult* const begun = PQexec(connection, statement.c_str());
  const bool copies = PQresultStatus(begun) == PGRES_COPY_OUT;
  PQclear(begun);
  if (!copies) return absl::UnavailableError(PQerrorMessage(connection));
  uint64_t bytes = 0;
  char* row = nullptr;
  int got = 0;
  while ((got = PQgetCopyData(connection, &row, /*async=*/0)) > 0) {
    bytes += static_cast<uint64_t>(got);
    PQfreemem(row);
  }
  bool ended = got == -1;
  while (PGresult* const result = PQgetResult(connection)) {
    ended = ended && PQresultStatus(result) == PGRES_COMMAND_OK;
    PQclear(result);
  }
  if (ended) return bytes;
  return absl::UnavailableError(PQerrorMessage(connection));
}

}  // namespace holdfast::bench

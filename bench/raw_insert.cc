#include "bench/raw_insert.h"

#include "bench/threads.h"
#include "platform/status_macros.h"

#include "absl/strings/str_cat.h"

#include <variant>

namespace holdfast::bench {
namespace {

// Half of each page of heads stays free, so that an update finds room beside its row and touches no
// index.
constexpr char kTables[] = R"(
CREATE TABLE raw_head (session text PRIMARY KEY, version bigint NOT NULL) WITH (fillfactor = 50);
CREATE TABLE raw_entry (session text, version bigint, bytes bytea NOT NULL,
                        PRIMARY KEY (session, version));
ALTER TABLE raw_entry ALTER COLUMN bytes SET STORAGE EXTERNAL)";

constexpr pg::Statement kInsert = {"insert_raw", "INSERT INTO public.raw VALUES ($1)"};
constexpr pg::Statement kMakeHead = {"make_raw_head", "INSERT INTO public.raw_head VALUES ($1, 0)"};
constexpr pg::Statement kInsertKeyed = {"insert_keyed", R"(
WITH head AS (UPDATE public.raw_head SET version = version + 1 WHERE session = $1
              RETURNING session, version)
INSERT INTO public.raw_entry SELECT session, version, $2 FROM head)"};

absl::StatusOr<std::unique_ptr<pg::Connection>> ConnectTo(const Postgres& database) {
  return pg::Connection::Open({.dsn = database.dsn("store")});
}

absl::Status Carry(pg::Connection& connection, const pg::Statement& statement,
                   const pg::Params& params) {
  const pg::Answer answer = connection.Run(statement, params);
  if (const auto* failure = std::get_if<pg::Failure>(&answer)) {
    return absl::UnavailableError(failure->text);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<RawInsert>> RawInsert::Make(const Postgres& database, size_t bytes) {
  ASSIGN_OR_RETURN(auto connection, ConnectTo(database));
  return std::make_unique<RawInsert>(std::move(connection), bytes);
}

absl::Status RawInsert::Commit() {
  return Carry(*connection_, kInsert, pg::Params().Bytes(fresh_.Take(bytes_)));
}

absl::Status KeyedInsert::Commit() {
  return Carry(*connection_, kInsertKeyed, pg::Params().Text(session_).Bytes(fresh_.Take(bytes_)));
}

absl::Status KeyedTable::Open() { return database_.DoInStore(kTables); }

absl::StatusOr<std::unique_ptr<KeyedInsert>> KeyedTable::Make(const std::string& session,
                                                              size_t bytes) {
  ASSIGN_OR_RETURN(auto connection, ConnectTo(database_));
  RETURN_IF_ERROR(Carry(*connection, kMakeHead, pg::Params().Text(session)));
  return std::make_unique<KeyedInsert>(std::move(connection), session, bytes);
}

absl::StatusOr<Round> KeyedTable::Insert(const std::vector<std::unique_ptr<KeyedInsert>>& writers,
                                         uint64_t count) {
  acknowledged_ += count;
  return CommitInThreads(writers, count);
}

absl::Status KeyedTable::Count() {
  ASSIGN_OR_RETURN(const int64_t rows, database_.Number("SELECT count(*) FROM raw_entry"));
  ASSIGN_OR_RETURN(const int64_t versions,
                   database_.Number("SELECT sum(version)::bigint FROM raw_head"));
  if (static_cast<uint64_t>(rows) == acknowledged_ && rows == versions) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("raw_entry holds ", rows, " rows and raw_head the versions of ", versions,
                   " after ", acknowledged_, " were acknowledged"));
}

}  // namespace holdfast::bench

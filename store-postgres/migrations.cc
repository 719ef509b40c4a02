#include "store-postgres/migrations.h"

#include "platform/status_macros.h"
#include "session/refusal.h"
#include "session/saboteur.h"
#include "store-postgres/embedded_schema.h"
#include "store-postgres/servers.h"

#include "absl/cleanup/cleanup.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>
#include <variant>

namespace holdfast::pg {
namespace {

// "holdfast" in ASCII: a migration holds this advisory lock of its database.
constexpr char kLock[] = "SELECT pg_advisory_lock(7525352680829580148)";
constexpr char kUnlock[] = "SELECT pg_advisory_unlock(7525352680829580148)";

constexpr char kPrepare[] = R"(
CREATE SCHEMA IF NOT EXISTS holdfast;
CREATE TABLE IF NOT EXISTS holdfast.migration (
  version       integer PRIMARY KEY,
  name          text NOT NULL,
  digest        bytea NOT NULL,    -- SHA-256 of the step's text
  oldest_server integer NOT NULL,  -- servers that know at least this step may serve
  at            timestamptz NOT NULL DEFAULT clock_timestamp()
))";

constexpr Statement kIsPrepared = {"migrations_prepared",
                                   "SELECT to_regclass('holdfast.migration') IS NOT NULL"};
constexpr Statement kApplied = {
    "migrations_applied",
    "SELECT version, name, digest, oldest_server, at FROM holdfast.migration ORDER BY version"};
constexpr Statement kNote = {
    "migration_note",
    "INSERT INTO holdfast.migration (version, name, digest, oldest_server) "
    "VALUES ($1, $2, $3, $4)"};

// A server that registers waits for this lock, and the servers that are registered already are
// found.
constexpr char kKeepOut[] = R"(
DO $$ BEGIN
  IF to_regclass('holdfast.store') IS NOT NULL THEN
    PERFORM 1 FROM holdfast.store FOR UPDATE;
  END IF;
END $$)";

Refusal Refused(std::string_view why) {
  return StoreUnavailable(absl::StrCat("the database's schema: ", std::string(why)),
                          Fate::kNoEffect);
}

Refusal Refused(const Failure& failure) { return Refused(failure.text); }

// "0001_tables" is step 1, "tables".
std::vector<Migration> ReadSteps() {
  constexpr size_t kDigits = 4;
  std::vector<Migration> steps;
  for (const SchemaFile& file : kSchemaFiles) {
    const std::string_view name = file.name;
    int32_t version = 0;
    const bool numbered = absl::SimpleAtoi(std::string(name.substr(0, kDigits)), &version) &&
                          version == static_cast<int32_t>(steps.size()) + 1;
    if (!numbered) std::abort();  // the files are part of the program
    steps.push_back({.version = version, .name = name.substr(kDigits + 1), .sql = file.sql});
  }
  if (Sabotaged(Saboteur::kOneStepBehind)) steps.pop_back();
  return steps;
}

int32_t OldestServer(const Migration& step) {
  constexpr std::string_view kMark = "-- oldest server: ";
  int32_t oldest = step.version;
  if (step.sql.starts_with(kMark)) {
    const std::string_view line = step.sql.substr(0, step.sql.find('\n'));
    if (!absl::SimpleAtoi(std::string(line.substr(kMark.size())), &oldest)) oldest = step.version;
  }
  return oldest;
}

absl::StatusOr<Rows> Ask(Connection& connection, const Statement& statement) {
  Answer answer = connection.Run(statement, Params());
  if (const auto* failure = std::get_if<Failure>(&answer)) return Refused(*failure);
  return std::get<Rows>(std::move(answer));
}

absl::Status Try(Connection& connection, std::string_view sql) {
  const std::optional<Failure> failure = connection.Try(sql);
  return failure ? Refused(*failure).ToStatus() : absl::OkStatus();
}

// What `applied` has that `known` has not in the same way; empty when there is nothing.
std::string Difference(std::span<const AppliedMigration> applied,
                       std::span<const Migration> known) {
  for (size_t i = 0; i < std::min(applied.size(), known.size()); ++i) {
    if (applied[i].version != known[i].version || applied[i].digest != Sha256(known[i].sql)) {
      return absl::StrCat("its step ", applied[i].version, " (", applied[i].name,
                          ") is not the one that this program knows by that number: use the "
                          "holdfastd that made this database, or restore it from a backup");
    }
  }
  return "";
}

// Refuses a step that would exclude a running server: one that may not serve a database with
// `step`.
absl::Status CheckRunningServersMayServe(Connection& connection, const Migration& step) {
  ASSIGN_OR_RETURN(const std::vector<ServingServer> serving, ReadServing(connection));
  for (const ServingServer& server : serving) {
    if (server.schema >= OldestServer(step)) continue;
    return Refused(absl::StrCat(
        "step ", step.version, " would cut off a running server that knows only steps up to ",
        server.schema, ": update it to a version between, or stop it (", Describe(server), ")"));
  }
  return absl::OkStatus();
}

absl::Status TakeStep(Connection& connection, const Migration& step) {
  RETURN_IF_ERROR(Try(connection, "BEGIN"));
  absl::Cleanup roll_back = [&] {
    if (connection.usable()) connection.Try("ROLLBACK");
  };
  RETURN_IF_ERROR(Try(connection, kKeepOut));
  RETURN_IF_ERROR(CheckRunningServersMayServe(connection, step));
  RETURN_IF_ERROR(Try(connection, step.sql));
  const Digest digest = Sha256(step.sql);
  const Answer noted = connection.Run(
      kNote,
      Params().Int4(step.version).Text(step.name).Bytes(View(digest)).Int4(OldestServer(step)));
  if (const auto* failure = std::get_if<Failure>(&noted)) return Refused(*failure);
  std::move(roll_back).Cancel();
  return Try(connection, "COMMIT");
}

}  // namespace

std::span<const Migration> Migrations() {
  static const std::vector<Migration> kSteps = ReadSteps();
  return kSteps;
}

int32_t NeededSchema() { return static_cast<int32_t>(Migrations().size()); }

absl::StatusOr<std::vector<AppliedMigration>> ReadApplied(Connection& connection) {
  std::vector<AppliedMigration> applied;
  ASSIGN_OR_RETURN(const Rows prepared, Ask(connection, kIsPrepared));
  if (!prepared.Bool(0, 0)) return applied;
  ASSIGN_OR_RETURN(const Rows rows, Ask(connection, kApplied));
  for (size_t row = 0; row < rows.size(); ++row) {
    applied.push_back({.version = rows.Int4(row, 0),
                       .name = std::string(rows.Text(row, 1)),
                       .digest = DigestFrom(rows.Bytes(row, 2)),
                       .oldest_server = rows.Int4(row, 3),
                       .at = rows.Time(row, 4)});
  }
  return applied;
}

absl::Status CheckSchema(std::span<const AppliedMigration> applied,
                         std::span<const Migration> known) {
  if (const std::string why = Difference(applied, known); !why.empty()) return Refused(why);
  const auto newest_known = static_cast<int32_t>(known.size());
  if (applied.size() < known.size()) {
    return Refused(absl::StrCat("it is at version ", applied.size(), ", and this server needs ",
                                newest_known, ": run holdfastd migrate"));
  }
  for (const AppliedMigration& step : applied.subspan(known.size())) {
    if (step.oldest_server > newest_known) {
      return Refused(absl::StrCat("it is at version ", applied.size(),
                                  ", which servers of version ", newest_known,
                                  " may not serve: start a newer holdfastd"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<int> Migrate(Connection& connection, std::span<const Migration> known) {
  // Every role that can read the schema may ask, though only its owner may change it.
  ASSIGN_OR_RETURN(const std::vector<AppliedMigration> before, ReadApplied(connection));
  if (before.size() >= known.size() && Difference(before, known).empty()) return 0;
  RETURN_IF_ERROR(Try(connection, kLock));
  const absl::Cleanup unlock = [&] {
    if (connection.usable()) connection.Try(kUnlock);
  };
  RETURN_IF_ERROR(Try(connection, kPrepare));
  ASSIGN_OR_RETURN(const std::vector<AppliedMigration> applied, ReadApplied(connection));
  if (const std::string why = Difference(applied, known); !why.empty()) return Refused(why);
  int taken = 0;
  for (size_t next = applied.size(); next < known.size(); ++next) {
    RETURN_IF_ERROR(TakeStep(connection, known[next]));
    ++taken;
  }
  return taken;
}

}  // namespace holdfast::pg

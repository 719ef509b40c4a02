#include "store-postgres/admin/migrate.h"

#include "platform/status_macros.h"
#include "session/refusal.h"
#include "store-postgres/admin/driver.h"
#include "store-postgres/admin/schema_status.h"

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::pg {
namespace {

constexpr char kWhat[] = "the database's schema";

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

Refusal MigrationRefused(std::string_view why) {
  return StoreUnavailable(absl::StrCat(kWhat, ": ", std::string(why)), Fate::kNoEffect);
}

// Refuses a step that would exclude a running server: one that may not serve a database with
// `step`.
absl::Status CheckRunningServersMayServe(pqxx::transaction_base& transaction,
                                         const Migration& step) {
  for (const ServingServer& server : ServingIn(transaction)) {
    if (server.schema >= OldestServer(step)) continue;
    return MigrationRefused(absl::StrCat(
        "step ", step.version, " would cut off a running server that knows only steps up to ",
        server.schema, ": update it to a version between, or stop it (", Describe(server), ")"));
  }
  return absl::OkStatus();
}

absl::Status TakeStep(AdminConnection& connection, const Migration& step) {
  pqxx::work work(connection.driver());
  work.exec(kKeepOut);
  RETURN_IF_ERROR(CheckRunningServersMayServe(work, step));
  work.exec(std::string(step.sql));
  const Digest digest = Sha256(step.sql);
  Execute(work, kNote, step.version, std::string(step.name),
          pqxx::binarystring(digest.data(), digest.size()), OldestServer(step));
  return connection.Commit(kWhat, work);
}

absl::Status Run(AdminConnection& connection, const std::string& sql) {
  return connection.Do(kWhat, [&] {
    pqxx::nontransaction(connection.driver()).exec(sql);
    return absl::OkStatus();
  });
}

}  // namespace

absl::StatusOr<int> Migrate(AdminConnection& connection, std::span<const Migration> known) {
  // Every role that can read the schema may ask, though only its owner may change it.
  ASSIGN_OR_RETURN(const std::vector<AppliedMigration> before, ReadApplied(connection));
  if (before.size() >= known.size() && Difference(before, known).empty()) return 0;
  RETURN_IF_ERROR(Run(connection, kLock));
  // A connection that broke has lost the lock, and nothing is left to do.
  const absl::Cleanup unlock = [&] { Run(connection, kUnlock).IgnoreError(); };
  RETURN_IF_ERROR(Run(connection, kPrepare));
  ASSIGN_OR_RETURN(const std::vector<AppliedMigration> applied, ReadApplied(connection));
  if (const std::string why = Difference(applied, known); !why.empty()) {
    return MigrationRefused(why);
  }
  int taken = 0;
  for (size_t next = applied.size(); next < known.size(); ++next) {
    RETURN_IF_ERROR(connection.Do(kWhat, [&] { return TakeStep(connection, known[next]); }));
    ++taken;
  }
  return taken;
}

}  // namespace holdfast::pg

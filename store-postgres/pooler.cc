#include "session/refusal.h"
#include "session/status_macros.h"
#include "store-postgres/greeting.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include <memory>
#include <string>
#include <variant>

namespace holdfast::pg {
namespace {

constexpr Statement kBackend = {"pooler_backend", "SELECT pg_backend_pid()"};

Refusal Refused(std::string_view why) {
  return StoreUnavailable(absl::StrCat("the database: ", std::string(why)), Fate::kNoEffect);
}

Refusal ByTheTransaction() {
  return Refused(
      "a pooler lends its connections out by the transaction, as pgbouncer does with "
      "pool_mode=transaction: connect to PostgreSQL itself");
}

absl::StatusOr<std::unique_ptr<Connection>> Open(const ConnectOptions& options) {
  absl::StatusOr<std::unique_ptr<Connection>> made = Connection::Open(options);
  if (made.ok()) return made;
  const std::string why(made.status().message());
  // pgbouncer's words, which are in no other language; PostgreSQL takes the parameter.
  if (absl::StrContains(why, "unsupported startup parameter")) {
    return Refused(absl::StrCat(
        "a pooler in between does not take the settings that a connection begins with: ", why));
  }
  return Refused(why);
}

// The process that serves this statement. A pooler may have given the connection to another one
// since the statement was prepared.
absl::StatusOr<int32_t> Backend(Connection& connection) {
  const Answer answer = connection.Run(kBackend, Params());
  if (const auto* rows = std::get_if<Rows>(&answer)) return rows->Int4(0, 0);
  const auto& failure = std::get<Failure>(answer);
  if (failure.sqlstate == kNoSuchPreparedStatement ||
      failure.sqlstate == kDuplicatePreparedStatement) {
    return ByTheTransaction();
  }
  return Refused(failure.text);
}

}  // namespace

absl::Status CheckForPooler(const ConnectOptions& options) {
  // More than once, for a pooler may hand the same connection back by chance.
  constexpr int kLooks = 4;
  ASSIGN_OR_RETURN(const std::unique_ptr<Connection> first, Open(options));
  ASSIGN_OR_RETURN(const int32_t before, Backend(*first));
  if (before == first->backend_pid()) return absl::OkStatus();  // PostgreSQL itself
  // While another connection is inside a transaction it has a process of its own. If that is the
  // one that was ours, or ours changes, they are lent out by the transaction.
  ASSIGN_OR_RETURN(const std::unique_ptr<Connection> other, Open(options));
  if (const std::optional<Failure> failure = other->Try("BEGIN")) return Refused(failure->text);
  ASSIGN_OR_RETURN(const int32_t taken, Backend(*other));
  if (taken == before) return ByTheTransaction();
  for (int look = 0; look < kLooks; ++look) {
    ASSIGN_OR_RETURN(const int32_t now, Backend(*first));
    if (now != before) return ByTheTransaction();
  }
  return absl::OkStatus();
}

}  // namespace holdfast::pg

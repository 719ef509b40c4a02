#include "platform/status_macros.h"
#include "session/refusal.h"
#include "store-postgres/connection_check.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::pg {
namespace {

// Each connection says a word to the process that serves it, and hears what that one remembers. By
// the simple protocol alone: poolers differ in what they do with prepared statements.
constexpr char kSay[] = "SET holdfast.probe = 'said'";
constexpr char kMustRemember[] = R"(DO $$ BEGIN
  IF coalesce(current_setting('holdfast.probe', true), '') <> 'said' THEN
    RAISE SQLSTATE 'HF001';
  END IF;
END $$)";
constexpr char kMustNotKnow[] = R"(DO $$ BEGIN
  IF current_setting('holdfast.probe', true) = 'said' THEN RAISE SQLSTATE 'HF001'; END IF;
END $$)";
constexpr std::string_view kAnotherProcess = "HF001";

Refusal PoolerRefused(std::string_view why) {
  return StoreUnavailable(absl::StrCat("the database: ", std::string(why)), Fate::kNoEffect);
}

Refusal ByTheTransaction() {
  return PoolerRefused(
      "a pooler lends its connections out by the transaction, as pgbouncer does with "
      "pool_mode=transaction: connect to PostgreSQL itself");
}

absl::StatusOr<std::unique_ptr<Connection>> Open(const ConnectOptions& options) {
  absl::StatusOr<std::unique_ptr<Connection>> made = Connection::Open(options);
  if (made.ok()) return made;
  const std::string why(made.status().message());
  // pgbouncer's words, which are in no other language; PostgreSQL takes the parameter.
  if (absl::StrContains(why, "unsupported startup parameter")) {
    return PoolerRefused(absl::StrCat(
        "a pooler in between does not take the settings that a connection begins with: ", why));
  }
  return PoolerRefused(why);
}

absl::Status Probe(Connection& connection, std::string_view sql) {
  const std::optional<Failure> failure = connection.Try(sql);
  if (!failure) return absl::OkStatus();
  return failure->sqlstate == kAnotherProcess ? ByTheTransaction() : PoolerRefused(failure->text);
}

}  // namespace

absl::Status CheckForPooler(const ConnectOptions& options) {
  // More than once, for a pooler may give the same process back by chance.
  constexpr int kPoolerLooks = 4;
  ASSIGN_OR_RETURN(const std::unique_ptr<Connection> first, Open(options));
  RETURN_IF_ERROR(Probe(*first, kSay));
  // Inside a transaction the other one has a process of its own. That must not be the one that the
  // first spoke to, and the first must still have its own.
  ASSIGN_OR_RETURN(const std::unique_ptr<Connection> other, Open(options));
  RETURN_IF_ERROR(Probe(*other, "BEGIN"));
  RETURN_IF_ERROR(Probe(*other, kMustNotKnow));
  for (int look = 0; look < kPoolerLooks; ++look) {
    RETURN_IF_ERROR(Probe(*first, kMustRemember));
  }
  return absl::OkStatus();
}

}  // namespace holdfast::pg

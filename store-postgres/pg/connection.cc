#include "store-postgres/pg/connection.h"

#include "platform/scoped_blocking_call.h"
#include "store-postgres/pg/dsn.h"
#include "store-postgres/pg/keywords.h"
#include "store-postgres/pg/libpq.h"
#include "store-postgres/pg/waker.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <libpq-fe.h>
#include <limits>
#include <poll.h>
#include <utility>
#include <vector>

namespace holdfast::pg {
namespace {

struct FreeMemory {
  void operator()(PGnotify* notification) const { PQfreemem(notification); }
};

std::string FieldOf(const PGresult* result, int field) {
  const char* text = PQresultErrorField(result, field);
  return text == nullptr ? "" : text;
}

}  // namespace

// The answer to one statement: its last result, or the first that failed.
struct Connection::Received {
  struct Clear {
    void operator()(PGresult* result) const { PQclear(result); }
  };
  std::unique_ptr<PGresult, Clear> result;

  [[nodiscard]] bool Copies() const {
    const ExecStatusType status = PQresultStatus(result.get());
    return status == PGRES_COPY_IN || status == PGRES_COPY_OUT || status == PGRES_COPY_BOTH;
  }
  // Takes `next` over; false when nothing more will come.
  bool Take(PGresult* next) {
    if (next == nullptr) return false;
    if (result != nullptr && PQresultStatus(result.get()) == PGRES_FATAL_ERROR) {
      PQclear(next);
      return true;
    }
    result.reset(next);
    return !Copies();
  }
};

// Called by libpq. The wait for a standby can be cut short by a cancel or a shutdown; the
// transaction is then committed here and nowhere else, and the answer says nothing of it. The name
// of the server's function is not translated, as its words may be.
void Connection::Notice(void* notices, const pg_result* notice) {
  const std::string severity = FieldOf(notice, PG_DIAG_SEVERITY_NONLOCALIZED);
  auto* to = static_cast<Notices*>(notices);
  if (severity == "FATAL" || severity == "PANIC") to->fatal = true;
  if (FieldOf(notice, PG_DIAG_SOURCE_FUNCTION) == "SyncRepWaitForLSN") to->standby_missed = true;
}

void Connection::Finish::operator()(pg_conn* connection) const { PQfinish(connection); }

absl::StatusOr<std::unique_ptr<Connection>> Connection::Open(const ConnectOptions& options) {
  absl::StatusOr<Keywords> keywords = KeywordsOf(options);
  if (!keywords.ok()) return keywords.status();
  std::vector<const char*> names;
  std::vector<const char*> values;
  for (size_t i = 0; i < keywords->names.size(); ++i) {
    names.push_back(keywords->names[i].c_str());
    values.push_back(keywords->values[i].c_str());
  }
  names.push_back(nullptr);
  values.push_back(nullptr);
  const ScopedBlockingCall blocking;
  auto connection = std::make_unique<Connection>(
      PQconnectdbParams(names.data(), values.data(), /*expand_dbname=*/0), options);
  if (!connection->usable()) {
    return absl::UnavailableError(Trimmed(PQerrorMessage(connection->connection_.get())));
  }
  return connection;
}

Connection::Connection(pg_conn* connection, const ConnectOptions& options)
    : connection_(connection),
      patience_(options.statement_timeout + options.silence),
      tap_(options.tap),
      broken_(PQstatus(connection) != CONNECTION_OK) {
  PQsetNoticeReceiver(connection, Notice, &notices_);
  // The details of an error would repeat the values of rows, and these words go to a log.
  PQsetErrorVerbosity(connection, PQERRORS_TERSE);
  if (!broken_) broken_ = PQsetnonblocking(connection, 1) != 0;
}

Answer Connection::Run(const Statement& statement, const Params& params) {
  ++counts_.statements;
  if (tap_ != nullptr && tap_->before) {
    if (std::optional<Failure> failure = tap_->before(statement.name)) return *std::move(failure);
  }
  Answer answer = RunPrepared(statement, params);
  if (tap_ != nullptr && tap_->after && std::holds_alternative<Rows>(answer)) {
    if (std::optional<Failure> failure = tap_->after(statement.name)) return *std::move(failure);
  }
  return answer;
}

Answer Connection::RunWithin(absl::Duration patience, const Statement& statement,
                             const Params& params) {
  const absl::Duration usual = std::exchange(patience_, std::min(patience_, patience));
  Answer answer = Run(statement, params);
  patience_ = usual;
  return answer;
}

Answer Connection::RunPrepared(const Statement& statement, const Params& params) {
  if (broken_) return NotSent();
  if (!prepared_.contains(statement.name)) {
    if (std::optional<Failure> failure = Prepare(statement, params)) return *std::move(failure);
    prepared_.insert(statement.name);
  }
  if (!Send(statement, params)) return NotSent();
  Received received;
  if (std::optional<Failure> failure = Exchange(received)) return *std::move(failure);
  return Rows(received.result.release());
}

std::optional<Failure> Connection::Prepare(const Statement& statement, const Params& params) {
  std::vector<Oid> types;
  types.reserve(params.size());
  for (size_t i = 0; i < params.size(); ++i) types.push_back(params.Type(i));
  if (PQsendPrepare(connection_.get(), statement.name, statement.sql,
                    static_cast<int>(types.size()), types.data()) == 0) {
    return NotSent();
  }
  Received received;
  std::optional<Failure> failure = Exchange(received);
  // Whatever became of preparing it, the statement was not carried out.
  if (failure) failure->effect = Effect::kNone;
  return failure;
}

bool Connection::Send(const Statement& statement, const Params& params) {
  std::vector<const char*> values;
  std::vector<int> lengths;
  std::vector<int> formats(params.size(), 1);
  values.reserve(params.size());
  lengths.reserve(params.size());
  for (size_t i = 0; i < params.size(); ++i) {
    const std::string_view value = params.Value(i);
    values.push_back(params.IsNull(i) ? nullptr : value.data());
    lengths.push_back(static_cast<int>(value.size()));
  }
  return PQsendQueryPrepared(connection_.get(), statement.name, static_cast<int>(values.size()),
                             values.data(), lengths.data(), formats.data(),
                             /*resultFormat=*/1) != 0;
}

absl::Status Connection::Script(std::string_view sql) {
  if (const std::optional<Failure> failure = Try(sql)) {
    return absl::UnavailableError(failure->text);
  }
  return absl::OkStatus();
}

std::optional<Failure> Connection::Try(std::string_view sql) {
  ++counts_.statements;
  if (broken_ || PQsendQuery(connection_.get(), std::string(sql).c_str()) == 0) return NotSent();
  Received received;
  return Exchange(received);
}

bool Connection::LooksUsable() {
  // Nothing is expected, so what can be read is a notice, the server's FATAL error, or the end.
  pollfd waiting = {.fd = PQsocket(connection_.get()), .events = POLLIN, .revents = 0};
  while (!broken_ && poll(&waiting, 1, /*timeout=*/0) > 0) {
    broken_ = PQconsumeInput(connection_.get()) == 0 || PQisBusy(connection_.get()) != 0 ||
              notices_.fatal || PQstatus(connection_.get()) != CONNECTION_OK;
  }
  return !broken_;
}

bool Connection::IsStillAtWork() {
  if (!given_up_) return false;
  pollfd waiting = {.fd = PQsocket(connection_.get()), .events = POLLIN, .revents = 0};
  while (given_up_ && poll(&waiting, 1, /*timeout=*/0) > 0) {
    given_up_ = PQconsumeInput(connection_.get()) != 0 && PQisBusy(connection_.get()) != 0;
  }
  return given_up_;
}

absl::StatusOr<std::vector<std::string>> Connection::AwaitNotifications(const Waker& waker,
                                                                        absl::Duration at_most) {
  std::vector<std::string> payloads = TakeNotifications();  // that came with an answer
  if (payloads.empty() && !broken_ && waker.AwaitInput(PQsocket(connection_.get()), at_most)) {
    broken_ = PQconsumeInput(connection_.get()) == 0;
    payloads = TakeNotifications();
    broken_ = broken_ || notices_.fatal || PQstatus(connection_.get()) != CONNECTION_OK;
  }
  if (broken_) return absl::UnavailableError(Trimmed(PQerrorMessage(connection_.get())));
  return payloads;
}

std::vector<std::string> Connection::TakeNotifications() {
  std::vector<std::string> payloads;
  for (;;) {
    const std::unique_ptr<PGnotify, FreeMemory> next(PQnotifies(connection_.get()));
    if (next == nullptr) return payloads;
    payloads.emplace_back(next->extra);
  }
}

bool Connection::Idle() const { return PQtransactionStatus(connection_.get()) == PQTRANS_IDLE; }

int Connection::backend_pid() const { return PQbackendPID(connection_.get()); }

std::optional<size_t> Connection::Host(const std::string& dsn) const {
  const char* host = PQhost(connection_.get());
  const char* port = PQport(connection_.get());
  return HostIn(dsn, host == nullptr ? "" : host, port == nullptr ? "" : port);
}

std::string Connection::Peer() const {
  const char* host = PQhost(connection_.get());
  const char* port = PQport(connection_.get());
  return absl::StrCat(host == nullptr ? "" : host, ":", port == nullptr ? "" : port);
}

std::optional<Failure> Connection::Exchange(Received& received) {
  ++counts_.round_trips;
  notices_.standby_missed = false;
  if (std::optional<Failure> failure = Flush()) return failure;
  for (bool more = true; more;) {
    while (PQisBusy(connection_.get()) != 0) {
      if (!Await(POLLIN)) {
        given_up_ = true;
        return Lost("the server is silent");
      }
      // At the end of the connection its last words are among the results.
      if (PQconsumeInput(connection_.get()) == 0) break;
    }
    more = received.Take(PQgetResult(connection_.get()));
  }
  return FindFailure(received);
}

std::optional<Failure> Connection::Flush() {
  for (int left = PQflush(connection_.get()); left != 0; left = PQflush(connection_.get())) {
    if (left < 0) return Lost(PQerrorMessage(connection_.get()));
    // The server may want to be read from before it takes more.
    if (!Await(POLLIN | POLLOUT)) return Lost("the server takes nothing");
    if (PQconsumeInput(connection_.get()) == 0) return Lost(PQerrorMessage(connection_.get()));
  }
  return std::nullopt;
}

std::optional<Failure> Connection::FindFailure(const Received& received) {
  if (received.result == nullptr) return Lost(PQerrorMessage(connection_.get()));
  if (received.Copies()) return Lost("COPY is not spoken here");
  const ExecStatusType status = PQresultStatus(received.result.get());
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK && status != PGRES_EMPTY_QUERY) {
    return FailureFrom(received.result.get());
  }
  if (notices_.standby_missed) return Lost("the server stopped waiting for its standby");
  return std::nullopt;
}

// Waits until the socket can be read or written, as `events` asks; false when the server has been
// silent for too long.
bool Connection::Await(int16_t events) {
  constexpr int64_t kLongest = std::numeric_limits<int>::max();
  const int patience =
      patience_ == absl::InfiniteDuration()
          ? -1
          : static_cast<int>(std::min(absl::ToInt64Milliseconds(patience_), kLongest));
  pollfd waiting = {.fd = PQsocket(connection_.get()), .events = events, .revents = 0};
  const ScopedBlockingCall blocking;
  for (;;) {
    const int ready = poll(&waiting, 1, patience);
    if (ready > 0) return true;
    if (ready == 0 || errno != EINTR) return false;
  }
}

Failure Connection::NotSent() {
  broken_ = true;
  return {.effect = Effect::kNone, .text = Trimmed(PQerrorMessage(connection_.get()))};
}

Failure Connection::Lost(std::string_view why) {
  broken_ = true;
  return {.effect = Effect::kUnknown, .text = Trimmed(std::string(why).c_str())};
}

// An ERROR means that the statement was rolled back. Anything worse ends the connection, at an
// unknown point of the statement.
Failure Connection::FailureFrom(const pg_result* result) {
  Failure failure = {.effect = Effect::kUnknown,
                     .sqlstate = FieldOf(result, PG_DIAG_SQLSTATE),
                     .text = Trimmed(PQresultErrorMessage(result))};
  const bool rolled_back = FieldOf(result, PG_DIAG_SEVERITY_NONLOCALIZED) == "ERROR" &&
                           failure.sqlstate != kCompletionUnknown &&
                           PQstatus(connection_.get()) == CONNECTION_OK;
  if (rolled_back) failure.effect = Effect::kNone;
  // These come back on every later use of this connection: another schema or another server.
  if (!rolled_back || failure.sqlstate == kReadOnlyTransaction ||
      failure.sqlstate == kNoSuchPreparedStatement || failure.sqlstate == kChangedPlan ||
      failure.sqlstate == kDuplicatePreparedStatement) {
    broken_ = true;
  }
  return failure;
}

}  // namespace holdfast::pg

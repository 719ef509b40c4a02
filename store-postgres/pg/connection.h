// One connection to PostgreSQL over libpq: prepared statements with binary parameters and results.
// It is never made again behind its owner's back: once broken it stays broken.
//
//   constexpr Statement kReadHead = {"read_head", "SELECT version, head FROM ... WHERE ..."};
//   Answer answer = connection.Run(kReadHead, Params().Text(tenant).Text(session));
//   if (const Failure* failure = std::get_if<Failure>(&answer)) return RefusalFor(*failure);
//   const Rows& rows = std::get<Rows>(answer);
#ifndef HOLDFAST_STORE_POSTGRES_PG_CONNECTION_H_
#define HOLDFAST_STORE_POSTGRES_PG_CONNECTION_H_

#include "store-postgres/pg/failure.h"
#include "store-postgres/pg/params.h"
#include "store-postgres/pg/rows.h"

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

struct pg_conn;  // libpq's PGconn

namespace holdfast::pg {

class Waker;

// A statement that is prepared on its first use on a connection. Both texts have static storage;
// two statements never share a name.
struct Statement {
  const char* name;
  const char* sql;
};

using Answer = std::variant<Rows, Failure>;

// For tests: makes statements fail. Called on the thread that runs the statement.
struct Tap {
  // A failure to answer instead of sending the statement.
  std::function<std::optional<Failure>(std::string_view statement)> before;
  // A failure to answer although the statement was carried out.
  std::function<std::optional<Failure>(std::string_view statement)> after;
};

struct ConnectOptions {
  std::string dsn;        // libpq's, keywords or URI; several hosts may be given
  size_t first_host = 0;  // of several, where to begin; behind the last one the first follows
  std::string password;   // empty: as libpq finds one
  std::string application_name = "holdfastd";
  absl::Duration connect_timeout = absl::Seconds(5);     // for each host
  absl::Duration statement_timeout = absl::Seconds(30);  // by the server; infinite: none
  // A statement is given up, and its connection with it, when the server has been silent for so
  // much longer than its own timeout.
  absl::Duration silence = absl::Seconds(5);
  std::shared_ptr<const Tap> tap;  // for tests alone
};

// What a connection cost so far.
struct Counts {
  uint64_t statements = 0;   // carried out or tried
  uint64_t round_trips = 0;  // one for each statement, and one to prepare it
};

// For one thread at a time.
class Connection {
 public:
  // Connects. UNAVAILABLE in the driver's words, which never hold the password: for the operator
  // alone. INVALID_ARGUMENT when the dsn cannot be read.
  static absl::StatusOr<std::unique_ptr<Connection>> Open(const ConnectOptions& options);

  // Takes the connection over; use Open.
  Connection(pg_conn* connection, const ConnectOptions& options);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() = default;

  // Carries out one statement and waits for its whole answer. Outside of a transaction it is one of
  // its own.
  Answer Run(const Statement& statement, const Params& params);
  // The same, but gives the server up after a silence of `patience`, if that is shorter.
  Answer RunWithin(absl::Duration patience, const Statement& statement, const Params& params);
  // Several statements without parameters, separated by semicolons: one transaction, unless they
  // say otherwise. The status is in the driver's words.
  absl::Status Script(std::string_view sql);
  // The same as Script; what failed is known.
  std::optional<Failure> Try(std::string_view sql);

  // Waits for notifications of what this connection listens to (LISTEN). Answers the payloads of
  // those that came, none when `waker` ended the wait or `at_most` has passed. UNAVAILABLE when the
  // connection is broken, in the driver's words.
  absl::StatusOr<std::vector<std::string>> AwaitNotifications(const Waker& waker,
                                                              absl::Duration at_most);

  // False when it must not be used again. Sends nothing.
  [[nodiscard]] bool usable() const { return !broken_; }
  // True from when a statement was given up for the server's silence until the server has answered
  // it or ended the connection: a process of the server's is at work on it, as far as can be known.
  bool IsStillAtWork();
  // The same, and looks whether the server has ended it meanwhile. Sends nothing.
  bool LooksUsable();
  // True when no transaction is open.
  [[nodiscard]] bool Idle() const;

  [[nodiscard]] const Counts& counts() const { return counts_; }
  // The process that serves it, as the server said at the start; behind a pooler a made up number.
  [[nodiscard]] int backend_pid() const;
  // Which of the hosts of `dsn` it reached; nothing when that is ambiguous.
  [[nodiscard]] std::optional<size_t> Host(const std::string& dsn) const;
  // The host and the port or socket it reached, for the operator.
  [[nodiscard]] std::string Peer() const;

  // The timeline of the server's history at the last check; 0 before the first check.
  [[nodiscard]] uint32_t timeline() const { return timeline_; }
  void set_timeline(uint32_t timeline) { timeline_ = timeline; }

 private:
  struct Finish {
    void operator()(pg_conn* connection) const;
  };
  struct Received;
  // Notices of the server beside its answers.
  struct Notices {
    bool standby_missed = false;  // it waits no longer for its standby: do not believe the answer
    bool fatal = false;           // it ends the connection
  };

  static void Notice(void* notices, const pg_result* notice);
  Answer RunPrepared(const Statement& statement, const Params& params);
  std::optional<Failure> Prepare(const Statement& statement, const Params& params);
  bool Send(const Statement& statement, const Params& params);
  // Writes what is left to write and reads until the whole answer is there.
  std::optional<Failure> Exchange(Received& received);
  std::optional<Failure> Flush();
  std::optional<Failure> FindFailure(const Received& received);
  bool Await(int16_t events);
  std::vector<std::string> TakeNotifications();
  Failure NotSent();
  Failure Lost(std::string_view why);
  Failure FailureFrom(const pg_result* result);

  std::unique_ptr<pg_conn, Finish> connection_;
  absl::Duration patience_;  // the longest silence of the server
  std::shared_ptr<const Tap> tap_;
  absl::flat_hash_set<std::string_view> prepared_;  // names, which have static storage
  Notices notices_;
  bool broken_ = false;
  bool given_up_ = false;  // the answer to a whole statement, for silence
  uint32_t timeline_ = 0;
  Counts counts_;
};

}  // namespace holdfast::pg

#endif  // HOLDFAST_STORE_POSTGRES_PG_CONNECTION_H_

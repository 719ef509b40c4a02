// A connection for an operator's command, over libpqxx. Its server is awaited for as long as a
// command takes; traffic has a connection of its own (store-postgres/pg). It is never reopened:
// once broken it stays broken, and with it end the locks of its session.
#ifndef HOLDFAST_STORE_POSTGRES_ADMIN_CONNECTION_H_
#define HOLDFAST_STORE_POSTGRES_ADMIN_CONNECTION_H_

#include "store-postgres/pg/connection.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <functional>
#include <memory>
#include <string>

namespace pqxx {
// NOLINTBEGIN(readability-identifier-naming): the library's own
class connection_base;
class transaction_base;
// NOLINTEND(readability-identifier-naming)
}  // namespace pqxx

namespace holdfast::pg {

// For one thread at a time.
class AdminConnection final {
 public:
  // Connects, with the settings of every connection. UNAVAILABLE in the driver's words, which never
  // hold the password: for the operator alone. INVALID_ARGUMENT when the dsn cannot be read.
  static absl::StatusOr<std::unique_ptr<AdminConnection>> Open(const ConnectOptions& options);

  // Takes what Open made over.
  struct Driver;
  explicit AdminConnection(std::unique_ptr<Driver> driver);
  AdminConnection(const AdminConnection&) = delete;
  AdminConnection& operator=(const AdminConnection&) = delete;
  ~AdminConnection();

  // The host and the port or socket it reached, for the operator.
  [[nodiscard]] const std::string& Peer() const { return peer_; }

  // The rest is for this folder alone.

  // Calls `act`, and answers what it answers. What libpqxx throws meanwhile becomes
  // STORE_UNAVAILABLE that begins with `what`; the outcome is unknown if a COMMIT was not answered.
  absl::Status Do(const std::string& what, const std::function<absl::Status()>& act);

  // Commits `transaction` inside Do. STORE_UNAVAILABLE with the outcome unknown when the server
  // gave a notice with its answer: it may have stopped waiting for its standby, and libpqxx passes
  // on only the words of a notice, which may be translated.
  absl::Status Commit(const std::string& what, pqxx::transaction_base& transaction);

  [[nodiscard]] pqxx::connection_base& driver() const;

 private:
  const std::unique_ptr<Driver> driver_;
  const std::string peer_;
};

}  // namespace holdfast::pg

#endif  // HOLDFAST_STORE_POSTGRES_ADMIN_CONNECTION_H_

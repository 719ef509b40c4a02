// PostgreSQL for tests: databases of one cluster that the tests of this build share, and clusters
// of a test's own, which it may kill. scripts/postgres starts both.
#ifndef HOLDFAST_TESTS_SUPPORT_POSTGRES_H_
#define HOLDFAST_TESTS_SUPPORT_POSTGRES_H_

#include "store-postgres/admin/connection.h"
#include "store-postgres/admin/migrate.h"
#include "store-postgres/pg/connection.h"
#include "tests/support/child_process.h"
#include "tests/support/server_process.h"

#include "absl/time/time.h"

#include <memory>
#include <string>
#include <vector>

namespace holdfast::testing {

// The cluster that the tests of this build share, in this and in other processes; it does not sync
// (fsync=off). Started by the first test that asks, and gone seconds after the last process that
// asked has ended, however it ended. The name of the directory that holds its socket. The test
// fails when there is none.
const std::string& SharedPostgres();

// A connection to `dsn`; the test ends when there is none.
std::unique_ptr<pg::Connection> Connect(const std::string& dsn);
// The same for an operator's command, without a statement timeout.
std::unique_ptr<pg::AdminConnection> ConnectAdmin(const std::string& dsn);

// How the database `name` of the cluster in `directory` is reached.
std::string DsnOf(const std::string& directory, const std::string& name);

// What a database begins with.
enum class Contents {
  kNothing,
  // A store: every migration was taken, and the clock by which leases expire is the test's to move.
  kStore,
};

// A database of the test's own, dropped with its connections when this goes away. For one thread.
class TestDatabase final {
 public:
  // In the shared cluster, or in the one whose socket is in `directory`.
  explicit TestDatabase(Contents contents, const std::string& directory = SharedPostgres());
  TestDatabase(const TestDatabase&) = delete;
  TestDatabase& operator=(const TestDatabase&) = delete;
  ~TestDatabase();

  // Lets `passed` pass on the store's clock.
  void AdvanceClock(absl::Duration passed);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::string dsn() const { return DsnOf(directory_, name_); }

 private:
  const std::string directory_;
  const std::string name_;
};

// A cluster of the test's own. For one thread.
class OwnPostgres final {
 public:
  // `settings` are the server's, "fsync=on"; its data is in a short path of the system's temporary
  // directory, which goes away with this.
  explicit OwnPostgres(std::vector<std::string> settings = {});
  OwnPostgres(const OwnPostgres&) = delete;
  OwnPostgres& operator=(const OwnPostgres&) = delete;
  ~OwnPostgres();

  // Makes this one a standby of `primary`, which is up; before the first Start.
  void CopyFrom(const OwnPostgres& primary);
  // Starts it, again after a Kill or a Stop, and waits until it takes connections.
  void Start();
  // Kills every process of it, as the loss of the machine would.
  void Kill();
  // Ends it in order, and every connection with it.
  void Stop();
  // Stops every process of it where it is, until GoOn: it is there, and says nothing.
  void Pause();
  void GoOn();
  // False when it has ended by itself.
  bool Running() { return process_->Running(); }

  // Where its socket is.
  [[nodiscard]] std::string directory() const { return folder_.File("pg"); }
  [[nodiscard]] std::string dsn(const std::string& database = "postgres") const {
    return DsnOf(directory(), database);
  }
  [[nodiscard]] std::string Log() const { return ReadText(folder_.File("log")); }
  // The process to signal.
  [[nodiscard]] pid_t pid() const { return process_->pid(); }

 private:
  const TestFolder folder_;
  const std::vector<std::string> settings_;
  std::unique_ptr<ChildProcess> process_;
};

}  // namespace holdfast::testing

#endif  // HOLDFAST_TESTS_SUPPORT_POSTGRES_H_

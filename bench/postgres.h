// A PostgreSQL of the bench's own, with everything on that makes a commit durable, and a session
// store in it.
#ifndef HOLDFAST_BENCH_POSTGRES_H_
#define HOLDFAST_BENCH_POSTGRES_H_

#include "bench/child_process.h"
#include "store-postgres/pg/connection.h"
#include "store-postgres/pg/rows.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::bench {

struct Plan;
class Figures;

// Reached by a socket alone. Used by one thread.
class Postgres {
 public:
  // Starts a fresh one that holds one migrated store, and writes its settings to the figures' file.
  // FAILED_PRECONDITION when it does not sync or lies in memory.
  static absl::StatusOr<std::unique_ptr<Postgres>> Start(const Plan& plan, Figures& figures);

  // A cluster of this object's own in `directory`; see Start.
  explicit Postgres(std::string directory) : directory_(std::move(directory)) {}
  Postgres(const Postgres&) = delete;
  Postgres& operator=(const Postgres&) = delete;
  // Kills it and removes its data.
  ~Postgres();

  // Kills it as the loss of the machine would, starts it again and waits until it has recovered.
  absl::Status Crash();

  // Makes another database `name`; it is empty.
  absl::Status MakeDatabase(const std::string& name);
  // The same with a store in it.
  absl::Status MakeStore(const std::string& name);
  // Statements without results, in the store's database.
  absl::Status DoInStore(const std::string& sql);
  // The one number that `sql` answers.
  absl::StatusOr<int64_t> Number(const std::string& sql, const std::string& database = "store");
  // The first column of what `sql` answers from the store's database.
  absl::StatusOr<std::vector<std::string>> Texts(const std::string& sql);
  // Writes everything to the data files, so that no checkpoint falls into what follows.
  absl::Status Checkpoint() { return connection_->Script("CHECKPOINT"); }

  // Processor time that all of its processes have taken so far, in seconds.
  [[nodiscard]] double ProcessorSeconds() const;

  // Where its socket is.
  [[nodiscard]] const std::string& directory() const { return directory_; }
  [[nodiscard]] std::string dsn(const std::string& database = "postgres") const;

 private:
  absl::Status Open();
  absl::StatusOr<pg::Rows> Ask(const std::string& sql, const std::string& database);
  absl::Status CheckSettings(Figures& figures);
  absl::StatusOr<std::unique_ptr<pg::Connection>> Connect(const std::string& database);

  const std::string directory_;
  std::unique_ptr<ChildProcess> process_;
  std::unique_ptr<pg::Connection> connection_;
};

}  // namespace holdfast::bench

#endif  // HOLDFAST_BENCH_POSTGRES_H_

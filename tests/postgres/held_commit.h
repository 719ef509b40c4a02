// Changes that are held at their end, inside COMMIT, for as long as a test wants: there they can be
// cut off, ended and killed.
#ifndef HOLDFAST_TESTS_POSTGRES_HELD_COMMIT_H_
#define HOLDFAST_TESTS_POSTGRES_HELD_COMMIT_H_

#include "store-postgres/pg/connection.h"
#include "tests/postgres/faults_fixture.h"

#include <cstdint>
#include <memory>
#include <string>

namespace holdfast::testing {

// What becomes of a transaction that was held.
enum class Fate : uint8_t { kTakesPlace, kIsRolledBack };
// Whether the server may connect again meanwhile.
enum class Way : uint8_t { kOpen, kShut };

// For the name of a test.
std::string NameOf(Fate fate, Way way);

// The statement that is held: of one change with a message, or of a group.
enum class Holding : uint8_t { kOne = 7, kGroup = 8 };  // the number of the lock

class HeldCommitTest : public FaultsTest {
 protected:
  void SetUp() override;

  // From now on each transaction that writes such a message waits inside COMMIT. Call it once for
  // each kind in a test.
  void Hold(Holding holding);
  // How many wait so.
  [[nodiscard]] int64_t Waiting(Holding holding) const;
  // Waits until one does, and notes it.
  void AwaitCommit(Holding holding);
  // The same of one that has committed and waits for a standby.
  void AwaitStandbyWait();
  // Those that wait go on, also those to come.
  void Release(Holding holding);
  // The backend that was noted commits, or it is ended; and it is through with it.
  void Decide(Fate fate, Holding holding);

  // The one that was noted.
  [[nodiscard]] int64_t backend() const { return backend_; }
  [[nodiscard]] const std::string& transaction() const { return transaction_; }

 private:
  // Waits until there is a row that has its `pid`, and notes the first.
  void Note(const std::string& rows);

  std::unique_ptr<pg::Connection> holder_;
  int64_t backend_ = 0;
  std::string transaction_;
};

}  // namespace holdfast::testing

#endif  // HOLDFAST_TESTS_POSTGRES_HELD_COMMIT_H_

// A store over a database, for tests of what only this store has.
#ifndef HOLDFAST_TESTS_POSTGRES_STORE_FIXTURE_H_
#define HOLDFAST_TESTS_POSTGRES_STORE_FIXTURE_H_

#include "session/refusal.h"
#include "session/store.h"
#include "session/token.h"
#include "tests/support/changes.h"
#include "tests/support/fake_clock.h"
#include "tests/support/postgres_store.h"
#include "tests/support/seeded_random.h"

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::test {

// Sees the statements of a store, and can make one fail. Any thread may call.
class Statements {
 public:
  // What the store's connections are given.
  std::shared_ptr<const pg::Tap> tap();
  // The names of those since the last call, in order.
  std::vector<std::string> Take();
  // The next statement of this name is carried out, and its answer is lost with the connection.
  void LoseAnswerOf(const std::string& name, int times = 1);
  // The next statement of this name is carried out, and what reads its answer throws.
  void ThrowBehind(const std::string& name);

 private:
  std::optional<pg::Failure> After(std::string_view name);

  absl::Mutex mutex_;
  std::vector<std::string> seen_ ABSL_GUARDED_BY(mutex_);
  std::string losing_ ABSL_GUARDED_BY(mutex_);
  int times_ ABSL_GUARDED_BY(mutex_) = 0;
  bool throws_ ABSL_GUARDED_BY(mutex_) = false;
};

// The reason's name, "OK" for none.
std::string ReasonOf(const absl::Status& status);
std::string ReasonOf(const absl::StatusOr<CommitResult>& result);

class PostgresStoreTest : public ::testing::Test {
 protected:
  explicit PostgresStoreTest(const std::string& directory = holdfast::testing::SharedPostgres());
  ~PostgresStoreTest() override { Close(store_); }

  [[nodiscard]] StoreDatabase& database() { return database_; }
  [[nodiscard]] Statements& statements() { return statements_; }
  [[nodiscard]] FakeClock& clock() { return clock_; }
  [[nodiscard]] SeededRandom& random() { return random_; }
  [[nodiscard]] SessionStore& store() { return *store_; }
  [[nodiscard]] Changes& changes() { return changes_; }
  [[nodiscard]] const SessionKey& key() const { return changes_.key(); }
  [[nodiscard]] const LeaseToken& token() const { return token_; }

  // Another server over the same database.
  std::unique_ptr<SessionStore> AnotherServer(std::shared_ptr<const pg::Tap> tap = nullptr);
  static void Close(const std::unique_ptr<SessionStore>& store);
  // Makes so many more of a session, `s1`, `s2` and so on of `s`: rows alone, to be looked at.
  void CopySession(const std::string& session, int copies);
  // Ends the store and opens it again, with what the database's stores keep by then.
  void Reopen() {
    Close(store_);
    store_ = AnotherServer(statements_.tap());
  }
  // Ends the store and its connections.
  void CloseStore() { Close(store_); }
  // The same; returns how many sessions its statements have looked at by an index: connections
  // report their statistics when they end.
  int CloseAndCountReads();

  // Commits a change that must be applied.
  Receipt Apply(const Change& change);
  // The session `alpha` and its token.
  void Create();
  TurnNumber Begin() { return Apply(changes_.Begin(token_)).turn; }
  void RunTurn(std::vector<Message> messages);
  std::vector<std::string> Texts();

 private:
  FakeClock clock_;
  SeededRandom random_;
  StoreDatabase database_;
  Statements statements_;
  std::unique_ptr<SessionStore> store_;
  Changes changes_;
  LeaseToken token_;
};

}  // namespace holdfast::test

#endif  // HOLDFAST_TESTS_POSTGRES_STORE_FIXTURE_H_

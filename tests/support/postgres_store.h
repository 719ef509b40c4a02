// Databases of tests that hold a store of sessions.
#ifndef HOLDFAST_TESTS_SUPPORT_POSTGRES_STORE_H_
#define HOLDFAST_TESTS_SUPPORT_POSTGRES_STORE_H_

#include "session/ids.h"
#include "session/item_writes.h"
#include "session/retention.h"
#include "session/store.h"
#include "store-postgres/pg/connection.h"
#include "tests/support/fake_clock.h"
#include "tests/support/postgres.h"

#include "absl/time/time.h"

#include <memory>
#include <string>

namespace holdfast::test {

// Databases are copies of one, and have the same store id, unless they are migrated one by one.
enum class WhoseStore { kCommon, kOfItsOwn };

// A store's database with what tests do to it. For one thread.
class StoreDatabase {
 public:
  // In the shared cluster, or in the one whose socket is in `directory`.
  explicit StoreDatabase(WhoseStore whose,
                         const std::string& directory = holdfast::testing::SharedPostgres());

  [[nodiscard]] std::string dsn() const { return database_.dsn(); }
  // A store over it, before Init; `tap` sees its statements.
  std::unique_ptr<SessionStore> Make(const Clock& clock, Random& random,
                                     std::shared_ptr<const pg::Tap> tap = nullptr);

  // What a store that is made from now on keeps.
  void SetRetention(const Retention& retention) { retention_ = retention; }
  // What its sessions may have of items.
  void SetItemBounds(const ItemBounds& bounds) { item_bounds_ = bounds; }

  // Stops the database's clock, which from now on moves by Advance alone.
  void StopClock();
  void Advance(absl::Duration passed) { database_.AdvanceClock(passed); }
  // Several statements without parameters; the test fails when one does.
  void Run(const std::string& sql);
  // The one text that `sql` answers.
  std::string AskText(const std::string& sql);
  // From now on each transaction that writes a session or a probe loses its connection at its end,
  // before it is committed. Mended again by MendWrites.
  void BreakWrites();
  void MendWrites();

 private:
  holdfast::testing::TestDatabase database_;
  std::unique_ptr<pg::Connection> connection_;
  Retention retention_;
  ItemBounds item_bounds_;
};

// `text` as a literal of SQL.
std::string Quoted(const std::string& text);

}  // namespace holdfast::test

#endif  // HOLDFAST_TESTS_SUPPORT_POSTGRES_STORE_H_

// What a store gives to the suite: how to make it, how to open it again, and how to bring it into
// the states that only its own files or tables can show. Every store answers every hook; there is
// no opt-out.
#ifndef HOLDFAST_TESTS_CONTRACT_STORE_UNDER_TEST_H_
#define HOLDFAST_TESTS_CONTRACT_STORE_UNDER_TEST_H_

#include "session/ids.h"
#include "session/item_writes.h"
#include "session/retention.h"
#include "session/store.h"
#include "tests/support/fake_clock.h"
#include "tests/support/seeded_random.h"

#include <functional>
#include <memory>
#include <ostream>
#include <string>

namespace holdfast::test {

// One store with its backend, fresh for each case. The hooks that change the backend are called
// while the store is closed, except BreakWrites.
class StoreUnderTest {
 public:
  StoreUnderTest() = default;
  StoreUnderTest(const StoreUnderTest&) = delete;
  StoreUnderTest& operator=(const StoreUnderTest&) = delete;
  virtual ~StoreUnderTest() = default;

  // A store over the backend, before Init.
  virtual std::unique_ptr<SessionStore> Make() = 0;
  // Puts a session there that another store has stamped; answers that store's id.
  virtual StoreId PlantForeign(const SessionKey& key) = 0;
  // Stamps a session of ours with another store's id, as a hand on the disk would; answers that id.
  virtual StoreId Restamp(const SessionKey& key) = 0;
  // Makes the record that this session's resume rests on unreadable.
  virtual void Damage(const SessionKey& key) = 0;
  // Makes the backend refuse writes from the start on: Init must see it.
  virtual void MakeUnwritable() = 0;
  // From now on a write fails after its bytes may have moved, until the store is opened again.
  virtual void BreakWrites() = 0;
  // The end of BreakWrites; called before the store is opened again.
  virtual void MendWrites() = 0;

  // Makes, initialises and activates.
  void Open();
  // Ends the store in order; harmless when none is open.
  void Close();
  void Reopen() {
    Close();
    Open();
  }
  [[nodiscard]] SessionStore& store() { return *store_; }

  // What the store and the case are given; both obey the case.
  [[nodiscard]] FakeClock& clock() { return clock_; }
  [[nodiscard]] SeededRandom& random() { return random_; }
  // What a store that Make makes from now on keeps.
  [[nodiscard]] const Retention& retention() const { return retention_; }
  void SetRetention(const Retention& retention) { retention_ = retention; }
  // What sessions of that store may have in items.
  [[nodiscard]] const ItemBounds& item_bounds() const { return item_bounds_; }
  void SetItemBounds(const ItemBounds& bounds) { item_bounds_ = bounds; }

 private:
  Retention retention_;
  ItemBounds item_bounds_;
  FakeClock clock_;
  SeededRandom random_;
  std::unique_ptr<SessionStore> store_;
};

// A row of the table of stores (stores.cc).
struct StoreFactory {
  std::string name;
  std::function<std::unique_ptr<StoreUnderTest>()> make;

  friend std::ostream& operator<<(std::ostream& out, const StoreFactory& factory) {
    return out << factory.name;
  }
};

}  // namespace holdfast::test

#endif  // HOLDFAST_TESTS_CONTRACT_STORE_UNDER_TEST_H_

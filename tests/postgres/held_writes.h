// Writes that are held in the database until a test lets them go: those that come meanwhile wait
// for whoever writes, and are written together.
#ifndef HOLDFAST_TESTS_POSTGRES_HELD_WRITES_H_
#define HOLDFAST_TESTS_POSTGRES_HELD_WRITES_H_

#include "session/off_core.h"
#include "store-postgres/pg/connection.h"
#include "tests/support/postgres_store.h"

#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace holdfast::test {

class HeldWrites {
 public:
  // From now on every write of a session waits.
  explicit HeldWrites(StoreDatabase& database);

  // Makes `write` on a thread of its own, and returns when it waits: the first one in the
  // database, the others for it.
  void Start(std::function<void()> write);
  // Lets them go, and returns when all have been made.
  void Release();

 private:
  // Counts the threads that wait for the database or for who writes their change.
  struct Waiting final : OffCore::Sharer {
    void Leave() override { ++now; }
    void Return() override { --now; }
    std::atomic<size_t> now = 0;
  };

  Waiting waiting_;
  std::unique_ptr<pg::Connection> lock_;
  std::vector<std::jthread> threads_;  // the last, so that they end before what they use
};

}  // namespace holdfast::test

#endif  // HOLDFAST_TESTS_POSTGRES_HELD_WRITES_H_

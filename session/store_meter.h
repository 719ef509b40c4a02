// What a store tells of its own work, for metrics. A store that has nothing to tell of a kind is
// silent about it.
#ifndef HOLDFAST_SESSION_STORE_METER_H_
#define HOLDFAST_SESSION_STORE_METER_H_

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include <cstddef>
#include <cstdint>
#include <functional>

namespace holdfast {

// Changes that were written together.
struct WrittenGroup {
  size_t changes = 0;
  uint64_t bytes = 0;
};

// The connections of a store to its database.
struct ConnectionUse {
  size_t most = 0;
  size_t open = 0;
  size_t idle = 0;
  uint64_t opened = 0;    // ever
  uint64_t waits = 0;     // for a free one, ever
  uint64_t given_up = 0;  // of them, without success
  absl::Duration waited;  // by all of them together
  uint32_t timeline = 0;  // the newest that was seen; 0: none
};

// What a statement finds out about the database.
struct DatabaseUse {
  uint64_t bytes = 0;
  size_t servers = 0;  // that serve it
};

class StoreMeter {
 public:
  StoreMeter() = default;
  StoreMeter(const StoreMeter&) = delete;
  StoreMeter& operator=(const StoreMeter&) = delete;
  virtual ~StoreMeter() = default;

  // One sync or one statement has written `group`. Called by several threads at once.
  virtual void GroupWritten(const WrittenGroup& group) = 0;
  // How to read the connections: `read` is quick and causes no statement. Called once, before the
  // store is initialised; `read` may be called until the store is destroyed.
  virtual void OnConnections(std::function<ConnectionUse()> read) = 0;
  // How to measure the database, by a statement. Called once, likewise.
  virtual void OnDatabase(std::function<absl::StatusOr<DatabaseUse>()> measure) = 0;

  // One that takes no notice.
  static StoreMeter& None();
};

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_STORE_METER_H_

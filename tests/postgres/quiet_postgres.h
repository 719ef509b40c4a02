// A cluster that writes its log for its clients alone: whatever is written and flushed there is
// theirs, and can be counted.
#ifndef HOLDFAST_TESTS_POSTGRES_QUIET_POSTGRES_H_
#define HOLDFAST_TESTS_POSTGRES_QUIET_POSTGRES_H_

#include "tests/support/postgres.h"

#include <string>

namespace holdfast::test {

// To be inherited from before the fixture that is given its directory.
class QuietPostgres {
 public:
  // `fsync` is "on" where flushes reach the disk and are counted by the database itself.
  explicit QuietPostgres(const std::string& fsync)
      : own_({"fsync=" + fsync, "autovacuum=off", "wal_writer_delay=10s", "checkpoint_timeout=1h",
              "wal_level=minimal", "max_wal_senders=0"}) {
    own_.Start();
  }
  [[nodiscard]] std::string directory() const { return own_.directory(); }

 private:
  holdfast::testing::OwnPostgres own_;
};

}  // namespace holdfast::test

#endif  // HOLDFAST_TESTS_POSTGRES_QUIET_POSTGRES_H_

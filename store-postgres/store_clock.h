// The database's clock as this server reads it.
#ifndef HOLDFAST_STORE_POSTGRES_STORE_CLOCK_H_
#define HOLDFAST_STORE_POSTGRES_STORE_CLOCK_H_

#include "session/clock.h"

#include "absl/time/time.h"

#include <atomic>
#include <cstdint>

namespace holdfast::pg {

// How long replies and grants are kept is the same for every server, so it goes by the one clock
// that they share. Asked with each new connection; in between it goes on with the time since boot,
// which nobody sets. Any thread may call.
class StoreClock {
 public:
  // `clock` outlives it.
  explicit StoreClock(const Clock& clock) : clock_(clock) {}

  // It is `now` at the database.
  void Set(absl::Time now) { booted_at_ = absl::ToUnixMicros(now - clock_.SinceBoot()); }
  // As exact as a record keeps it.
  [[nodiscard]] absl::Time Now() const {
    return absl::FromUnixMicros(
        absl::ToUnixMicros(absl::FromUnixMicros(booted_at_) + clock_.SinceBoot()));
  }

 private:
  const Clock& clock_;
  std::atomic<int64_t> booted_at_ = 0;  // microseconds, by the database's clock
};

}  // namespace holdfast::pg

#endif  // HOLDFAST_STORE_POSTGRES_STORE_CLOCK_H_

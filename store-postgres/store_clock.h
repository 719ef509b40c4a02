// The database's clock as this server reads it.
#ifndef HOLDFAST_STORE_POSTGRES_STORE_CLOCK_H_
#define HOLDFAST_STORE_POSTGRES_STORE_CLOCK_H_

#include "platform/clock.h"

#include "absl/time/time.h"

#include <atomic>
#include <cstdint>

namespace holdfast::pg {

// How long the database may take to say what time it is.
inline constexpr absl::Duration kAnswerMost = absl::Seconds(1);

// How long replies and grants are kept is the same for every server, so it goes by the one clock
// that they share. It is read with each new connection; in between it advances with the time since
// boot, which cannot be set. Any thread may call.
class StoreClock {
 public:
  // `clock` outlives it.
  explicit StoreClock(const Clock& clock) : clock_(clock) {}

  // It was `now` at the database, which was asked `asked` after the boot. An answer that took
  // longer than kAnswerMost is too inaccurate, for the process or the network may have been
  // stopped: only the first one is taken all the same.
  void Set(absl::Time now, absl::Duration asked) {
    const absl::Duration answered = clock_.SinceBoot();
    if (booted_at_ != 0 && answered - asked > kAnswerMost) return;
    booted_at_ = absl::ToUnixMicros(now - answered);
  }
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

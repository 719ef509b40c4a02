// A progress bar on a terminal; nothing elsewhere.
#ifndef HOLDFAST_CLI_REPLAY_PROGRESS_H_
#define HOLDFAST_CLI_REPLAY_PROGRESS_H_

#include "cli/clock.h"
#include "cli/terminal.h"

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

#include <cstdint>
#include <ostream>
#include <string>

namespace holdfast::cli {

// The bar for `done` of `total`, without a line's end.
std::string Bar(uint64_t done, uint64_t total);

// Any thread may call.
class Progress final {
 public:
  // Draws on `out` when `terminal`, which shows it, is present. `out` and `clock` must live as
  // long.
  Progress(std::ostream& out, const Clock& clock, uint64_t total, const Terminal& terminal);

  void Advance();
  // Wipes the bar, so that later output is on a line of its own.
  void Finish();

 private:
  std::ostream& out_;
  const Clock& clock_;
  const uint64_t total_;
  const bool visible_;
  absl::Mutex mutex_;
  uint64_t done_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Duration drawn_ ABSL_GUARDED_BY(mutex_) = -absl::InfiniteDuration();
};

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLI_REPLAY_PROGRESS_H_

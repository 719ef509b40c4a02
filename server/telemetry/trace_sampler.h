// Which calls are recorded as spans: those whose caller records its own, a ratio of those that
// begin a trace, and of both together no more than a number per second, because a caller's flag
// must not fill the storage of traces.
#ifndef HOLDFAST_SERVER_TELEMETRY_TRACE_SAMPLER_H_
#define HOLDFAST_SERVER_TELEMETRY_TRACE_SAMPLER_H_

#include "platform/clock.h"
#include "session/limits.h"

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace holdfast {

struct SamplingOptions {
  double ratio = 1;          // of the traces that begin here, 0 to 1
  bool parent_based = true;  // false: the caller's flag does not count, and the ratio is of all
  size_t roots_per_second = kSampledRootsDefault;
};

// Any thread may call.
class TraceSampler final {
 public:
  // `clock` must outlive this.
  TraceSampler(SamplingOptions options, const Clock& clock) : options_(options), clock_(clock) {}

  // Whether a call of the trace `trace_id` (32 hexadecimal digits) is recorded. `parent` has the
  // caller's trace flags, if there is a caller's span. All servers decide alike for one trace id,
  // but for the number per second.
  bool Sample(std::string_view trace_id, std::optional<uint8_t> parent);

  // Calls that would have been recorded but for the number per second.
  [[nodiscard]] uint64_t beyond_cap() const;

 private:
  [[nodiscard]] bool Wants(std::string_view trace_id, std::optional<uint8_t> parent) const;

  const SamplingOptions options_;
  const Clock& clock_;
  mutable absl::Mutex mutex_;
  int64_t second_ ABSL_GUARDED_BY(mutex_) = -1;
  size_t roots_ ABSL_GUARDED_BY(mutex_) = 0;  // recorded in that second
  uint64_t beyond_cap_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TELEMETRY_TRACE_SAMPLER_H_

#include "server/telemetry/trace_sampler.h"

#include "server/telemetry/span.h"

#include "absl/time/time.h"

#include <charconv>
#include <cmath>

namespace holdfast {
namespace {

// The standard takes the randomness of a trace id from its last 56 bits.
constexpr size_t kRandomDigits = 14;
constexpr int kRandomBits = 56;

// 0 to 2^56 - 1.
uint64_t RandomnessOf(std::string_view trace_id) {
  const std::string_view digits = trace_id.substr(trace_id.size() - kRandomDigits);
  uint64_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number, 16);
  return number;
}

}  // namespace

bool TraceSampler::Wants(std::string_view trace_id, std::optional<uint8_t> parent) const {
  if (parent && options_.parent_based) return (*parent & kSampledFlag) != 0;
  if (trace_id.size() < kRandomDigits) return false;
  const double rejected = std::ldexp(1 - options_.ratio, kRandomBits);
  return static_cast<double>(RandomnessOf(trace_id)) >= rejected;
}

bool TraceSampler::Sample(std::string_view trace_id, std::optional<uint8_t> parent) {
  if (!Wants(trace_id, parent)) return false;
  const int64_t second = absl::ToInt64Seconds(clock_.SinceBoot());
  const absl::MutexLock lock(&mutex_);
  if (second != second_) {
    second_ = second;
    roots_ = 0;
  }
  if (roots_ >= options_.roots_per_second) {
    ++beyond_cap_;
    return false;
  }
  ++roots_;
  return true;
}

uint64_t TraceSampler::beyond_cap() const {
  const absl::MutexLock lock(&mutex_);
  return beyond_cap_;
}

}  // namespace holdfast

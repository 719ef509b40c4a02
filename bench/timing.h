// The median time of a call that is made again and again.
#ifndef HOLDFAST_BENCH_TIMING_H_
#define HOLDFAST_BENCH_TIMING_H_

#include "bench/figures.h"
#include "session/status_macros.h"

#include "absl/status/statusor.h"

#include <chrono>
#include <cstddef>
#include <vector>

namespace holdfast::bench {

// In milliseconds; the first call that fails ends it with its status.
template <typename Call>
absl::StatusOr<double> MedianMilliseconds(size_t times, Call call) {
  std::vector<double> took;
  for (size_t time = 0; time < times; ++time) {
    const auto begin = std::chrono::steady_clock::now();
    RETURN_IF_ERROR(call());
    took.push_back(
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
            .count());
  }
  return Median(std::move(took));
}

}  // namespace holdfast::bench

#endif  // HOLDFAST_BENCH_TIMING_H_

// The times of a call that is made again and again, one at a time.
#ifndef HOLDFAST_BENCH_TIMING_H_
#define HOLDFAST_BENCH_TIMING_H_

#include "bench/closed_loop.h"
#include "bench/figures.h"
#include "platform/status_macros.h"

#include "absl/status/statusor.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace holdfast::bench {

// Of each call, in milliseconds; the first call that fails ends it with its status.
template <typename Call>
absl::StatusOr<std::vector<double>> Milliseconds(size_t times, Call call) {
  std::vector<double> took;
  for (size_t time = 0; time < times; ++time) {
    const auto begin = std::chrono::steady_clock::now();
    RETURN_IF_ERROR(call());
    took.push_back(
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
            .count());
  }
  return took;
}

// The median of them.
template <typename Call>
absl::StatusOr<double> MedianMilliseconds(size_t times, Call call) {
  ASSIGN_OR_RETURN(std::vector<double> took, Milliseconds(times, std::move(call)));
  return Median(std::move(took));
}

// The round of `count` calls.
template <typename Call>
absl::StatusOr<Round> OneByOne(uint64_t count, Call call) {
  const auto begin = std::chrono::steady_clock::now();
  ASSIGN_OR_RETURN(std::vector<double> took, Milliseconds(count, std::move(call)));
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  return Summarise(count, seconds.count(), std::move(took));
}

}  // namespace holdfast::bench

#endif  // HOLDFAST_BENCH_TIMING_H_

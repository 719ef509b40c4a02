// How long calls took. A test compares those under load with calm ones of the same run, because a
// machine that does other work is slower by an unknown factor.
#ifndef HOLDFAST_TESTS_SUPPORT_LATENCIES_H_
#define HOLDFAST_TESTS_SUPPORT_LATENCIES_H_

#include "absl/time/time.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace holdfast::testing {

using Latencies = std::vector<absl::Duration>;

// The one that `percent` of 100 do not exceed; zero when there is none.
inline absl::Duration Percentile(Latencies all, size_t percent) {
  if (all.empty()) return absl::ZeroDuration();
  std::sort(all.begin(), all.end());
  return all[std::min(all.size() - 1, all.size() * percent / 100)];
}

}  // namespace holdfast::testing

#endif  // HOLDFAST_TESTS_SUPPORT_LATENCIES_H_

// How long calls took. A test compares those under load with calm ones of the same run, because a
// machine that does other work is slower by an unknown factor.
#ifndef HOLDFAST_TESTS_SUPPORT_LATENCIES_H_
#define HOLDFAST_TESTS_SUPPORT_LATENCIES_H_

#include "absl/functional/function_ref.h"
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

// What 99 of 100 calls took at most.
struct UnderLoad {
  absl::Duration calm;    // before the load
  absl::Duration loaded;  // under it
};

// Expects that a load at most doubles how long calls take. What it takes of the cores is the
// machine's part: `elsewhere` measures the calls under the same load on another server, and `own`
// under that on theirs. Both are tried again: only what is slow each time is slow by itself.
void ExpectAtMostDoubled(absl::FunctionRef<UnderLoad()> elsewhere,
                         absl::FunctionRef<UnderLoad()> own);

}  // namespace holdfast::testing

#endif  // HOLDFAST_TESTS_SUPPORT_LATENCIES_H_

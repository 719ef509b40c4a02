// Bounds of the configuration's values that nothing else goes by.
#ifndef HOLDFAST_SERVER_CONFIG_LIMITS_H_
#define HOLDFAST_SERVER_CONFIG_LIMITS_H_

#include "session/limits.h"

#include "absl/time/time.h"

#include <cstddef>

namespace holdfast {

// One request of the largest size must fit, or no client could send it.
inline constexpr size_t kMemoryBudgetLeast = kUnaryRequestBytes * kParsedBytesPerWireByte;
inline constexpr size_t kQueuedCallsMost = 1'000'000;
// A week; the transport counts milliseconds in an int.
inline constexpr absl::Duration kConnectionLifeMost = absl::Hours(168);
inline constexpr absl::Duration kDrainTimeoutMost = absl::Hours(1);
// Between two syncs of a store of files with `durability: interval`.
inline constexpr absl::Duration kSyncIntervalMost = absl::Minutes(1);

inline constexpr absl::Duration kEventsKeptShortest = absl::Hours(1);
inline constexpr absl::Duration kEventsKeptLongest = absl::Hours(24 * 3650);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_CONFIG_LIMITS_H_

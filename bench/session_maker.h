// Many sessions, made through the API.
#ifndef HOLDFAST_BENCH_SESSION_MAKER_H_
#define HOLDFAST_BENCH_SESSION_MAKER_H_

#include "bench/served.h"

#include "absl/status/statusor.h"

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace holdfast::bench {

// Creates up to `count` sessions, many at a time, and answers how many there are when that is done
// or `patience` is over.
absl::StatusOr<uint64_t> MakeSessions(Served& served, uint64_t count,
                                      std::chrono::seconds patience);

// How many sessions the server lists, once its listing is complete. UNAVAILABLE when that takes too
// long.
absl::StatusOr<uint64_t> CountSessions(Served& served);

}  // namespace holdfast::bench

#endif  // HOLDFAST_BENCH_SESSION_MAKER_H_

// Sessions of the benches: made, and looked at.
#ifndef HOLDFAST_BENCH_OPEN_SESSION_H_
#define HOLDFAST_BENCH_OPEN_SESSION_H_

#include "bench/fresh_bytes.h"
#include "bench/served.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <string>

namespace holdfast::bench {

// Creates the session `id` of kind OPEN.
absl::Status CreateOpenSession(Served& served, const std::string& id, FreshBytes& fresh);

// The session as it is now.
absl::StatusOr<v1::Session> GetSession(Served& served, const std::string& id);

}  // namespace holdfast::bench

#endif  // HOLDFAST_BENCH_OPEN_SESSION_H_

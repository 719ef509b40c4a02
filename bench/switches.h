// How often the files of sessions in a file store were switched, by rotations and compactions, as
// their manifests say.
#ifndef HOLDFAST_BENCH_SWITCHES_H_
#define HOLDFAST_BENCH_SWITCHES_H_

#include "absl/status/statusor.h"

#include <cstdint>
#include <map>
#include <string>

namespace holdfast::bench {

// By the name of a session's directory.
using Switches = std::map<std::string, uint64_t>;

// Of all sessions of all tenants below a store's `root` whose directory begins with `prefix`.
// UNAVAILABLE when a manifest cannot be read.
absl::StatusOr<Switches> ReadSwitches(const std::string& root, const std::string& prefix);

// The fewest switches of one session between `before` and `after`, which hold the same sessions.
// 0 when there are none.
uint64_t FewestBetween(const Switches& before, const Switches& after);

}  // namespace holdfast::bench

#endif  // HOLDFAST_BENCH_SWITCHES_H_

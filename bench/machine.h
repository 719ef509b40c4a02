// What a figure depends on besides the code.
#ifndef HOLDFAST_BENCH_MACHINE_H_
#define HOLDFAST_BENCH_MACHINE_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <string>

namespace holdfast::bench {

// FAILED_PRECONDITION where nothing could be measured honestly: `directory` lies in memory, or
// something is preloaded that may take the syncs away.
absl::Status CheckMachine(const std::string& directory);

// Lines that begin with `#`: processor, kernel, load, the file system below `directory` and how
// long it takes to sync 8 KB there.
absl::StatusOr<std::string> DescribeMachine(const std::string& directory);

// `load` and its three averages.
std::string LoadLine();

}  // namespace holdfast::bench

#endif  // HOLDFAST_BENCH_MACHINE_H_

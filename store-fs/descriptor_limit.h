// How many files the process may have open, against what a store needs.
#ifndef HOLDFAST_STORE_FS_DESCRIPTOR_LIMIT_H_
#define HOLDFAST_STORE_FS_DESCRIPTOR_LIMIT_H_

#include "absl/status/status.h"

#include <cstddef>

namespace holdfast::fs {

// Each open session keeps a descriptor, and running out of them later would stop the store.
// STORE_UNAVAILABLE when the process may have too few for `open_sessions` and the files that calls
// open for their own length.
absl::Status CheckDescriptorLimit(size_t open_sessions);

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_DESCRIPTOR_LIMIT_H_

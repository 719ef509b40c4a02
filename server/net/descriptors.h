// How many descriptors the process may have.
#ifndef HOLDFAST_SERVER_NET_DESCRIPTORS_H_
#define HOLDFAST_SERVER_NET_DESCRIPTORS_H_

#include "absl/status/status.h"

#include <cstddef>

namespace holdfast {

// Raises the soft limit of open files (RLIMIT_NOFILE) to the hard one. FAILED_PRECONDITION, with
// the numbers and the remedy, when `connections` of clients, what the stores need and
// kOtherDescriptors are more than that.
absl::Status TakeDescriptors(size_t connections, size_t of_stores);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_NET_DESCRIPTORS_H_

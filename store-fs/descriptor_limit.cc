#include "store-fs/descriptor_limit.h"

#include "session/refusal.h"

#include <string>
#include <sys/resource.h>

namespace holdfast::fs {
namespace {

// For connections, and for files that are open for the length of a call.
constexpr rlim_t kOtherDescriptors = 256;

}  // namespace

absl::Status CheckDescriptorLimit(size_t open_sessions) {
  rlimit limit{};
  const rlim_t needed = open_sessions + kOtherDescriptors;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed) return absl::OkStatus();
  return StoreUnavailable("the process may have " + std::to_string(limit.rlim_cur) +
                              " files open and the store needs " + std::to_string(needed) +
                              ": raise the limit (ulimit -n, LimitNOFILE)",
                          Fate::kNoEffect);
}

}  // namespace holdfast::fs

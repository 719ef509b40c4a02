#include "server/net/descriptors.h"

#include "session/limits.h"

#include "absl/strings/str_cat.h"

#include <sys/resource.h>

namespace holdfast {

absl::Status TakeDescriptors(size_t connections, size_t of_stores) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return absl::OkStatus();
  if (limit.rlim_cur < limit.rlim_max) {
    const rlimit raised{.rlim_cur = limit.rlim_max, .rlim_max = limit.rlim_max};
    if (setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  }
  const size_t needed = connections + of_stores + kOtherDescriptors;
  if (limit.rlim_cur >= needed) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the process may have ", limit.rlim_cur, " files open and needs ", needed,
                   ": server.connections ", connections, ", the stores ", of_stores, ", others ",
                   kOtherDescriptors,
                   "; raise the hard limit (ulimit -Hn, LimitNOFILE) or lower server.connections"));
}

}  // namespace holdfast

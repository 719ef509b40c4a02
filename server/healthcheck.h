// `holdfastd healthcheck`: asks a running server whether it serves.
#ifndef HOLDFAST_SERVER_HEALTHCHECK_H_
#define HOLDFAST_SERVER_HEALTHCHECK_H_

#include "absl/status/status.h"

#include <string>

namespace holdfast {

// OK when the server at `address` answers SERVING within a few seconds; UNAVAILABLE with words
// otherwise. A server on all of a machine's addresses is asked on its loopback.
absl::Status AskHealth(const std::string& address);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_HEALTHCHECK_H_

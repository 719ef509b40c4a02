// `holdfastd healthcheck`: asks a running server whether it serves.
#ifndef HOLDFAST_SERVER_HEALTHCHECK_H_
#define HOLDFAST_SERVER_HEALTHCHECK_H_

#include "absl/status/status.h"

#include <string>

namespace holdfast {

struct HealthQuery {
  std::string address;  // HOST:PORT or unix:PATH
  std::string service;  // empty: whether it serves; `liveness`: whether it makes progress
};

// OK when the server answers SERVING within a few seconds; UNAVAILABLE with words otherwise. A
// server on all of a machine's addresses is asked on its loopback.
absl::Status AskHealth(const HealthQuery& query);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_HEALTHCHECK_H_

// The service config that every client may give its channel (protos/holdfast/v1), as this client
// follows it.
#ifndef HOLDFAST_CLI_SERVICE_CONFIG_H_
#define HOLDFAST_CLI_SERVICE_CONFIG_H_

#include "absl/time/time.h"

#include <string>

namespace holdfast::cli {

// How long to wait before a call is sent again.
struct Backoff {
  absl::Duration first;
  absl::Duration longest;
  double growth = 1;
};

// The text, for a channel.
const std::string& ServiceConfigJson();

// What its retry policy says about pauses. Who repeats, and how often, is decided in cli/retry.h.
const Backoff& ServiceBackoff();

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLI_SERVICE_CONFIG_H_

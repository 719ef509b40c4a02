#include "cli/service_config.h"

#include "holdfast/v1/service_config.h"

#include "nlohmann/json.hpp"

namespace holdfast::cli {
namespace {

absl::Duration DurationAt(const nlohmann::json& policy, const char* key) {
  absl::Duration duration;
  absl::ParseDuration(policy.at(key).get<std::string>(), &duration);
  return duration;
}

// The file is part of the build, and a test reads it: what is missing there is no input.
Backoff ReadBackoff() {
  const auto config = nlohmann::json::parse(kHoldfastServiceConfig);
  const auto& policy = config.at("methodConfig").at(0).at("retryPolicy");
  return {.first = DurationAt(policy, "initialBackoff"),
          .longest = DurationAt(policy, "maxBackoff"),
          .growth = policy.at("backoffMultiplier").get<double>()};
}

}  // namespace

const std::string& ServiceConfigJson() {
  static const std::string kText = kHoldfastServiceConfig;
  return kText;
}

const Backoff& ServiceBackoff() {
  static const Backoff kBackoff = ReadBackoff();
  return kBackoff;
}

}  // namespace holdfast::cli

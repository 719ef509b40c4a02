#include "server/config.h"
#include "server/quantities.h"
#include "server/telemetry/trace_resource.h"
#include "server/utf8.h"
#include "session/limits.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast {
namespace {

constexpr std::string_view kPlainScheme = "http://";
constexpr char kEndpointForm[] =
    "must be HOST:PORT or http://HOST:PORT, for example http://127.0.0.1:4317: spans are sent over "
    "gRPC and without TLS";
constexpr char kAttributesForm[] =
    "must be key=value,key=value of at most 64 attributes and 4KiB, each value percent-encoded";
constexpr char kRatioForm[] = "must be a number from 0 to 1";

// HOST:PORT of an endpoint; empty when it is of another form.
std::string AddressOf(std::string_view endpoint) {
  if (endpoint.starts_with(kPlainScheme)) {
    endpoint.remove_prefix(kPlainScheme.size());
    if (endpoint.ends_with('/')) endpoint.remove_suffix(1);
  }
  const std::string address(endpoint);
  const bool other = address.starts_with("unix:") || address.ends_with(":0") ||
                     address.find_first_of("/@?# ") != std::string::npos;
  return other || !IsUtf8(address) || !AddressProblem(address).empty() ? "" : address;
}

std::optional<double> Ratio(const std::string& text) {
  const std::optional<double> ratio = ParseNumber(text);
  return ratio && *ratio >= 0 && *ratio <= 1 ? ratio : std::nullopt;
}

// One of the standard samplers.
struct SamplerRow {
  std::string_view name;
  bool parent_based;
  std::optional<double> ratio;  // absent: OTEL_TRACES_SAMPLER_ARG says it, else 1
};

constexpr std::array<SamplerRow, 6> kSamplers = {
    {{"always_on", false, 1.0},
     {"always_off", false, 0.0},
     {"traceidratio", false, std::nullopt},
     {"parentbased_always_on", true, 1.0},
     {"parentbased_always_off", true, 0.0},
     {"parentbased_traceidratio", true, std::nullopt}}};

void TakeSampler(const TelemetryVariables& variables, TelemetryConfig& config,
                 std::vector<ConfigProblem>& problems) {
  if (variables.sampler.empty()) return;
  const auto* const row = std::ranges::find(kSamplers, variables.sampler, &SamplerRow::name);
  if (row == kSamplers.end()) {
    problems.push_back({.path = "OTEL_TRACES_SAMPLER",
                        .why = "must be always_on, always_off, traceidratio, "
                               "parentbased_always_on, parentbased_always_off or "
                               "parentbased_traceidratio"});
    return;
  }
  config.parent_based = row->parent_based;
  config.sampling_ratio = row->ratio.value_or(1);
  if (row->ratio || variables.sampler_argument.empty()) return;
  if (const auto ratio = Ratio(variables.sampler_argument)) {
    config.sampling_ratio = *ratio;
  } else {
    problems.push_back({.path = "OTEL_TRACES_SAMPLER_ARG", .why = kRatioForm});
  }
}

void TakeEndpoint(const TelemetryVariables& variables, TelemetryConfig& config,
                  std::vector<ConfigProblem>& problems) {
  const bool traces = !variables.traces_endpoint.empty();
  const std::string& endpoint = traces ? variables.traces_endpoint : variables.endpoint;
  if (variables.sdk_disabled == "true") {
    config.otlp_endpoint.clear();
  } else if (!endpoint.empty() && AddressOf(endpoint).empty()) {
    problems.push_back(
        {.path = traces ? "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT" : "OTEL_EXPORTER_OTLP_ENDPOINT",
         .why = kEndpointForm});
  } else if (!endpoint.empty()) {
    config.otlp_endpoint = endpoint;
  }
}

void TakeResource(const TelemetryVariables& variables, TelemetryConfig& config,
                  std::vector<ConfigProblem>& problems) {
  if (!variables.resource_attributes.empty()) {
    const auto attributes = ParseResourceAttributes(variables.resource_attributes);
    if (attributes) {
      config.resource_attributes = variables.resource_attributes;
      const auto name =
          std::ranges::find(*attributes, "service.name", &TraceResource::value_type::first);
      if (name != attributes->end()) config.service_name = name->second;
    } else {
      problems.push_back({.path = "OTEL_RESOURCE_ATTRIBUTES", .why = kAttributesForm});
    }
  }
  if (variables.service_name.empty()) return;
  if (IsUtf8(variables.service_name)) {
    config.service_name = variables.service_name;
  } else {
    problems.push_back({.path = "OTEL_SERVICE_NAME", .why = "must be UTF-8"});
  }
}

}  // namespace

std::string TelemetryConfig::OtlpAddress() const { return AddressOf(otlp_endpoint); }

std::vector<ConfigProblem> TakeVariables(const TelemetryVariables& variables,
                                         TelemetryConfig& config) {
  std::vector<ConfigProblem> problems;
  TakeEndpoint(variables, config, problems);
  TakeSampler(variables, config, problems);
  TakeResource(variables, config, problems);
  return problems;
}

std::vector<ConfigProblem> FindProblems(const TelemetryConfig& config) {
  std::vector<ConfigProblem> problems;
  const auto require = [&problems](bool holds, const char* path, const std::string& why) {
    if (!holds) problems.push_back({.path = path, .why = why});
  };
  require(!config.Traces() || !config.OtlpAddress().empty(), "telemetry.otlp_endpoint",
          kEndpointForm);
  require(!config.service_name.empty(), "telemetry.service_name", "must not be empty");
  require(ParseResourceAttributes(config.resource_attributes).has_value(),
          "telemetry.resource_attributes", kAttributesForm);
  require(config.sampling_ratio >= 0 && config.sampling_ratio <= 1, "telemetry.sampling_ratio",
          kRatioForm);
  const size_t roots = config.sampled_roots_per_second;
  require(roots >= 1 && roots <= kSampledRootsMost, "telemetry.sampled_roots_per_second",
          "must be between 1 and " + std::to_string(kSampledRootsMost));
  return problems;
}

}  // namespace holdfast

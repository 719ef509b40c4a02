// The server's configuration: one struct, its defaults, and its YAML (docs/config.md).
#ifndef HOLDFAST_SERVER_CONFIG_H_
#define HOLDFAST_SERVER_CONFIG_H_

#include "session/limits.h"
#include "session/retention.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast {

struct ServerConfig {
  std::string address = "127.0.0.1:7420";
  size_t workers = 64;
  bool insecure = false;  // serve others than this machine, unprotected
  absl::Duration drain_timeout = absl::Seconds(30);
  size_t connections = kClientConnectionsDefault;
  size_t connections_per_peer = kClientConnectionsPerPeerDefault;
  absl::Duration connection_max_age = kConnectionMaxAgeDefault;
  absl::Duration connection_idle = kConnectionIdleDefault;
  std::string reflection = "auto";  // or "on", "off"
  bool core_dumps = false;          // may leave its memory behind, and be looked into
  bool echo = false;                // offers AdminService.Echo, for benchmarks
  bool operator==(const ServerConfig&) const = default;

  // Whether gRPC's reflection service is there. Without authentication "auto" is on.
  [[nodiscard]] bool Reflects() const { return reflection != "off"; }
  // Whether no other machine reaches the address.
  [[nodiscard]] bool IsLocal() const;
};

struct StoreConfig {
  std::string name;
  std::string kind = "fs";
  bool enabled = true;
  bool active = false;
  // Of kind fs.
  std::string root;
  std::string durability = "sync";  // or "interval"
  absl::Duration interval;          // between syncs; only with "interval"
  bool allow_network_file_system = false;
  // Of kind postgres.
  std::string dsn;       // without a password
  std::string password;  // a reference, env:NAME or file:PATH; empty: as libpq finds one
  size_t connections = kConnectionsDefault;
  size_t group = kGroupMost;  // changes in one statement at most
  bool insecure = false;      // use a database on another machine without verifying it
  // Whether the dsn comes from HOLDFAST_POSTGRES_DSN.
  bool dsn_of_variable = false;
  bool operator==(const StoreConfig&) const = default;

  // Where its sessions are, for a person.
  [[nodiscard]] const std::string& Place() const { return kind == "postgres" ? dsn : root; }
};

struct LimitsConfig {
  size_t queued_calls = kQueuedCallsDefault;
  size_t calls_per_connection = kCallsPerConnectionDefault;
  std::optional<size_t> memory_budget;  // absent: by the container (server/container.h)
  size_t staged_bytes = kStagedBytesDefault;
  size_t watchers = kWatchersDefault;
  absl::Duration watch_progress = kWatchProgressDefault;
  absl::Duration watch_write_timeout = kWatchWriteTimeoutDefault;
  absl::Duration stream_idle = kStreamIdleDefault;
  absl::Duration stream_write_timeout = kStreamWriteTimeoutDefault;
  bool operator==(const LimitsConfig&) const = default;
};

struct RecoveryConfig {
  absl::Duration sweep_interval = absl::Seconds(60);
  absl::Duration abandon_after = absl::Seconds(300);
  absl::Duration cancel_grace = kCancelGraceDefault;
  bool operator==(const RecoveryConfig&) const = default;
};

// What the server says of itself.
struct TelemetryConfig {
  std::string log_level = "info";  // or "warning", "error"
  std::string calls = "all";       // or "refused", "none": which calls have a line in the log
  std::string metrics_address;     // IPV4:PORT of the metrics; empty: none are served
  std::string otlp_endpoint;       // of a receiver of spans; empty: nothing is traced
  std::string service_name = "holdfast";
  std::string resource_attributes;  // key=value,key=value, values percent-encoded
  double sampling_ratio = 1;
  bool parent_based = true;  // a caller that records its span, or does not, decides
  size_t sampled_roots_per_second = kSampledRootsDefault;
  bool operator==(const TelemetryConfig&) const = default;

  [[nodiscard]] bool Traces() const { return !otlp_endpoint.empty(); }
  // The endpoint as HOST:PORT; empty when it is of another form.
  [[nodiscard]] std::string OtlpAddress() const;
};

// Names a secret's value without holding it: `env:NAME` or `file:PATH`.
struct SecretReference {
  std::string text;
  std::string place;  // "line 5: secrets.known[0]", for a diagnostic
  bool operator==(const SecretReference& other) const { return text == other.text; }
};

// What must not be stored.
struct SecretsConfig {
  std::vector<SecretReference> known;
  std::vector<std::string> patterns;  // of RE2
  bool operator==(const SecretsConfig&) const = default;
};

struct Config {
  ServerConfig server;
  std::vector<StoreConfig> stores;
  LimitsConfig limits;
  RecoveryConfig recovery;
  Retention retention;
  TelemetryConfig telemetry;
  SecretsConfig secrets;
  bool operator==(const Config&) const = default;

  // The one store that is active; the configuration must be valid.
  [[nodiscard]] const StoreConfig& ActiveStore() const;
};

// The variables that set keys of `telemetry`; empty is unset.
struct TelemetryVariables {
  std::string endpoint;             // OTEL_EXPORTER_OTLP_ENDPOINT
  std::string traces_endpoint;      // OTEL_EXPORTER_OTLP_TRACES_ENDPOINT
  std::string sampler;              // OTEL_TRACES_SAMPLER
  std::string sampler_argument;     // OTEL_TRACES_SAMPLER_ARG
  std::string service_name;         // OTEL_SERVICE_NAME
  std::string resource_attributes;  // OTEL_RESOURCE_ATTRIBUTES
  std::string sdk_disabled;         // OTEL_SDK_DISABLED
};

// What the configuration takes from the environment; empty is unset.
struct Environment {
  std::string config_file;   // HOLDFAST_CONFIG
  std::string state_home;    // XDG_STATE_HOME
  std::string home;          // HOME
  std::string postgres_dsn;  // HOLDFAST_POSTGRES_DSN
  TelemetryVariables telemetry;

  static Environment OfProcess();
};

// What serves without a file: one active store, in the database that the environment names, else of
// files below the user's state directory.
Config DefaultConfig(const Environment& environment);

// The configuration that `yaml` states over the defaults. INVALID_ARGUMENT with one line per
// violation, all of them: unknown keys and wrong types with path and line, and what Validate finds.
absl::StatusOr<Config> ParseConfig(const std::string& yaml, const Environment& environment);

// Reads the file named by `flag`, else by the environment; without either, the defaults. NOT_FOUND
// or INVALID_ARGUMENT, with words for the operator.
absl::StatusOr<Config> LoadConfig(const std::string& flag, const Environment& environment);

// What is wrong with one value: its path, for example `server.workers`, and what would be valid.
struct ConfigProblem {
  std::string path;
  std::string why;
};

// Puts the values of `variables` in the place of those of `config`. Answers what is wrong with one,
// by the variable's name; it is not taken.
std::vector<ConfigProblem> TakeVariables(const TelemetryVariables& variables,
                                         TelemetryConfig& config);

// Every value of `config` that is not valid.
std::vector<ConfigProblem> FindProblems(const TelemetryConfig& config);

// Every value that is not valid; a kind of store that does not exist is the only problem of its
// store.
std::vector<ConfigProblem> FindProblems(const Config& config);

// OK, or INVALID_ARGUMENT with one line per violation: "path: why".
absl::Status Validate(const Config& config);

// What is wrong with an address to serve at; empty for HOST:PORT and unix:PATH.
std::string AddressProblem(const std::string& address);

// YAML that parses to the same configuration.
std::string PrintConfig(const Config& config);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_CONFIG_H_

#include "server/config.h"
#include "server/config_limits.h"
#include "server/socket_file.h"
#include "server/stores.h"
#include "server/utf8.h"
#include "session/ids.h"
#include "session/limits.h"

#include "absl/strings/str_join.h"

#include <algorithm>
#include <arpa/inet.h>
#include <charconv>
#include <cstddef>
#include <netinet/in.h>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <system_error>
#include <utility>
#include <vector>

namespace holdfast {
namespace {

constexpr int kPortMost = 65535;

class Violations {
 public:
  void Add(const std::string& path, std::string_view why) {
    found_.push_back({.path = path, .why = std::string(why)});
  }
  void Require(bool holds, const std::string& path, std::string_view why) {
    if (!holds) Add(path, why);
  }
  void Add(const std::vector<ConfigProblem>& problems) {
    found_.insert(found_.end(), problems.begin(), problems.end());
  }
  std::vector<ConfigProblem> Take() { return std::move(found_); }

 private:
  std::vector<ConfigProblem> found_;
};

// The host of HOST:PORT, brackets of an IPv6 address removed; nullopt when it is not of that form.
std::optional<std::string> HostOf(std::string_view address) {
  const size_t colon = address.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  const std::string_view host = address.substr(0, colon);
  const std::string_view port = address.substr(colon + 1);
  int number = -1;
  const auto [rest, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  if (error != std::errc() || rest != port.data() + port.size()) return std::nullopt;
  if (number < 0 || number > kPortMost) return std::nullopt;
  if (host.starts_with('[') != host.ends_with(']')) return std::nullopt;
  if (host.starts_with('[')) return std::string(host.substr(1, host.size() - 2));
  if (host.find(':') != std::string_view::npos) return std::nullopt;
  return std::string(host);
}

bool IsLoopback(std::string_view host) {
  if (host == "localhost" || host == "::1") return true;
  // Digits and dots only: 127.example.org is a name, and may be anywhere.
  return host.starts_with("127.") &&
         host.find_first_not_of("0123456789.") == std::string_view::npos;
}

bool IsIpv4(const std::string& host) {
  in_addr address{};
  return inet_pton(AF_INET, host.c_str(), &address) == 1;
}

void CheckAddress(const ServerConfig& server, Violations& out) {
  const std::string problem = AddressProblem(server.address);
  out.Require(problem.empty(), "server.address", problem);
  if (!problem.empty() || SocketFile::PathIn(server.address)) return;
  if (!IsLoopback(*HostOf(server.address))) {
    out.Require(server.insecure, "server.address",
                "serves other machines, which have no way to prove who they are: say "
                "server.insecure: true if that is wanted");
  }
}

void CheckMetrics(const Config& config, Violations& out) {
  const std::string& address = config.telemetry.metrics_address;
  if (address.empty()) return;
  const std::optional<std::string> host = HostOf(address);
  if (!host || !IsIpv4(*host)) {
    return out.Add("telemetry.metrics_address",
                   "must be IPV4:PORT, for example 127.0.0.1:9464, or empty");
  }
  out.Require(config.server.insecure || IsLoopback(*host), "telemetry.metrics_address",
              "shows the metrics to other machines, which have no way to prove who they are: say "
              "server.insecure: true if that is wanted");
}

void CheckConnections(const ServerConfig& server, Violations& out) {
  const std::string most = "must be between 1 and " + std::to_string(kClientConnectionsMost);
  const auto sensible = [](size_t count) { return count >= 1 && count <= kClientConnectionsMost; };
  out.Require(sensible(server.connections), "server.connections", most);
  out.Require(sensible(server.connections_per_peer), "server.connections_per_peer", most);
  const auto bounded = [](absl::Duration value) {
    return value >= absl::Seconds(1) && value <= kConnectionLifeMost;
  };
  out.Require(bounded(server.connection_max_age), "server.connection_max_age",
              "must be between 1s and 168h");
  out.Require(bounded(server.connection_idle), "server.connection_idle",
              "must be between 1s and 168h");
}

void CheckServer(const ServerConfig& server, Violations& out) {
  CheckAddress(server, out);
  CheckConnections(server, out);
  out.Require(
      server.reflection == "auto" || server.reflection == "on" || server.reflection == "off",
      "server.reflection", "must be auto, on or off");
  out.Require(server.workers >= 1 && server.workers <= kWorkersMost, "server.workers",
              "must be between 1 and " + std::to_string(kWorkersMost));
  out.Require(server.drain_timeout <= kDrainTimeoutMost, "server.drain_timeout",
              "must be at most 1h");
}

// The source of the dsn of the store at `path`: the line of the file may hold another one.
std::string DsnPlace(const StoreConfig& store, const std::string& path) {
  return store.dsn_of_variable ? "HOLDFAST_POSTGRES_DSN" : path + ".dsn";
}

void CheckDatabase(const StoreConfig& store, const std::string& path, Violations& out) {
  const std::string problem =
      IsUtf8(store.dsn) ? DatabaseProblem(store.dsn) : std::string("must be UTF-8");
  const std::string place = DsnPlace(store, path);
  out.Require(problem.empty(), place, problem);
  const std::string unproven =
      problem.empty() && !store.insecure ? DatabaseTransportProblem(store.dsn) : "";
  out.Require(unproven.empty(), place,
              unproven + ", or " + path + ".insecure: true if that is wanted");
  out.Require(store.connections >= kConnectionsLeast && store.connections <= kConnectionsMost,
              path + ".connections",
              "must be between " + std::to_string(kConnectionsLeast) + " and " +
                  std::to_string(kConnectionsMost));
  out.Require(store.group >= 1 && store.group <= kGroupMost, path + ".group",
              "must be between 1 and " + std::to_string(kGroupMost));
}

void CheckDirectory(const StoreConfig& store, const std::string& path, Violations& out) {
  out.Require(store.root.starts_with('/'), path + ".root",
              store.root.empty() ? "has no default here, for neither XDG_STATE_HOME nor HOME is set"
                                 : "must be an absolute path");
  const bool interval = store.durability == "interval";
  out.Require(interval || store.durability == "sync", path + ".durability",
              "must be sync or interval");
  if (interval) {
    out.Require(store.interval > absl::ZeroDuration() && store.interval <= kSyncIntervalMost,
                path + ".interval", "must be between 1ms and 1m where durability is interval");
  } else {
    out.Require(store.interval == absl::ZeroDuration(), path + ".interval",
                "goes with durability: interval alone");
  }
}

void CheckStores(const std::vector<StoreConfig>& stores, Violations& out) {
  std::set<std::string> names;
  std::set<std::string> places;
  size_t active = 0;
  for (size_t i = 0; i < stores.size(); ++i) {
    const StoreConfig& store = stores[i];
    const std::string path = "stores[" + std::to_string(i) + "]";
    out.Require(TenantId::Parse(store.name).has_value(), path + ".name",
                "must be 1 to 64 of A-Z a-z 0-9 . _ -");
    if (store.enabled && store.active) ++active;
    const bool database = store.kind == "postgres";
    if (!database && store.kind != "fs") {
      out.Add(path + ".kind", "is not a kind of store this server has; it has: fs, postgres");
      continue;
    }
    if (database) {
      CheckDatabase(store, path, out);
    } else {
      CheckDirectory(store, path, out);
    }
    out.Require(names.insert(store.name).second, path + ".name", "is another store's name");
    out.Require(places.insert(store.Place()).second,
                database ? DsnPlace(store, path) : path + ".root",
                database ? "is another store's dsn" : "is another store's root");
  }
  out.Require(active == 1, "stores",
              "exactly one enabled store must be active, and " + std::to_string(active) + " are");
}

void CheckStreams(const LimitsConfig& limits, Violations& out) {
  out.Require(limits.watchers >= 1 && limits.watchers <= kWatchersMost, "limits.watchers",
              "must be between 1 and " + std::to_string(kWatchersMost));
  const auto check = [&out](absl::Duration value, const char* path) {
    out.Require(value >= absl::Seconds(1) && value <= absl::Hours(1), path,
                "must be between 1s and 1h");
  };
  check(limits.watch_progress, "limits.watch_progress");
  check(limits.watch_write_timeout, "limits.watch_write_timeout");
  check(limits.stream_idle, "limits.stream_idle");
  check(limits.stream_write_timeout, "limits.stream_write_timeout");
}

void CheckRetention(const Retention& retention, Violations& out) {
  out.Require(retention.snapshots >= 1 && retention.snapshots <= kSnapshotsKeptMost,
              "retention.snapshots", "must be between 1 and " + std::to_string(kSnapshotsKeptMost));
  out.Require(retention.events >= kEventsKeptShortest && retention.events <= kEventsKeptLongest,
              "retention.events", "must be between 1h and 87600h");
}

void CheckTelemetry(const TelemetryConfig& telemetry, Violations& out) {
  const std::string& level = telemetry.log_level;
  out.Require(level == "info" || level == "warning" || level == "error", "telemetry.log_level",
              "must be info, warning or error");
  const std::string& calls = telemetry.calls;
  out.Require(calls == "all" || calls == "refused" || calls == "none", "telemetry.calls",
              "must be all, refused or none");
}

}  // namespace

bool ServerConfig::IsLocal() const {
  if (SocketFile::PathIn(address)) return true;
  const std::optional<std::string> host = HostOf(address);
  return host && IsLoopback(*host);
}

std::string AddressProblem(const std::string& address) {
  if (const auto path = SocketFile::PathIn(address)) return SocketFile::Problem(*path);
  if (HostOf(address)) return "";
  return "must be HOST:PORT, for example 127.0.0.1:7420, or unix:PATH";
}

std::vector<ConfigProblem> FindProblems(const Config& config) {
  Violations out;
  CheckServer(config.server, out);
  CheckStores(config.stores, out);
  const size_t queued = config.limits.queued_calls;
  out.Require(queued >= 1 && queued <= kQueuedCallsMost, "limits.queued_calls",
              "must be between 1 and " + std::to_string(kQueuedCallsMost));
  const size_t calls = config.limits.calls_per_connection;
  out.Require(calls >= 1 && calls <= kCallsPerConnectionMost, "limits.calls_per_connection",
              "must be between 1 and " + std::to_string(kCallsPerConnectionMost));
  const std::optional<size_t> budget = config.limits.memory_budget;
  out.Require(!budget || *budget >= kMemoryBudgetLeast, "limits.memory_budget",
              "must be at least 400MiB, which one request of 4MiB may take");
  out.Require(config.limits.staged_bytes >= kSnapshotBytes, "limits.staged_bytes",
              "must be at least 256MiB, which one commit may stream");
  CheckStreams(config.limits, out);
  out.Require(config.recovery.sweep_interval >= absl::Seconds(1), "recovery.sweep_interval",
              "must be at least 1s");
  out.Require(config.recovery.abandon_after >= absl::Seconds(1), "recovery.abandon_after",
              "must be at least 1s");
  out.Require(config.recovery.cancel_grace >= absl::Seconds(1), "recovery.cancel_grace",
              "must be at least 1s");
  CheckRetention(config.retention, out);
  CheckTelemetry(config.telemetry, out);
  CheckMetrics(config, out);
  out.Add(FindProblems(config.telemetry));
  out.Require(config.secrets.known.size() <= kKnownSecretsMost, "secrets.known",
              "may have at most " + std::to_string(kKnownSecretsMost) + " entries");
  out.Require(config.secrets.patterns.size() <= kSecretPatternsMost, "secrets.patterns",
              "may have at most " + std::to_string(kSecretPatternsMost) + " entries");
  return out.Take();
}

absl::Status Validate(const Config& config) {
  const std::vector<ConfigProblem> problems = FindProblems(config);
  if (problems.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrJoin(problems, "\n", [](std::string* out, const ConfigProblem& problem) {
        out->append(problem.path + ": " + problem.why);
      }));
}

}  // namespace holdfast

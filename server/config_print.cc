#include "server/config.h"
#include "server/quantities.h"

#include <yaml-cpp/yaml.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast {
namespace {

// Quoted only where it must be, so that the print reads like what a person would write.
void Text(YAML::Emitter& out, const char* key, const std::string& text) {
  const bool plain = !text.empty() &&
                     text.find_first_not_of("0123456789.") != std::string_view::npos &&
                     text.find_first_not_of(
                         "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                         "0123456789/._:-") == std::string_view::npos &&
                     text != "true" && text != "false" && text != "null" && text.front() != '-' &&
                     text.back() != ':';
  out << YAML::Key << key << YAML::Value;
  if (!plain) out << YAML::DoubleQuoted;
  out << text;
}

void Server(YAML::Emitter& out, const ServerConfig& server) {
  out << YAML::Key << "server" << YAML::Value << YAML::BeginMap;
  Text(out, "address", server.address);
  out << YAML::Key << "workers" << YAML::Value << server.workers;
  out << YAML::Key << "insecure" << YAML::Value << server.insecure;
  out << YAML::Key << "drain_timeout" << YAML::Value << DurationText(server.drain_timeout);
  out << YAML::Key << "connections" << YAML::Value << server.connections;
  out << YAML::Key << "connections_per_peer" << YAML::Value << server.connections_per_peer;
  out << YAML::Key << "connection_max_age" << YAML::Value
      << DurationText(server.connection_max_age);
  out << YAML::Key << "connection_idle" << YAML::Value << DurationText(server.connection_idle);
  Text(out, "reflection", server.reflection);
  out << YAML::Key << "core_dumps" << YAML::Value << server.core_dumps;
  out << YAML::Key << "echo" << YAML::Value << server.echo;
  out << YAML::EndMap;
}

void Store(YAML::Emitter& out, const StoreConfig& store) {
  out << YAML::BeginMap;
  Text(out, "name", store.name);
  Text(out, "kind", store.kind);
  out << YAML::Key << "enabled" << YAML::Value << store.enabled;
  out << YAML::Key << "active" << YAML::Value << store.active;
  if (store.kind == "postgres") {
    Text(out, "dsn", store.dsn);
    if (!store.password.empty()) Text(out, "password", store.password);
    out << YAML::Key << "connections" << YAML::Value << store.connections;
    out << YAML::Key << "group" << YAML::Value << store.group;
    out << YAML::Key << "insecure" << YAML::Value << store.insecure;
    out << YAML::EndMap;
    return;
  }
  Text(out, "root", store.root);
  Text(out, "durability", store.durability);
  if (store.durability == "interval") {
    out << YAML::Key << "interval" << YAML::Value << DurationText(store.interval);
  }
  out << YAML::Key << "allow_network_file_system" << YAML::Value << store.allow_network_file_system;
  out << YAML::EndMap;
}

void Telemetry(YAML::Emitter& out, const TelemetryConfig& telemetry) {
  out << YAML::Key << "telemetry" << YAML::Value << YAML::BeginMap;
  Text(out, "log_level", telemetry.log_level);
  Text(out, "calls", telemetry.calls);
  Text(out, "metrics_address", telemetry.metrics_address);
  Text(out, "otlp_endpoint", telemetry.otlp_endpoint);
  Text(out, "service_name", telemetry.service_name);
  Text(out, "resource_attributes", telemetry.resource_attributes);
  out << YAML::Key << "sampling_ratio" << YAML::Value << NumberText(telemetry.sampling_ratio);
  out << YAML::Key << "parent_based" << YAML::Value << telemetry.parent_based;
  out << YAML::Key << "sampled_roots_per_second" << YAML::Value
      << telemetry.sampled_roots_per_second;
  out << YAML::EndMap;
}

// References only: a value is never part of the configuration. Patterns are quoted, for their signs
// mean something to YAML too.
void Secrets(YAML::Emitter& out, const SecretsConfig& secrets) {
  out << YAML::Key << "secrets" << YAML::Value << YAML::BeginMap;
  out << YAML::Key << "known" << YAML::Value << YAML::Flow << YAML::BeginSeq;
  for (const SecretReference& known : secrets.known) out << YAML::DoubleQuoted << known.text;
  out << YAML::EndSeq << YAML::Key << "patterns" << YAML::Value << YAML::Flow << YAML::BeginSeq;
  for (const std::string& pattern : secrets.patterns) out << YAML::DoubleQuoted << pattern;
  out << YAML::EndSeq << YAML::EndMap;
}

}  // namespace

std::string PrintConfig(const Config& config) {
  YAML::Emitter out;
  out << YAML::BeginMap;
  Server(out, config.server);
  out << YAML::Key << "stores" << YAML::Value << YAML::BeginSeq;
  for (const StoreConfig& store : config.stores) Store(out, store);
  out << YAML::EndSeq;
  out << YAML::Key << "limits" << YAML::Value << YAML::BeginMap;
  out << YAML::Key << "queued_calls" << YAML::Value << config.limits.queued_calls;
  out << YAML::Key << "calls_per_connection" << YAML::Value << config.limits.calls_per_connection;
  const std::optional<size_t> budget = config.limits.memory_budget;
  out << YAML::Key << "memory_budget" << YAML::Value << (budget ? SizeText(*budget) : "auto");
  out << YAML::Key << "staged_bytes" << YAML::Value << SizeText(config.limits.staged_bytes);
  out << YAML::Key << "watchers" << YAML::Value << config.limits.watchers;
  out << YAML::Key << "watch_progress" << YAML::Value << DurationText(config.limits.watch_progress);
  out << YAML::Key << "watch_write_timeout" << YAML::Value
      << DurationText(config.limits.watch_write_timeout);
  out << YAML::Key << "stream_idle" << YAML::Value << DurationText(config.limits.stream_idle);
  out << YAML::Key << "stream_write_timeout" << YAML::Value
      << DurationText(config.limits.stream_write_timeout);
  out << YAML::EndMap;
  out << YAML::Key << "recovery" << YAML::Value << YAML::BeginMap;
  out << YAML::Key << "sweep_interval" << YAML::Value
      << DurationText(config.recovery.sweep_interval);
  out << YAML::Key << "abandon_after" << YAML::Value << DurationText(config.recovery.abandon_after);
  out << YAML::Key << "cancel_grace" << YAML::Value << DurationText(config.recovery.cancel_grace);
  out << YAML::EndMap;
  out << YAML::Key << "retention" << YAML::Value << YAML::BeginMap;
  out << YAML::Key << "snapshots" << YAML::Value << config.retention.snapshots;
  out << YAML::Key << "events" << YAML::Value << DurationText(config.retention.events);
  out << YAML::EndMap;
  Telemetry(out, config.telemetry);
  Secrets(out, config.secrets);
  out << YAML::EndMap;
  return std::string(out.c_str()) + "\n";
}

}  // namespace holdfast

#include "server/config.h"

#include "server/quantities.h"
#include "server/secrets.h"
#include "server/utf8.h"
#include "server/yaml_reader.h"

#include "absl/strings/str_join.h"
#include <yaml-cpp/eventhandler.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

namespace holdfast {
namespace {

constexpr char kDefaultStore[] = "local";
constexpr char kDefaultDatabase[] = "team";

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// $XDG_STATE_HOME/holdfast or ~/.local/state/holdfast; empty when neither is known. The standard
// says to ignore a relative path.
std::string DefaultRoot(const Environment& environment) {
  if (environment.state_home.starts_with('/')) return environment.state_home + "/holdfast";
  if (environment.home.starts_with('/')) return environment.home + "/.local/state/holdfast";
  return "";
}

void ReadServer(YamlReader& reader, const YAML::Node& node, ServerConfig& out) {
  reader.Map(node, "server",
             {{"address", reader.Text(out.address)},
              {"workers", reader.Count(out.workers)},
              {"insecure", reader.Flag(out.insecure)},
              {"drain_timeout", reader.Duration(out.drain_timeout)},
              {"connections", reader.Count(out.connections)},
              {"connections_per_peer", reader.Count(out.connections_per_peer)},
              {"connection_max_age", reader.Duration(out.connection_max_age)},
              {"connection_idle", reader.Duration(out.connection_idle)},
              {"reflection", reader.Text(out.reflection)},
              {"core_dumps", reader.Flag(out.core_dumps)},
              {"echo", reader.Flag(out.echo)}});
}

// A text that `problem` finds nothing wrong with.
std::optional<std::string> ReadChecked(YamlReader& reader, const YAML::Node& node,
                                       const std::string& path,
                                       std::string (*problem)(const std::string&)) {
  const size_t before = reader.problems().size();
  std::string text;
  reader.Text(text)(node, path);
  if (reader.problems().size() > before) return std::nullopt;
  if (const std::string why = problem(text); !why.empty()) {
    reader.Refuse(node, path, why);
    return std::nullopt;
  }
  return text;
}

// A reference to a secret; the refusal of another text does not repeat it.
YamlReader::Read Reference(YamlReader& reader, std::string& out) {
  return [&reader, &out](const YAML::Node& node, const std::string& path) {
    out = ReadChecked(reader, node, path, ReferenceProblem).value_or("");
  };
}

void ReadDatabase(YamlReader& reader, const YAML::Node& node, const std::string& path,
                  const Environment& environment, StoreConfig& out) {
  reader.Map(node, path,
             {{"name", reader.Text(out.name)},
              {"kind", reader.Text(out.kind)},
              {"enabled", reader.Flag(out.enabled)},
              {"active", reader.Flag(out.active)},
              {"dsn", reader.Text(out.dsn)},
              {"password", Reference(reader, out.password)},
              {"connections", reader.Count(out.connections)},
              {"group", reader.Count(out.group)},
              {"insecure", reader.Flag(out.insecure)}});
  out.root.clear();
  if (environment.postgres_dsn.empty()) return;
  out.dsn = environment.postgres_dsn;
  out.dsn_of_variable = true;
}

void ReadStore(YamlReader& reader, const YAML::Node& node, const std::string& path,
               const Environment& environment, StoreConfig& out) {
  // Another kind has other keys, so where there is no such kind only what all have is read.
  const bool says = node.IsMap() && node["kind"] && node["kind"].IsScalar();
  if (says && node["kind"].Scalar() == "postgres") {
    return ReadDatabase(reader, node, path, environment, out);
  }
  if (says && node["kind"].Scalar() != "fs") {
    reader.Map(node, path,
               {{"name", reader.Text(out.name)},
                {"kind", reader.Text(out.kind)},
                {"enabled", reader.Flag(out.enabled)},
                {"active", reader.Flag(out.active)}},
               YamlReader::Unknown::kIgnore);
    return;
  }
  reader.Map(node, path,
             {{"name", reader.Text(out.name)},
              {"kind", reader.Text(out.kind)},
              {"enabled", reader.Flag(out.enabled)},
              {"active", reader.Flag(out.active)},
              {"root", reader.Text(out.root)},
              {"durability", reader.Text(out.durability)},
              {"interval", reader.Duration(out.interval)},
              {"allow_network_file_system", reader.Flag(out.allow_network_file_system)}});
}

void ReadStores(YamlReader& reader, const YAML::Node& node, const Environment& environment,
                std::vector<StoreConfig>& out) {
  out.clear();
  reader.Sequence(node, "stores", [&](const YAML::Node& item, const std::string& path) {
    StoreConfig store{.root = DefaultRoot(environment)};
    ReadStore(reader, item, path, environment, store);
    out.push_back(store);
  });
}

// A size, or `auto` for an absent one.
YamlReader::Read SizeOrAuto(YamlReader& reader, std::optional<size_t>& out) {
  return [&reader, &out](const YAML::Node& node, const std::string& path) {
    out = node.IsScalar() ? ParseSize(node.Scalar()) : std::nullopt;
    if (out || (node.IsScalar() && node.Scalar() == "auto")) return;
    reader.Refuse(node, path, "must be auto or a size, for example 4MiB");
  };
}

void ReadLimits(YamlReader& reader, const YAML::Node& node, LimitsConfig& out) {
  reader.Map(node, "limits",
             {{"queued_calls", reader.Count(out.queued_calls)},
              {"calls_per_connection", reader.Count(out.calls_per_connection)},
              {"memory_budget", SizeOrAuto(reader, out.memory_budget)},
              {"staged_bytes", reader.Size(out.staged_bytes)},
              {"watchers", reader.Count(out.watchers)},
              {"watch_progress", reader.Duration(out.watch_progress)},
              {"watch_write_timeout", reader.Duration(out.watch_write_timeout)},
              {"stream_idle", reader.Duration(out.stream_idle)},
              {"stream_write_timeout", reader.Duration(out.stream_write_timeout)}});
}

void ReadRecovery(YamlReader& reader, const YAML::Node& node, RecoveryConfig& out) {
  reader.Map(node, "recovery",
             {{"sweep_interval", reader.Duration(out.sweep_interval)},
              {"abandon_after", reader.Duration(out.abandon_after)},
              {"cancel_grace", reader.Duration(out.cancel_grace)}});
}

void ReadRetention(YamlReader& reader, const YAML::Node& node, Retention& out) {
  reader.Map(node, "retention",
             {{"snapshots", reader.Count(out.snapshots)}, {"events", reader.Duration(out.events)}});
}

void ReadTelemetry(YamlReader& reader, const YAML::Node& node, TelemetryConfig& out) {
  reader.Map(node, "telemetry",
             {{"log_level", reader.Text(out.log_level)},
              {"calls", reader.Text(out.calls)},
              {"metrics_address", reader.Text(out.metrics_address)},
              {"otlp_endpoint", reader.Text(out.otlp_endpoint)},
              {"service_name", reader.Text(out.service_name)},
              {"resource_attributes", reader.Text(out.resource_attributes)},
              {"sampling_ratio", reader.Number(out.sampling_ratio)},
              {"parent_based", reader.Flag(out.parent_based)},
              {"sampled_roots_per_second", reader.Count(out.sampled_roots_per_second)}});
}

void ReadSecrets(YamlReader& reader, const YAML::Node& node, SecretsConfig& out) {
  const auto known = [&](const YAML::Node& item, const std::string& path) {
    const auto text = ReadChecked(reader, item, path, ReferenceProblem);
    const std::string line = std::to_string(item.Mark().line + 1);
    if (text) out.known.push_back({.text = *text, .place = "line " + line + ": " + path});
  };
  const auto pattern = [&](const YAML::Node& item, const std::string& path) {
    const auto text = ReadChecked(reader, item, path, PatternProblem);
    if (text) out.patterns.push_back(*text);
  };
  reader.Map(node, "secrets",
             {{"known", [&](const YAML::Node& list,
                            const std::string& path) { reader.Sequence(list, path, known); }},
              {"patterns", [&](const YAML::Node& list, const std::string& path) {
                 reader.Sequence(list, path, pattern);
               }}});
}

// Takes no notice of what a document holds.
class IgnoresEvents final : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}
};

// Asks for two documents and no more: of a text like "," the library makes documents without end.
bool HasAnotherDocument(const std::string& yaml) {
  std::istringstream text(yaml);
  YAML::Parser parser(text);
  IgnoresEvents ignores;
  return parser.HandleNextDocument(ignores) && parser.HandleNextDocument(ignores);
}

// Fills `config` and answers everything that is wrong with the document's form and values.
std::vector<std::string> ReadDocument(const YAML::Node& root, const Environment& environment,
                                      Config& config) {
  YamlReader reader;
  reader.Map(
      root, "",
      {{"server", [&](const YAML::Node& node,
                      const std::string&) { ReadServer(reader, node, config.server); }},
       {"stores",
        [&](const YAML::Node& node, const std::string&) {
          ReadStores(reader, node, environment, config.stores);
        }},
       {"limits", [&](const YAML::Node& node,
                      const std::string&) { ReadLimits(reader, node, config.limits); }},
       {"recovery", [&](const YAML::Node& node,
                        const std::string&) { ReadRecovery(reader, node, config.recovery); }},
       {"retention", [&](const YAML::Node& node,
                         const std::string&) { ReadRetention(reader, node, config.retention); }},
       {"telemetry", [&](const YAML::Node& node,
                         const std::string&) { ReadTelemetry(reader, node, config.telemetry); }},
       {"secrets", [&](const YAML::Node& node, const std::string&) {
          ReadSecrets(reader, node, config.secrets);
        }}});
  for (const ConfigProblem& problem : TakeVariables(environment.telemetry, config.telemetry)) {
    reader.RefuseValue(problem.path, problem.why);
  }
  for (const ConfigProblem& problem : FindProblems(config)) {
    reader.RefuseValue(problem.path, problem.why);
  }
  return reader.problems();
}

// Why the last call of the system failed.
std::string SystemCause() { return std::generic_category().message(errno); }

}  // namespace

const StoreConfig& Config::ActiveStore() const {
  return *std::ranges::find_if(
      stores, [](const StoreConfig& store) { return store.enabled && store.active; });
}

Environment Environment::OfProcess() {
  return {.config_file = Variable("HOLDFAST_CONFIG"),
          .state_home = Variable("XDG_STATE_HOME"),
          .home = Variable("HOME"),
          .postgres_dsn = Variable("HOLDFAST_POSTGRES_DSN"),
          .telemetry = {.endpoint = Variable("OTEL_EXPORTER_OTLP_ENDPOINT"),
                        .traces_endpoint = Variable("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"),
                        .sampler = Variable("OTEL_TRACES_SAMPLER"),
                        .sampler_argument = Variable("OTEL_TRACES_SAMPLER_ARG"),
                        .service_name = Variable("OTEL_SERVICE_NAME"),
                        .resource_attributes = Variable("OTEL_RESOURCE_ATTRIBUTES"),
                        .sdk_disabled = Variable("OTEL_SDK_DISABLED")}};
}

Config DefaultConfig(const Environment& environment) {
  if (!environment.postgres_dsn.empty()) {
    return {.stores = {{.name = kDefaultDatabase,
                        .kind = "postgres",
                        .active = true,
                        .dsn = environment.postgres_dsn,
                        .dsn_of_variable = true}}};
  }
  return {.stores = {{.name = kDefaultStore, .active = true, .root = DefaultRoot(environment)}}};
}

absl::StatusOr<Config> ParseConfig(const std::string& yaml, const Environment& environment) {
  // The library would also take wider encodings, which nothing of ours could print.
  if (!IsUtf8(yaml) || yaml.find('\0') != std::string::npos) {
    return absl::InvalidArgumentError("the file: must be UTF-8 without zeros");
  }
  Config config = DefaultConfig(environment);
  std::vector<std::string> problems;
  try {
    if (HasAnotherDocument(yaml)) {
      problems.emplace_back("the file: must be one document");
    } else {
      problems = ReadDocument(YAML::Load(yaml), environment, config);
    }
  } catch (const YAML::Exception& error) {
    return absl::InvalidArgumentError("line " + std::to_string(error.mark.line + 1) +
                                      ": the file: is not YAML: " + error.msg);
  }
  if (!problems.empty()) return absl::InvalidArgumentError(absl::StrJoin(problems, "\n"));
  return config;
}

absl::StatusOr<Config> LoadConfig(const std::string& flag, const Environment& environment) {
  const std::string path = flag.empty() ? environment.config_file : flag;
  // What is tried, and why: an operator may not know of a variable that is set.
  const std::string tried = path + (flag.empty() ? " (of HOLDFAST_CONFIG)" : " (of --config)");
  if (path.empty()) return ParseConfig("", environment);
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::NotFoundError(tried + ": cannot be read: " + SystemCause());
  std::string yaml(kConfigBytes + 1, '\0');
  file.read(yaml.data(), static_cast<std::streamsize>(yaml.size()));
  if (file.bad()) return absl::NotFoundError(tried + ": cannot be read: " + SystemCause());
  if (file.gcount() > static_cast<std::streamsize>(kConfigBytes)) {
    return absl::InvalidArgumentError(tried + ": is larger than " + SizeText(kConfigBytes));
  }
  yaml.resize(static_cast<size_t>(file.gcount()));
  return ParseConfig(yaml, environment);
}

}  // namespace holdfast

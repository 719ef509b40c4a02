#include "tests/golden/config_page.h"

#include "server/config.h"
#include "server/config_limits.h"
#include "server/quantities.h"
#include "session/limits.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/time.h"
#include "yaml-cpp/yaml.h"

#include <cstddef>

namespace holdfast::test {
namespace {

std::string CountText(size_t value) { return absl::StrCat(value); }
std::string Size(size_t bytes) { return SizeText(bytes); }
std::string Text(absl::Duration value) { return DurationText(value); }

std::vector<ConfigKey> ServerKeys() {
  return {
      {"server.address", "address", "", "",
       "`HOST:PORT`. An address that other machines reach is refused unless "
       "`server.insecure` is set, because callers are not authenticated. Port 0 takes a "
       "free one, which the ready line names. Or `unix:PATH`, an absolute path of at most "
       "107 of `A-Z a-z 0-9 / . _ -`: a socket file that only the server's user may connect "
       "to, cheaper than TCP for callers on the same machine. `PATH.lock` beside it keeps a "
       "second server out and is not removed. The directory must belong to the server's "
       "user or to root, and others must not be able to write in it, or they could put "
       "their own socket there: a sticky directory such as `/tmp` is refused too, because "
       "others could take the path while no server runs"},
      {"server.workers", "integer", "1", CountText(kWorkersMost),
       "Threads that run calls. A worker waits while its change shares a sync with others, "
       "so more than the processor's cores are useful; a call is started only while fewer "
       "workers are using a core than there are cores (in a container at most its CPU "
       "quota, rounded up)"},
      {"server.insecure", "true or false", "", "", "Allows an address that other machines reach"},
      {"server.drain_timeout", "duration", "0s", Text(kDrainTimeoutMost),
       "How long running calls may take after SIGTERM; what runs longer is cut off, with "
       "its outcome unknown to its caller."},
      {"server.connections", "integer", "1", CountText(kClientConnectionsMost),
       "Connections of clients at once. One more is accepted and closed at once. At start "
       "the soft limit of open files is raised to the hard one; connections, 512 for each "
       "store of files or `connections` + 2 for each in a database, and 256 others must "
       "fit, else the start is refused"},
      {"server.connections_per_peer", "integer", "1", CountText(kClientConnectionsMost),
       "The same for one peer: an IPv4 address, an IPv6 /64, or all callers at the socket "
       "file. Clients behind one proxy or NAT are one peer. Beside that a peer may open 100 "
       "connections a second, after a burst of 200"},
      {"server.connection_max_age", "duration", Text(absl::Seconds(1)), Text(kConnectionLifeMost),
       "After so long (a tenth more or less) a connection is closed with GOAWAY: its calls "
       "and streams finish, new ones go to a new connection, so that load spreads over "
       "servers that were added"},
      {"server.connection_idle", "duration", Text(absl::Seconds(1)), Text(kConnectionLifeMost),
       "A connection without a call is ended after so long. One that has not sent its first "
       "settings is closed after 10 s"},
      {"server.reflection", "`on`, `off` or `auto`", "", "",
       "gRPC's reflection service: `on`, `off`, or `auto`, which is on as long as there is "
       "no authentication. At most 16 of its streams are served at once"},
      {"server.core_dumps", "true or false", "", "",
       "`true` allows core dumps and debuggers, which show tokens and secrets. Otherwise "
       "the process has no core dump (RLIMIT_CORE 0) and is not dumpable: other processes "
       "of its user cannot trace it or read its files below `/proc`"},
      {"server.echo", "true or false", "", "",
       "Offers `AdminService.Echo`, which does all that a call does except using the store: "
       "benchmarks compare other calls with it. Otherwise it is `CAPABILITY_MISSING`"}};
}

std::vector<ConfigKey> StoreKeys() {
  return {
      {"stores[].name", "text", "", "",
       "Shown in the log and by `AdminService.Status`; 1 to 64 of `A-Z a-z 0-9 . _ -`, each "
       "name once"},
      {"stores[].kind", "`fs` or `postgres`", "", "",
       "`fs`: a directory of files; `postgres`: a database, for any number of servers. Each "
       "has keys of its own, and the other's are unknown keys"},
      {"stores[].enabled", "true or false", "", "", "A store that is not enabled is not opened"},
      {"stores[].active", "true or false", "", "",
       "Exactly one enabled store is active and serves every call; it never changes while "
       "the process runs. Its failure ends the start, the failure of another one is a "
       "warning"},
      {"stores[].root", "path", "", "",
       "`fs`: absolute path of the store's directory, made with mode 0700 if it is missing. "
       "Default: `$XDG_STATE_HOME/holdfast`, else `~/.local/state/holdfast`"},
      {"stores[].durability", "`sync` or `interval`", "", "",
       "`fs`: `sync`: an acknowledgement waits for the disk. `interval`: it does not, and "
       "what was acknowledged since the last sync may be lost with the machine; `Status` "
       "then warns"},
      {"stores[].interval", "duration", Text(absl::Milliseconds(1)), Text(kSyncIntervalMost),
       "`fs`: time between syncs; goes with `durability: interval` alone and is required "
       "there"},
      {"stores[].allow_network_file_system", "true or false", "", "",
       "`fs`: a root on a network file system is refused unless this is true"},
      {"stores[].dsn", "text", "", "",
       "`postgres`: where the database is, in [libpq's "
       "form](https://www.postgresql.org/docs/15/libpq-connect.html#LIBPQ-CONNSTRING), "
       "keywords or URI, without a password"},
      {"stores[].password", "reference", "", "",
       "`postgres`: the password by reference, `env:NAME` or `file:/PATH`. Without it libpq "
       "uses its own sources (`PGPASSWORD`, `~/.pgpass`)"},
      {"stores[].connections", "integer", CountText(kConnectionsLeast), CountText(kConnectionsMost),
       "`postgres`: connections for calls that this server opens at most, a quarter of them "
       "(at least one) for reads alone; two more are for the other servers; about two for "
       "each core of the database's machine are useful"},
      {"stores[].group", "integer", "1", CountText(kGroupMost),
       "`postgres`: how many changes of different sessions may share one statement and one "
       "flush. 1 writes each by itself, for comparison"},
      {"stores[].insecure", "true or false", "", "",
       "`postgres`: allows a database on another machine whose identity is not verified "
       "([TLS](#a-store-in-postgresql)); `Status` then warns."}};
}

std::vector<ConfigKey> LimitKeys() {
  return {{"limits.queued_calls", "integer", "1", CountText(kQueuedCallsMost),
           "Calls that may wait for a worker, or to be committed with others; one more is "
           "OVERLOADED"},
          {"limits.calls_per_connection", "integer", "1", CountText(kCallsPerConnectionMost),
           "Calls and streams that one connection may have open. More of them wait in the "
           "client while their deadlines run; a client that needs more, such as a gateway with "
           "many watches, opens another channel"},
          {"limits.memory_budget", "size or `auto`", Size(kMemoryBudgetLeast), "",
           "4GiB, and in a container at most half of its memory "
           "([operations.md](operations.md#what-the-server-sees-of-its-container)). What "
           "running and waiting calls may take: a request its bytes until it is parsed, then "
           "what it is parsed into; an idle stream 64KiB; a page of a stream its bytes until "
           "they are sent. Beyond it a call is OVERLOADED. A size is at least 400MiB, so that "
           "every request is possible; where `auto` comes to less, a large request that becomes "
           "many times its bytes is OVERLOADED whenever it is sent. The other limits of the "
           "service are fixed"},
          {"limits.staged_bytes", "size", Size(kSnapshotBytes), "",
           "What unfinished streamed commits may have on the disk together; each reserves 4MiB "
           "at a time as its bytes arrive, and one that finds no room is OVERLOADED. At least "
           "256MiB, so that the largest commit is possible"},
          {"limits.watchers", "integer", "1", CountText(kWatchersMost),
           "WatchSession streams at once; one more is OVERLOADED"},
          {"limits.watch_progress", "duration", Text(absl::Seconds(1)), Text(absl::Hours(1)),
           "A stream on which nothing was sent for so long sends a progress message"},
          {"limits.watch_write_timeout", "duration", Text(absl::Seconds(1)), Text(absl::Hours(1)),
           "A stream whose client takes no message for so long is ended with WATCH_ENDED. Its "
           "connection is cut for it after twice that time"},
          {"limits.stream_idle", "duration", Text(absl::Seconds(1)), Text(absl::Hours(1)),
           "AppendJournalStream, CommitTurnStream or WriteSnapshotStream on which the client "
           "sends nothing for so long ends with DEADLINE"},
          {"limits.stream_write_timeout", "duration", Text(absl::Seconds(1)), Text(absl::Hours(1)),
           "A ReadSession, Read or AppendJournalStream whose client reads nothing for so long "
           "ends with DEADLINE. It is reset after twice that time. A call whose reply is not "
           "read for so long is cancelled"}};
}

std::vector<ConfigKey> RecoveryKeys() {
  return {{"recovery.sweep_interval", "duration", Text(absl::Seconds(1)), "",
           "How often the server searches for sessions whose holder is gone"},
          {"recovery.abandon_after", "duration", Text(absl::Seconds(1)), "",
           "How long nothing may have happened, with the lease expired, before such a session "
           "is closed"},
          {"recovery.cancel_grace", "duration", Text(absl::Seconds(1)), "",
           "How long a turn that was cancelled, or whose session was, may still be committed "
           "before the server abandons it. Sessions with a cancel request are checked every 5s, "
           "or every `sweep_interval` if that is shorter"}};
}

std::vector<ConfigKey> RetentionKeys() {
  return {{"retention.snapshots", "number", "1", std::to_string(kSnapshotsKeptMost),
           "How many of its newest snapshots each session keeps, with the slots, the history and "
           "the journal entries that they need. What is older is REVISION_PRUNED. A smaller number "
           "takes effect with the next snapshot of a session"},
          {"retention.events", "duration", Text(kEventsKeptShortest), Text(kEventsKeptLongest),
           "How long events are kept. The newest 1,000 of a session are kept whatever their age"}};
}

std::vector<ConfigKey> TelemetryKeys() {
  return {{"telemetry.log_level", "`info`, `warning` or `error`", "", "",
           "The least level of lines in the log: `info`, `warning` or `error`. At `warning` no "
           "call has a line. The line `log lines were dropped` is written at every level"},
          {"telemetry.calls", "`all`, `refused` or `none`", "", "",
           "Which calls have a line `call` in the log: `all`, `refused` (those that did not end "
           "with OK) or `none`. At 1,000 calls a second `all` is about 25 GB a day"},
          {"telemetry.metrics_address", "address", "", "",
           "`IPV4:PORT`, for example `127.0.0.1:9464`: where the "
           "[metrics](operations.md#metrics) are served over HTTP, at `/metrics`. Port 0 takes "
           "a free one; the line at start says which. An address that other machines reach "
           "needs `server.insecure: true`. Empty (the default): nowhere, so that a second "
           "server of the machine finds its port free"},
          {"telemetry.otlp_endpoint", "address", "", "",
           "Where spans are sent, over OTLP/gRPC without TLS: `HOST:PORT` or "
           "`http://HOST:PORT`, for example `http://127.0.0.1:4317`. Empty: nothing is traced "
           "([operations.md](operations.md#traces))"},
          {"telemetry.service_name", "text", "", "", "The attribute `service.name` of the spans"},
          {"telemetry.resource_attributes", "text", "", "",
           "Further attributes of the process, `key=value,key=value`, each value "
           "percent-encoded; at most 64 and 4 KiB"},
          {"telemetry.sampling_ratio", "number", "0", "1",
           "The part of the traces that begin at this server that is recorded. The trace id "
           "decides, so every server decides alike"},
          {"telemetry.parent_based", "true or false", "", "",
           "`true`: a call with a valid `traceparent` is recorded if its caller sampled it; "
           "`false`: the ratio is of all calls"},
          {"telemetry.sampled_roots_per_second", "integer", "1", CountText(kSampledRootsMost),
           "Calls that are recorded within a second, whatever callers request; more are counted "
           "and not recorded"}};
}

std::vector<ConfigKey> SecretKeys() {
  return {{"secrets.known", "list of references", "", "",
           "Up to 64 secrets that must not be stored, each as a reference: `env:NAME`, a "
           "variable of the server's environment, or `file:/PATH`, a file whose content it is, "
           "without the line break at its end"},
          {"secrets.patterns", "list of patterns", "", "",
           "Up to 64 patterns ([RE2](https://github.com/google/re2/wiki/Syntax), on bytes) of "
           "what must not be stored, for example `'sk-[A-Za-z0-9]{20,}'`"}};
}

// The printed configuration of a store of files and of one in PostgreSQL, which have all keys.
YAML::Node PrintedDefaults() {
  Config config = DefaultConfig({.home = "/home/ada"});
  StoreConfig database;
  database.kind = "postgres";
  config.stores.push_back(database);
  return YAML::Load(PrintConfig(config));
}

// The value at `name` of a section; of a list that of the first entry that has the key.
YAML::Node Find(const YAML::Node& section, const std::string& name) {
  if (section.IsMap()) return section[name];
  for (const YAML::Node& entry : section) {
    if (entry[name].IsDefined()) return entry[name];
  }
  return YAML::Node(YAML::NodeType::Undefined);
}

std::string Range(const ConfigKey& key) {
  if (key.least.empty() && key.most.empty()) return "–";
  if (key.most.empty()) return absl::StrCat("at least ", key.least);
  if (key.least.empty()) return absl::StrCat("at most ", key.most);
  return absl::StrCat(key.least, " to ", key.most);
}

}  // namespace

std::vector<ConfigKey> ConfigKeys() {
  std::vector<ConfigKey> keys = ServerKeys();
  for (const auto& section :
       {StoreKeys(), LimitKeys(), RecoveryKeys(), RetentionKeys(), TelemetryKeys(), SecretKeys()}) {
    keys.insert(keys.end(), section.begin(), section.end());
  }
  return keys;
}

std::string DefaultOf(const ConfigKey& key) {
  // Of one entry of the list; others are required.
  const std::string path = key.path;
  if (path == "stores[].name" || path == "stores[].active" || path == "stores[].interval")
    return "";
  const std::string section = path.substr(0, path.find_first_of("[."));
  const YAML::Node value = Find(PrintedDefaults()[section], path.substr(path.find('.') + 1));
  if (!value.IsDefined() || value.IsNull()) return "";
  if (value.IsSequence()) return "[]";
  const std::string text = value.Scalar();
  return text.empty() ? "\"\"" : text;
}

std::string ConfigTable() {
  std::string table = "| key | type | default | range | meaning |\n|---|---|---|---|---|\n";
  for (const ConfigKey& key : ConfigKeys()) {
    const std::string value = DefaultOf(key);
    absl::StrAppend(&table, "| `", key.path, "` | ", key.type, " | ",
                    value.empty() ? "–" : absl::StrCat("`", value, "`"), " | ", Range(key), " | ",
                    absl::StrReplaceAll(key.meaning, {{"|", "\\|"}}), " |\n");
  }
  return table;
}

}  // namespace holdfast::test

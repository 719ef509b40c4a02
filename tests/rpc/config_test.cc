// The configuration: what is taken, and what is refused with path and line.
#include "server/config.h"

#include "server/flags.h"
#include "server/quantities.h"
#include "tests/support/temp_dir.h"

#include "absl/strings/str_split.h"
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>

namespace holdfast::test {
namespace {

const Environment kHome = {.home = "/user"};

std::string Problems(const std::string& yaml) {
  return std::string(ParseConfig(yaml, kHome).status().message());
}

TEST(Config, WithoutAFileTheDefaultsServe) {
  const auto config = LoadConfig("", kHome);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->server.address, "127.0.0.1:7420");
  EXPECT_EQ(config->ActiveStore().root, "/user/.local/state/holdfast");
}

TEST(Config, TheStateDirectoryComesFromTheEnvironment) {
  const Environment both = {.state_home = "/state", .home = "/user"};
  EXPECT_EQ(DefaultConfig(both).ActiveStore().root, "/state/holdfast");
  const Environment relative = {.state_home = "state", .home = "/user"};
  EXPECT_EQ(DefaultConfig(relative).ActiveStore().root, "/user/.local/state/holdfast");
  EXPECT_EQ(std::string(LoadConfig("", {}).status().message()),
            "stores[0].root: has no default here, for neither XDG_STATE_HOME nor HOME is set");
}

TEST(Config, EmptyIsTheDefaults) {
  for (const char* yaml : {"", "{}", "# nothing\n", "server:\nlimits: {}\n"}) {
    const auto config = ParseConfig(yaml, kHome);
    ASSERT_TRUE(config.ok()) << yaml << config.status();
    EXPECT_EQ(*config, DefaultConfig(kHome)) << yaml;
  }
}

TEST(Config, MetricsForOtherMachinesNeedTheServerToBeInsecure) {
  const std::string metrics = "telemetry: {metrics_address: \"0.0.0.0:9464\"}\n";
  EXPECT_EQ(Problems(metrics),
            "line 1: telemetry.metrics_address: shows the metrics to other machines, which have no "
            "way to prove who they are: say server.insecure: true if that is wanted");
  EXPECT_EQ(Problems(metrics + "server: {insecure: true}\n"), "");
  for (const char* address : {"9464", "localhost:9464", "127.0.0.1", "[::1]:9464", "unix:/x"}) {
    EXPECT_EQ(Problems(std::string("telemetry: {metrics_address: \"") + address + "\"}"),
              "line 1: telemetry.metrics_address: must be IPV4:PORT, for example 127.0.0.1:9464, "
              "or empty")
        << address;
  }
}

TEST(Config, WhatIsPrintedLoadsBackUnchanged) {
  Config config = DefaultConfig(kHome);
  EXPECT_EQ(*ParseConfig(PrintConfig(config), kHome), config);
  config.server = {.address = "[::1]:0",
                   .workers = 3,
                   .insecure = true,
                   .drain_timeout = absl::Milliseconds(1500),
                   .connections = 5,
                   .connections_per_peer = 2,
                   .connection_max_age = absl::Minutes(7),
                   .connection_idle = absl::Seconds(9),
                   .reflection = "off",
                   .core_dumps = true,
                   .echo = true};
  config.stores = {{.name = "42",
                    .active = true,
                    .root = "/a path: with # \"signs\"",
                    .durability = "interval",
                    .interval = absl::Milliseconds(250),
                    .allow_network_file_system = true},
                   {.name = "true", .enabled = false, .active = true, .root = "/b"},
                   {.name = "team",
                    .kind = "postgres",
                    .dsn = R"(host='/a b' dbname="x\y" options='-c a=b')",
                    .password = "env:PASSWORD",
                    .connections = 3,
                    .group = 5,
                    .insecure = true}};
  config.limits = {.queued_calls = 7,
                   .calls_per_connection = 8,
                   .memory_budget = 401 * kMiB + kKiB,
                   .watchers = 3,
                   .watch_progress = absl::Seconds(2),
                   .watch_write_timeout = absl::Minutes(3),
                   .stream_idle = absl::Seconds(4),
                   .stream_write_timeout = absl::Seconds(5)};
  config.recovery = {.sweep_interval = absl::Minutes(2), .abandon_after = absl::Hours(1)};
  config.telemetry = {.log_level = "error",
                      .calls = "refused",
                      .metrics_address = "127.0.0.1:0",
                      .otlp_endpoint = "http://[::1]:4317",
                      .service_name = "7",
                      .resource_attributes = "a=b%20c,d=e",
                      .sampling_ratio = 0.1,
                      .parent_based = false,
                      .sampled_roots_per_second = 9};
  const auto loaded = ParseConfig(PrintConfig(config), kHome);
  ASSERT_TRUE(loaded.ok()) << loaded.status() << PrintConfig(config);
  EXPECT_EQ(*loaded, config);
}

// What `variables` make of the configuration, or what is wrong with them.
absl::StatusOr<Config> Under(const TelemetryVariables& variables, const std::string& yaml = "") {
  Environment environment = kHome;
  environment.telemetry = variables;
  return ParseConfig(yaml, environment);
}

TEST(Config, OverridesTelemetryByOpenTelemetryVariables) {
  const std::string yaml = "telemetry: {otlp_endpoint: 'a:1', sampling_ratio: 0.5}\n";
  const auto config = Under({.endpoint = "http://b:2/",
                             .sampler = "parentbased_traceidratio",
                             .sampler_argument = "0.25",
                             .resource_attributes = "service.name=n,x=y"},
                            yaml);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->telemetry.OtlpAddress(), "b:2");
  EXPECT_EQ(config->telemetry.sampling_ratio, 0.25);
  EXPECT_TRUE(config->telemetry.parent_based);
  EXPECT_EQ(config->telemetry.service_name, "n");
  EXPECT_EQ(config->telemetry.resource_attributes, "service.name=n,x=y");
  EXPECT_EQ(*ParseConfig(PrintConfig(*config), kHome), *config);

  const auto more = Under({.endpoint = "b:2",
                           .traces_endpoint = "c:3",
                           .service_name = "m",
                           .resource_attributes = "service.name=n"});
  EXPECT_EQ(more->telemetry.OtlpAddress(), "c:3");
  EXPECT_EQ(more->telemetry.service_name, "m");
  EXPECT_FALSE(Under({.endpoint = "b:2", .sdk_disabled = "true"})->telemetry.Traces());
  EXPECT_FALSE(Under({.sdk_disabled = "true"}, yaml)->telemetry.Traces());
}

TEST(Config, EachStandardSamplerIsARatio) {
  struct Row {
    std::string name;
    double ratio;
    bool parent_based;
  };
  for (const Row& row :
       {Row{"always_on", 1, false}, Row{"always_off", 0, false}, Row{"traceidratio", 0.5, false},
        Row{"parentbased_always_on", 1, true}, Row{"parentbased_always_off", 0, true},
        Row{"parentbased_traceidratio", 0.5, true}}) {
    const auto config = Under({.sampler = row.name, .sampler_argument = "0.5"});
    ASSERT_TRUE(config.ok()) << config.status();
    EXPECT_EQ(config->telemetry.sampling_ratio, row.ratio) << row.name;
    EXPECT_EQ(config->telemetry.parent_based, row.parent_based) << row.name;
  }
}

TEST(Config, AVariableThatIsNotValidIsNamed) {
  EXPECT_EQ(
      std::string(Under({.traces_endpoint = "https://b:2",
                         .sampler = "traceidratio",
                         .sampler_argument = "2",
                         .resource_attributes = "x"})
                      .status()
                      .message()),
      "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: must be HOST:PORT or http://HOST:PORT, for example "
      "http://127.0.0.1:4317: spans are sent over gRPC and without TLS\n"
      "OTEL_TRACES_SAMPLER_ARG: must be a number from 0 to 1\n"
      "OTEL_RESOURCE_ATTRIBUTES: must be key=value,key=value of at most 64 attributes and "
      "4KiB, each value percent-encoded");
  EXPECT_EQ(std::string(Under({.sampler = "jaeger_remote"}).status().message()),
            "OTEL_TRACES_SAMPLER: must be always_on, always_off, traceidratio, "
            "parentbased_always_on, parentbased_always_off or parentbased_traceidratio");
}

TEST(Config, TelemetryIsBounded) {
  EXPECT_EQ(Problems("telemetry:\n"
                     "  otlp_endpoint: unix:/x\n"
                     "  service_name: ''\n"
                     "  resource_attributes: a\n"
                     "  sampling_ratio: 1.5\n"
                     "  sampled_roots_per_second: 0\n"),
            "line 2: telemetry.otlp_endpoint: must be HOST:PORT or http://HOST:PORT, for example "
            "http://127.0.0.1:4317: spans are sent over gRPC and without TLS\n"
            "line 3: telemetry.service_name: must not be empty\n"
            "line 4: telemetry.resource_attributes: must be key=value,key=value of at most 64 "
            "attributes and 4KiB, each value percent-encoded\n"
            "line 5: telemetry.sampling_ratio: must be a number from 0 to 1\n"
            "line 6: telemetry.sampled_roots_per_second: must be between 1 and 10000");
  EXPECT_EQ(Problems("telemetry: {sampling_ratio: \"0.1\"}\n"),
            "line 1: telemetry.sampling_ratio: must be a number, for example 0.1");
}

TEST(Config, EveryViolationIsSaidAtOnce) {
  EXPECT_EQ(
      Problems("server:\n"
               "  adress: 127.0.0.1:1\n"
               "  workers: many\n"
               "  workers: 4\n"
               "  insecure: \"true\"\n"
               "  drain_timeout: 30\n"
               "stores:\n"
               "  - {name: 7, active: true, root: /x}\n"
               "  - just a word\n"
               "limits: {unary_request: 4MiB, memory_budget: 1MiB}\n"
               "recovery: [1]\n"
               "auth: {}\n"),
      "line 2: server.adress: unknown key\n"
      "line 3: server.workers: must be a whole number\n"
      "line 4: server.workers: is given twice\n"
      "line 5: server.insecure: must be true or false\n"
      "line 6: server.drain_timeout: must be a duration, for example 30s\n"
      "line 8: stores[0].name: must be a text\n"
      "line 9: stores[1]: must be a mapping\n"
      "line 10: limits.unary_request: unknown key\n"
      "line 11: recovery: must be a mapping\n"
      "line 12: auth: unknown key\n"
      "line 10: limits.memory_budget: must be at least 400MiB, which one request of 4MiB may take");
}

TEST(Config, TheMemoryBudgetMayBeLeftToTheServer) {
  EXPECT_EQ(ParseConfig("", kHome)->limits.memory_budget, std::nullopt);
  EXPECT_EQ(ParseConfig("limits: {memory_budget: auto}", kHome)->limits.memory_budget,
            std::nullopt);
  EXPECT_EQ(ParseConfig("limits: {memory_budget: 1GiB}", kHome)->limits.memory_budget, 1024 * kMiB);
  EXPECT_EQ(Problems("limits: {memory_budget: automatic}"),
            "line 1: limits.memory_budget: must be auto or a size, for example 4MiB");
}

TEST(Config, TelemetryHasClosedListsOfValues) {
  EXPECT_EQ(Problems("telemetry: {log_level: warning, calls: none}"), "");
  EXPECT_EQ(Problems("telemetry: {log_level: debug, calls: some}"),
            "line 1: telemetry.log_level: must be info, warning or error\n"
            "line 1: telemetry.calls: must be all, refused or none");
}

TEST(Config, TheFileIsUtf8) {
  for (const std::string text : {"\xff", "\xc3", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80",
                                 "\xef\xbf\xbf", "\xe2\x82("}) {
    EXPECT_EQ(Problems("# " + text), "the file: must be UTF-8 without zeros") << text;
  }
  EXPECT_EQ(Problems(std::string("\0\0\0,\0\0\0", 7)), "the file: must be UTF-8 without zeros");
  EXPECT_EQ(Problems(R"(stores: [{name: a, active: true, root: "/\uFFFE"}])"),
            "line 1: stores[0].root: must be UTF-8");
  const auto config = ParseConfig(
      "stores: [{name: a, active: true, root: \"/\xc3\xa4\xe2\x82\xac\xf0\x9f\x99\x82\"}]", kHome);
  EXPECT_EQ(config->ActiveStore().root, "/\xc3\xa4\xe2\x82\xac\xf0\x9f\x99\x82");
}

TEST(Config, AConnectionHasACallAtLeast) {
  for (const std::string calls : {"0", "1000001"}) {
    EXPECT_EQ(Problems("limits: {calls_per_connection: " + calls + "}"),
              "line 1: limits.calls_per_connection: must be between 1 and 1000000");
  }
}

TEST(Config, ConnectionsHaveSensibleLimits) {
  EXPECT_EQ(Problems("server: {connections: 0, connections_per_peer: 1000001, "
                     "connection_max_age: 999ms, connection_idle: 169h, reflection: maybe}"),
            "line 1: server.connections: must be between 1 and 1000000\n"
            "line 1: server.connections_per_peer: must be between 1 and 1000000\n"
            "line 1: server.connection_max_age: must be between 1s and 168h\n"
            "line 1: server.connection_idle: must be between 1s and 168h\n"
            "line 1: server.reflection: must be auto, on or off");
}

TEST(Config, WatchesHaveSensibleLimits) {
  EXPECT_EQ(Problems("limits: {watchers: 0, watch_progress: 999ms, watch_write_timeout: 2h}"),
            "line 1: limits.watchers: must be between 1 and 1000000\n"
            "line 1: limits.watch_progress: must be between 1s and 1h\n"
            "line 1: limits.watch_write_timeout: must be between 1s and 1h");
}

TEST(Config, StreamsHaveSensibleLimits) {
  EXPECT_EQ(Problems("limits: {stream_idle: 999ms, stream_write_timeout: 2h}"),
            "line 1: limits.stream_idle: must be between 1s and 1h\n"
            "line 1: limits.stream_write_timeout: must be between 1s and 1h");
}

TEST(Config, WhatIsNotYamlIsSaid) {
  EXPECT_EQ(Problems("server: {\n").substr(0, 30), "line 2: the file: is not YAML:");
  EXPECT_EQ(Problems("[1, 2]"), "line 1: the file: must be a mapping");
  EXPECT_EQ(Problems("{}\n---\n{}\n"), "the file: must be one document");
  EXPECT_EQ(Problems(","), "the file: must be one document");
  EXPECT_EQ(Problems("{1: {[a]: 2}}"), "line 1: 1: unknown key");
}

TEST(Config, AKindThatIsNotBuiltIsNamed) {
  EXPECT_EQ(Problems("stores:\n"
                     "  - {name: a, active: true, root: /a}\n"
                     "  - {name: b, kind: tape, enabled: false, reel: x, root: /b}\n"),
            "line 3: stores[1].kind: is not a kind of store this server has; it has: fs, postgres");
  // It is the only problem of that store, also where it is the only store.
  EXPECT_EQ(Problems("stores:\n"
                     "  - name: a\n"
                     "    kind: tape\n"
                     "    active: true\n"),
            "line 3: stores[0].kind: is not a kind of store this server has; it has: fs, postgres");
}

TEST(Config, NamesTheLineOfAValueOutOfRange) {
  EXPECT_EQ(Problems("server:\n"
                     "  address: nowhere\n"
                     "  workers: 5000\n"
                     "stores:\n"
                     "  - name: a\n"
                     "    active: true\n"
                     "    root: relative/path\n"
                     "recovery:\n"
                     "  sweep_interval: 1ms\n"),
            "line 2: server.address: must be HOST:PORT, for example 127.0.0.1:7420, or unix:PATH\n"
            "line 3: server.workers: must be between 1 and 1024\n"
            "line 7: stores[0].root: must be an absolute path\n"
            "line 9: recovery.sweep_interval: must be at least 1s");
  // A missing value has the line of the mapping that lacks it.
  EXPECT_EQ(Problems("stores:\n"
                     "  - {active: true, root: /a}\n"),
            "line 2: stores[0].name: must be 1 to 64 of A-Z a-z 0-9 . _ -");
}

TEST(Config, SaysWhichFileWasTriedAndWhyItCannotBeRead) {
  EXPECT_EQ(LoadConfig("/no/such/file", {}).status().message(),
            "/no/such/file (of --config): cannot be read: No such file or directory");
  EXPECT_EQ(LoadConfig("", {.config_file = "/no/such/file"}).status().message(),
            "/no/such/file (of HOLDFAST_CONFIG): cannot be read: No such file or directory");
  EXPECT_EQ(LoadConfig("/", {}).status().message(),
            "/ (of --config): cannot be read: Is a directory");
}

TEST(Config, ADatabaseHasKeysOfItsOwn) {
  const auto config = ParseConfig(
      "stores: [{name: t, kind: postgres, active: true, dsn: host=/db dbname=holdfast}]", kHome);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->ActiveStore().dsn, "host=/db dbname=holdfast");
  EXPECT_EQ(config->ActiveStore().connections, kConnectionsDefault);
  EXPECT_EQ(config->ActiveStore().root, "");
  EXPECT_EQ(Problems("stores:\n"
                     "  - {name: t, kind: postgres, active: true, dsn: host=/db, root: /x}\n"
                     "  - {name: u, kind: fs, root: /u, dsn: host=/db}\n"
                     "  - {name: v, kind: postgres, dsn: host=/db, connections: 1, group: 0}\n"
                     "  - {name: w, kind: postgres}\n"),
            "line 2: stores[0].root: unknown key\n"
            "line 3: stores[1].dsn: unknown key\n"
            "line 4: stores[2].connections: must be between 2 and 256\n"
            "line 4: stores[2].group: must be between 1 and 64\n"
            "line 4: stores[2].dsn: is another store's dsn\n"
            "line 5: stores[3].dsn: must be a connection string of libpq, for example "
            "host=/run/postgresql dbname=holdfast, or postgresql://db/holdfast");
}

// In whatever form, the password is refused and not repeated.
TEST(Config, APasswordInTheFileIsRefusedAndNotRepeated) {
  for (const char* dsn :
       {"host=db password=hunter22", "host=db password = 'hunter22'", "password=hunter22",
        "postgresql://user:hunter22@db/holdfast", "postgres://db/x?password=hunter22",
        "postgres://db/x?passw%6frd=hunter22", "host=db sslpassword=hunter22"}) {
    const std::string why = Problems("stores: [{name: t, kind: postgres, active: true, dsn: \"" +
                                     std::string(dsn) + "\"}]");
    EXPECT_NE(why.find("stores[0].dsn: must not hold a password"), std::string::npos) << dsn;
    EXPECT_EQ(why.find("hunter22"), std::string::npos) << why;
  }
  const std::string store = "stores: [{name: t, kind: postgres, active: true, dsn: host=/db, ";
  EXPECT_EQ(Problems(store + "password: hunter22}]"),
            "line 1: stores[0].password: must be env:NAME, or file:PATH with an absolute path; a "
            "secret itself does not belong here");
  EXPECT_EQ(Problems("stores: [{name: t, kind: postgres, active: true, dsn: db hunter22}]")
                .find("hunter22"),
            std::string::npos);
  EXPECT_EQ(Problems(store + "password: env:PG}]"), "");
  EXPECT_EQ(Problems(store + "password: file:/run/secrets/pg}]"), "");
}

TEST(Config, TheEnvironmentMayNameTheDatabase) {
  const Environment named = {.home = "/user", .postgres_dsn = "host=/db"};
  const auto alone = ParseConfig("", named);
  ASSERT_TRUE(alone.ok()) << alone.status();
  EXPECT_EQ(alone->ActiveStore().kind, "postgres");
  EXPECT_EQ(alone->ActiveStore().dsn, "host=/db");
  const auto over = ParseConfig(
      "stores: [{name: t, kind: postgres, active: true, dsn: host=/other}, {name: f, root: /f}]",
      named);
  ASSERT_TRUE(over.ok()) << over.status();
  EXPECT_EQ(over->ActiveStore().dsn, "host=/db");
  EXPECT_EQ(over->stores[1].kind, "fs");
  const Environment wrong = {.home = "/user", .postgres_dsn = "host=db password=hunter22"};
  const std::string why(ParseConfig("", wrong).status().message());
  EXPECT_NE(why.find("must not hold a password"), std::string::npos);
  EXPECT_EQ(why.find("hunter22"), std::string::npos);
}

// The file's line holds another dsn, in which nothing is wrong.
TEST(Config, NamesTheVariableWhenItsDsnIsBad) {
  const Environment wrong = {.home = "/user", .postgres_dsn = "host=db.example.org"};
  constexpr char kWhy[] =
      "HOLDFAST_POSTGRES_DSN: leads to another machine whose identity is not verified: say "
      "sslmode=verify-full, with sslrootcert where the system does not know the issuer, or "
      "stores[0].insecure: true if that is wanted";
  const std::string file =
      "stores:\n  - {name: t, kind: postgres, active: true, dsn: host=/run/postgresql}";
  EXPECT_EQ(ParseConfig(file, wrong).status().message(), kWhy);
  EXPECT_EQ(ParseConfig("", wrong).status().message(), kWhy);
  EXPECT_EQ(LoadConfig("", wrong).status().message(), kWhy);
}

// The problems of a database at `dsn`; `rest` are further keys of the store.
std::string ProblemsAt(const std::string& dsn, const std::string& rest = "") {
  return Problems("stores: [{name: t, kind: postgres, active: true, dsn: \"" + dsn + "\"" + rest +
                  "}]");
}

TEST(Config, RejectsUnverifiedDatabaseOnAnotherMachine) {
  constexpr char kWhy[] =
      "line 1: stores[0].dsn: leads to another machine whose identity is not verified: say "
      "sslmode=verify-full, with sslrootcert where the system does not know the issuer, or "
      "stores[0].insecure: true if that is wanted";
  for (const char* dsn : {"host=db", "host=db sslmode=require", "host=db sslmode=verify-ca",
                          "postgresql://db/x", "host=/run/postgresql,db", "host=localhost,10.0.0.1",
                          "hostaddr=10.0.0.1", "host=localhost hostaddr=10.0.0.1",
                          "host=127.example.org", "host=localhost,db hostaddr=::1,", "service=team",
                          "service=team sslmode=require", "host=::2"}) {
    EXPECT_EQ(ProblemsAt(dsn), kWhy) << dsn;
    EXPECT_EQ(ProblemsAt(dsn, ", insecure: true"), "") << dsn;
  }
  for (const char* dsn :
       {"dbname=x", "host=/run/postgresql", "postgresql:///x", "host=localhost", "host=127.0.0.9",
        "host=::1", "host=@abstract", "host=db hostaddr=127.0.0.1", "host=db sslmode=verify-full",
        "postgresql://a,b/x?sslmode=verify-full", "service=team sslmode=verify-full",
        "service=team host=/run/postgresql", "host=/run/a,/run/b"}) {
    EXPECT_EQ(ProblemsAt(dsn), "") << dsn;
    EXPECT_EQ(ProblemsAt(dsn, ", insecure: true"), "") << dsn;
  }
}

// libpq takes from its variables what the dsn leaves out, and the check reads the same variables.
TEST(Config, RejectsUnverifiedDatabaseNamedByVariable) {
  ASSERT_EQ(setenv("PGHOST", "db.example.org", 1), 0);
  EXPECT_NE(ProblemsAt("dbname=x"), "");
  EXPECT_EQ(ProblemsAt("dbname=x sslmode=verify-full"), "");
  EXPECT_EQ(ProblemsAt("host=/run/postgresql"), "");
  ASSERT_EQ(setenv("PGSSLMODE", "verify-full", 1), 0);
  EXPECT_EQ(ProblemsAt("dbname=x"), "");
  ASSERT_EQ(unsetenv("PGSSLMODE"), 0);
  ASSERT_EQ(unsetenv("PGHOST"), 0);
}

TEST(Config, ExactlyOneStoreIsActive) {
  EXPECT_EQ(Problems("stores: []"),
            "line 1: stores: exactly one enabled store must be active, and 0 are");
  EXPECT_EQ(Problems("stores: [{name: a, active: true, enabled: false, root: /a}]"),
            "line 1: stores: exactly one enabled store must be active, and 0 are");
  EXPECT_EQ(Problems("stores: [{name: a, active: true, root: /a}, "
                     "{name: b, active: true, root: /a}]"),
            "line 1: stores[1].root: is another store's root\n"
            "line 1: stores: exactly one enabled store must be active, and 2 are");
}

TEST(Config, OtherMachinesAreServedOnlyWhenThatIsSaid) {
  for (const char* address :
       {"0.0.0.0:7420", "[::]:7420", "192.168.1.5:7420", "example.org:1", "127.example.org:1"}) {
    const std::string yaml = "server: {address: \"" + std::string(address) + "\"";
    EXPECT_NE(Problems(yaml + "}").find("server.address: serves other machines"), std::string::npos)
        << address;
    EXPECT_EQ(Problems(yaml + ", insecure: true}"), "") << address;
  }
  for (const char* address : {"127.0.0.1:0", "127.9.9.9:1", "localhost:1", "[::1]:1"}) {
    EXPECT_EQ(Problems("server: {address: \"" + std::string(address) + "\"}"), "") << address;
  }
  for (const char* address :
       {"127.0.0.1", ":1", "127.0.0.1:", "127.0.0.1:65536", "::1:1", "127.0.0.1:x", "[::1:1"}) {
    EXPECT_NE(Problems("server: {address: \"" + std::string(address) + "\"}").find("HOST:PORT"),
              std::string::npos)
        << address;
  }
}

TEST(Config, ASocketFileIsAnAbsolutePathOfPlainLetters) {
  const auto problems = [](const std::string& path) {
    return Problems("server: {address: \"unix:" + path + "\"}");
  };
  EXPECT_EQ(problems("/run/holdfast/server-1.sock"), "");
  EXPECT_EQ(problems("/" + std::string(106, 'a')), "");
  EXPECT_EQ(problems("/" + std::string(107, 'a')),
            "line 1: server.address: may have at most 107 bytes behind unix:");
  for (const char* path : {"", "holdfast.sock", "/run/"}) {
    EXPECT_EQ(problems(path), "line 1: server.address: must be unix: and an absolute path") << path;
  }
  for (const char* path : {"/a b", "/a%20", "/a?b", "/a#b"}) {
    EXPECT_EQ(problems(path),
              "line 1: server.address: may hold A-Z a-z 0-9 / . _ - alone behind unix:")
        << path;
  }
}

TEST(Config, DurabilityByIntervalNeedsItsInterval) {
  const std::string store = "stores: [{name: a, active: true, root: /a, durability: ";
  EXPECT_EQ(Problems(store + "interval, interval: 100ms}]"), "");
  EXPECT_NE(Problems(store + "interval}]").find("stores[0].interval"), std::string::npos);
  EXPECT_NE(Problems(store + "sync, interval: 1s}]").find("stores[0].interval"), std::string::npos);
  EXPECT_NE(Problems(store + "never}]").find("stores[0].durability"), std::string::npos);
}

TEST(Config, TheFlagWinsOverTheEnvironment) {
  const TempDir folder;
  const std::string path = folder / "config.yaml";
  std::ofstream(path) << "server: {workers: 9}\n";
  const Environment environment = {.config_file = path, .home = "/user"};
  EXPECT_EQ(LoadConfig("", environment)->server.workers, 9);
  EXPECT_EQ(LoadConfig("/does/not/exist", environment).status().code(),
            absl::StatusCode::kNotFound);
  std::ofstream(path) << std::string(kConfigBytes + 1, '#');
  EXPECT_EQ(LoadConfig(path, {}).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(Quantities, TakeAWholeNumberWithItsUnit) {
  EXPECT_EQ(ParseDuration("250ms"), absl::Milliseconds(250));
  EXPECT_EQ(ParseDuration("2h"), absl::Hours(2));
  EXPECT_EQ(ParseSize("4MiB"), 4 * kMiB);
  EXPECT_EQ(ParseSize("0B"), 0);
  for (const char* text : {"", "s", "1", "-1s", "1.5s", "1 s", "1d", "inf", "9999999999s"}) {
    EXPECT_FALSE(ParseDuration(text)) << text;
  }
  for (const char* text : {"", "4", "4MB", "4mib", "4 MiB", "-4MiB", "9999999999GiB"}) {
    EXPECT_FALSE(ParseSize(text)) << text;
  }
}

// The flags of a command line, given as words.
absl::StatusOr<Flags> FlagsOf(std::vector<std::string> words) {
  std::vector<char*> arguments;
  arguments.reserve(words.size());
  for (std::string& word : words) arguments.push_back(word.data());
  return ParseFlags(arguments);
}

TEST(Flags, AreRead) {
  EXPECT_EQ(FlagsOf({})->action, Flags::Action::kServe);
  EXPECT_EQ(FlagsOf({"--config", "a"})->config, "a");
  EXPECT_EQ(FlagsOf({"--config=a", "--config", "b"})->config, "b");
  EXPECT_EQ(FlagsOf({"--config=a", "--check-config"})->action, Flags::Action::kCheckConfig);
  EXPECT_EQ(FlagsOf({"--print-config"})->action, Flags::Action::kPrintConfig);
  EXPECT_EQ(FlagsOf({"healthcheck", "--address", "h:1"})->address, "h:1");
  EXPECT_EQ(FlagsOf({"healthcheck", "--service", "liveness"})->service, "liveness");
  EXPECT_EQ(FlagsOf({"migrate"})->action, Flags::Action::kMigrate);
  EXPECT_FALSE(FlagsOf({"migrate"})->status);
  EXPECT_TRUE(FlagsOf({"migrate", "--config", "a", "--status"})->status);
  EXPECT_EQ(FlagsOf({"store", "adopt", "--config", "a"})->action, Flags::Action::kAdopt);
}

TEST(Flags, TheConfigurationIsNamedBeforeOrBehindACommand) {
  for (const auto& words :
       std::vector<std::vector<std::string>>{{"--config", "a=b", "migrate"},
                                             {"migrate", "--config=a=b"},
                                             {"--config", "c", "healthcheck", "--config", "a=b"},
                                             {"store", "adopt", "--config", "a=b"}}) {
    const absl::StatusOr<Flags> flags = FlagsOf(words);
    ASSERT_TRUE(flags.ok()) << flags.status();
    EXPECT_EQ(flags->config, "a=b") << ::testing::PrintToString(words);
  }
}

TEST(Flags, TheVersionIsPrintedWhateverElseIsRequested) {
  EXPECT_EQ(FlagsOf({"--version"})->action, Flags::Action::kPrintVersion);
  EXPECT_EQ(FlagsOf({"--help", "--version"})->action, Flags::Action::kPrintVersion);
  EXPECT_EQ(FlagsOf({"--check-config", "--version"})->action, Flags::Action::kPrintVersion);
}

TEST(Flags, HelpIsThatOfTheCommand) {
  for (const CommandHelp& help : HelpOfCommands()) {
    std::vector<std::string> words = absl::StrSplit(help.command, ' ');
    words.erase(words.begin());
    words.emplace_back("--help");
    const absl::StatusOr<Flags> flags = FlagsOf(words);
    ASSERT_TRUE(flags.ok()) << flags.status();
    EXPECT_EQ(flags->action, Flags::Action::kHelp);
    EXPECT_EQ(flags->help, help.text);
    EXPECT_NE(help.text.find("Usage: " + help.command + " [OPTIONS]"), std::string::npos);
    if (help.command == "holdfastd store") continue;  // it only groups commands
    for (const char* section : {"Options:", "Exit status:", "Environment:", "Example"}) {
      EXPECT_NE(help.text.find(section), std::string::npos) << help.command << ": " << section;
    }
  }
  EXPECT_EQ(FlagsOf({"-h"})->help, HelpOfCommands().front().text);
}

TEST(Flags, WhatIsWrongIsNamedWithTheHelpOfItsCommand) {
  struct Wrong {
    std::vector<std::string> words;
    std::string named;
    std::string command = "holdfastd";
  };
  for (const Wrong& wrong : std::vector<Wrong>{
           {.words = {"--nothing"}, .named = "--nothing: unknown argument"},
           {.words = {"serve"}, .named = "serve"},
           {.words = {"--config"}, .named = "--config"},
           {.words = {"--config="}, .named = "--config: needs a value"},
           {.words = {"--config=", "migrate"}, .named = "--config: needs a value"},
           {.words = {"--config", ""}, .named = "--config: needs a value"},
           {.words = {"--address", "h:1"}, .named = "--address: unknown argument"},
           {.words = {"--service", "liveness"}, .named = "--service"},
           {.words = {"--status"}, .named = "--status"},
           {.words = {"--check-config=no"}, .named = "check-config"},
           {.words = {"--check-config", "--print-config"}, .named = "--print-config"},
           {.words = {"--check-config", "migrate"},
           .named = "--check-config",
           .command = "holdfastd migrate"},
           {.words = {"migrate", "--print-config"},
           .named = "--print-config",
           .command = "holdfastd migrate"},
           {.words = {"migrate", "healthcheck"},
           .named = "healthcheck",
           .command = "holdfastd migrate"},
           {.words = {"healthcheck", "--address", "h:73000"},
           .named = "--address: must be HOST:PORT",
           .command = "holdfastd healthcheck"},
           {.words = {"healthcheck", "--service", ""},
           .named = "--service: needs a value",
           .command = "holdfastd healthcheck"},
           {.words = {"store"}, .named = "subcommand", .command = "holdfastd store"},
           {.words = {"store", "check"},
           .named = "check: unknown argument",
           .command = "holdfastd store"},
           {.words = {"store", "adopt", "--status"},
           .named = "--status",
           .command = "holdfastd store adopt"}}) {
    const absl::Status refused = FlagsOf(wrong.words).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
    const std::string message(refused.message());
    EXPECT_NE(message.find(wrong.named), std::string::npos) << message;
    EXPECT_NE(message.find("\nRun `" + wrong.command + " --help`"), std::string::npos) << message;
  }
}

}  // namespace
}  // namespace holdfast::test

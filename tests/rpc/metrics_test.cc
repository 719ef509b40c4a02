// The metrics of a served server: where they are served, and that each of them moves.
#include "server/memory_guard.h"
#include "server/telemetry/metric_table.h"
#include "server/telemetry/metrics_endpoint.h"
#include "tests/rpc/served.h"
#include "tests/support/channel.h"
#include "tests/support/raw_socket.h"
#include "tests/support/reserved_port.h"
#include "tests/support/scrape.h"
#include "tests/support/server_process.h"
#include "tests/support/streamed_commit.h"
#include "tests/support/wait.h"
#include "tests/support/watch_client.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>

#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::test {
namespace {

using ::testing::HasSubstr;
using testing::Samples;
using testing::Scrape;
using testing::WaitUntil;
using Stub = pb::SessionService::Stub;

// What other tests move, and which.
const std::map<std::string, std::string> kMovedElsewhere = {
    {"holdfast_accept_pauses_total", "recovery.IdleConnections.AreSurvivedWhenNoDescriptorIsLeft"},
    {"holdfast_connections_refused_total", "rpc.MetricsRpc.CountsRefusedConnections"},
    {"holdfast_connections_closed_total", "recovery.RapidReset, unit.MemoryGuardTest"},
    {"holdfast_log_lines_left_out_total", "rpc.MetricsRpc.CountsExceptionsAndLinesThatWereLeftOut"},
    {"holdfast_exceptions_total", "rpc.MetricsRpc.CountsExceptionsAndLinesThatWereLeftOut"},
    {"holdfast_store_group_changes", "rpc.MetricsProcess.ShowsWhatOnlyAProgramHas"},
    {"holdfast_store_group_bytes", "rpc.MetricsProcess.ShowsWhatOnlyAProgramHas"},
    {"holdfast_store_tails_cut_total", "recovery.CutJournal.AnUnfinishedWriteIsCutOffAndSaidSo"},
    {"holdfast_files_maintenance_total", "recovery.FileWork.OfARealServerIsCounted"},
    {"holdfast_store_warnings", "rpc.MetricsProcess.ShowsWhatOnlyAProgramHas"},
    {"holdfast_files_size_bytes", "rpc.MetricsProcess.ShowsWhatOnlyAProgramHas"},
    {"holdfast_files_available_bytes", "rpc.MetricsProcess.ShowsWhatOnlyAProgramHas"},
    {"holdfast_spans_total", "rpc.TracesRpc.ItsCountsAreMetrics"},
    {"holdfast_unsampled_calls_total", "rpc.TracesRpc.ItsCountsAreMetrics"},
    {"holdfast_span_exports_failed_total", "rpc.TracesRpc.AReceiverThatIsDownCostsNoCall"},
    {"holdfast_sessions", "rpc.MetricsProcess.ShowsWhatOnlyAProgramHas"},
    {"holdfast_watch_lag_seconds", "rpc.WatchRpc.TheLagOfAReaderIsAMetric"},
    {"holdfast_insecure", "rpc.MetricsProcess.ShowsWhatOnlyAProgramHas"},
};

// 0 for a sample that is not shown.
double ValueOf(const Samples& samples, const std::string& sample) {
  const auto found = samples.find(sample);
  return found == samples.end() ? 0 : found->second;
}

class MetricsRpc : public Served {
 protected:
  MetricsRpc() { config().telemetry.metrics_address = "127.0.0.1:0"; }

  // A scrape, whose samples count as seen.
  Samples Look() {
    Samples samples = Scrape(app().metrics_address());
    EXPECT_FALSE(samples.empty());
    for (const auto& [sample, value] : samples) {
      if (value != 0) moved_.insert(testing::MetricNameOf(sample));
    }
    return samples;
  }
  // Waits until `sample` is `value`; answers the scrape.
  bool Await(const std::string& sample, double value) {
    double last = -1;
    const bool reached = WaitUntil([&] {
      last = Look()[sample];
      return last == value;
    });
    EXPECT_TRUE(reached) << sample << " is " << last << ", not " << value;
    return reached;
  }

  void AskWhatIsNotThere() {
    pb::GetSessionRequest request;
    request.set_session_id("absent");
    EXPECT_FALSE(Ask(&Stub::GetSession, request).ok());
  }

  std::set<std::string> moved_;
};

TEST_F(MetricsRpc, ServesNothingWithoutAnAddress) {
  config().telemetry.metrics_address = "";
  EXPECT_EQ(app().metrics_address(), "");
  EXPECT_EQ(app().ReadyLine().find(" metrics="), std::string::npos);
}

TEST_F(MetricsRpc, ServesOnePageAndNothingElse) {
  const std::string address = app().metrics_address();
  EXPECT_THAT(app().ReadyLine(), HasSubstr(" metrics=" + address));
  EXPECT_THAT(testing::HttpGet(address, "/metrics"), HasSubstr("text/plain"));
  for (const char* path : {"/", "/metrics/../../etc/passwd", "/favicon.ico"}) {
    EXPECT_THAT(testing::HttpGet(address, path), HasSubstr("HTTP/1.1 40")) << path;
  }
}

TEST_F(MetricsRpc, CountsCallsByMethodAndCode) {
  Create("one");
  AskWhatIsNotThere();
  AskWhatIsNotThere();
  const Samples samples = Look();
  EXPECT_EQ(samples.at("holdfast_rpc_started_total{method=\"GetSession\"}"), 2);
  EXPECT_EQ(samples.at("holdfast_rpc_handled_total{method=\"GetSession\",code=\"NOT_FOUND\"}"), 2);
  EXPECT_EQ(samples.at("holdfast_rpc_handled_total{method=\"CreateSession\",code=\"OK\"}"), 1);
  EXPECT_EQ(samples.at("holdfast_rpc_refused_total{reason=\"SESSION_NOT_FOUND\"}"), 2);
  const auto timed = [&](const char* labels) {
    return samples.at(absl::StrCat("holdfast_rpc_duration_seconds_count{", labels, "}"));
  };
  EXPECT_EQ(timed("method=\"GetSession\",outcome=\"failed\""), 2);
  EXPECT_EQ(timed("method=\"CreateSession\",outcome=\"ok\""), 1);
  EXPECT_EQ(samples.at("holdfast_store_errors_total{call=\"LoadForDecision\",reason="
                       "\"SESSION_NOT_FOUND\"}"),
            2);
}

TEST_F(MetricsRpc, CountsTransitionsAndGrants) {
  const std::string token = Create("one").lease_token();
  Commit("one", token, Begin("one", token).turn(), "said");
  pb::ResumeSessionResponse resumed;
  ASSERT_TRUE(Ask(&Stub::ResumeSession, ForceRequest("one"), &resumed).ok());
  ASSERT_TRUE(Ask(&Stub::CloseSession, CloseRequest("one", resumed.lease_token())).ok());
  ASSERT_TRUE(Ask(&Stub::DeleteSession, DeleteRequest("one", "")).ok());
  const Samples samples = Look();
  const auto moved = [&](const std::string& from, const std::string& to,
                         const std::string& trigger) {
    return ValueOf(samples, absl::StrCat("holdfast_session_transitions_total{from=\"", from,
                                         "\",to=\"", to, "\",trigger=\"", trigger, "\"}"));
  };
  EXPECT_EQ(moved("NONE", "IDLE", "Create"), 1);
  EXPECT_EQ(moved("IDLE", "ACTIVE", "BeginTurn"), 1);
  EXPECT_EQ(moved("ACTIVE", "PERSISTED", "CommitTurn"), 1);
  EXPECT_EQ(moved("PERSISTED", "RESUMED", "Resume"), 1);
  EXPECT_EQ(moved("RESUMED", "CLOSED", "Close"), 1);
  EXPECT_EQ(moved("CLOSED", "DELETED", "Delete"), 1);
  EXPECT_EQ(samples.at("holdfast_lease_grants_total{previous_holder=\"none\"}"), 1);
  EXPECT_EQ(samples.at("holdfast_store_commits_total{result=\"applied\"}"), 6);
}

TEST_F(MetricsRpc, CountsRefusedConnections) {
  config().server.connections_per_peer = 1;
  Create("one");
  const testing::RawSocket second(app().address(), "127.0.0.1");
  Await("holdfast_connections_refused_total{limit=\"peer\"}", 1);
}

TEST_F(MetricsRpc, CountsExceptionsAndLinesThatWereLeftOut) {
  // More than are written in a second, whenever it begins.
  for (int64_t i = 0; i < 3 * kRefusedLinesPerSecond; ++i) AskWhatIsNotThere();
  EXPECT_GE(Look()["holdfast_log_lines_left_out_total{cause=\"rate\"}"], 1);
  Create("one");
  script().Throw(true);
  pb::GetSessionRequest request;
  request.set_session_id("one");
  EXPECT_FALSE(Ask(&Stub::GetSession, request).ok());
  script().Throw(false);
  EXPECT_EQ(Look()["holdfast_exceptions_total"], 1);
}

// One server, every kind of work, and then the whole table.
TEST_F(MetricsRpc, EveryMetricMoves) {
  config().server.workers = 1;
  config().recovery.sweep_interval = absl::Milliseconds(20);
  const std::string token = Create("one").lease_token();
  AskWhatIsNotThere();
  {
    testing::Watch watch(sessions(), testing::WatchFrom("one", 0));
    watch.UntilProgress();
    Await("holdfast_watchers", 1);
    EXPECT_GT(Look()["holdfast_memory_budget_used_bytes"], 0);
    EXPECT_EQ(Look()["holdfast_rpc_in_flight{method=\"WatchSession\"}"], 1);
  }
  {
    grpc::ClientContext context;
    pb::CommitTurnResponse response;
    auto commit = CommitRequest("one", token, Begin("one", token).turn(), std::string(kMiB, 'x'));
    const auto parts = PartsOf(commit);
    const auto writer = sessions().CommitTurnStream(&context, &response);
    writer->Write(parts[0]);
    writer->Write(parts[1]);
    EXPECT_TRUE(WaitUntil([&] { return Look()["holdfast_staged_used_bytes"] > 0; }));
    EXPECT_EQ(Look()["holdfast_streams"], 1);
    context.TryCancel();
    writer->Finish();
  }
  Await("holdfast_streams", 0);
  script().Hold();
  std::vector<std::thread> calls;
  for (int i = 0; i < 2; ++i) {
    calls.emplace_back([&] {
      pb::GetSessionRequest request;
      request.set_session_id("one");
      Ask(&Stub::GetSession, request);
    });
  }
  Await("holdfast_queued_calls", 1);
  EXPECT_TRUE(WaitUntil([&] { return Look()["holdfast_queue_oldest_age_seconds"] > 0; }));
  script().Release();
  for (std::thread& call : calls) call.join();
  EXPECT_TRUE(WaitUntil(
      [&] { return Look()["holdfast_sweeps_total{sweep=\"abandoned\",outcome=\"ok\"}"] > 0; }));
  clock().Advance(config().recovery.abandon_after + absl::Hours(1));
  Await("holdfast_swept_sessions_total{sweep=\"abandoned\"}", 1);
  Await("holdfast_queued_calls", 0);
  if (kMemoryIsGuarded) {
    EXPECT_TRUE(WaitUntil([&] { return Look()["holdfast_process_guarded_bytes"] > 0; }));
  }
  for (const MetricRow& row : kMetricRows) {
    const std::string name(row.name);
    if (absl::StrContains(name, "_postgres_")) continue;  // postgres.PgMetrics
    if (row.metric == Metric::kGuardedMemory && !kMemoryIsGuarded) continue;
    EXPECT_TRUE(moved_.contains(name) || kMovedElsewhere.contains(name)) << name;
  }
}

// Series grow with methods and outcomes, and with nothing that a client names.
TEST_F(MetricsRpc, CardinalityStaysWhenSessionsAreMany) {
  config().recovery.sweep_interval = absl::Milliseconds(20);
  const auto use = [this](int from, int to) {
    for (int i = from; i < to; ++i) {
      const std::string id = absl::StrCat("session-", i);
      const std::string token = Create(id).lease_token();
      Commit(id, token, Begin(id, token).turn(), "said");
      pb::GetSessionRequest request;
      request.set_session_id(absl::StrCat("absent-", i));
      Ask(&Stub::GetSession, request);
    }
  };
  use(0, 10);
  // The server's own work has series too.
  EXPECT_TRUE(WaitUntil([&] {
    const Samples samples = Look();
    return ValueOf(samples, "holdfast_store_call_duration_seconds_count{call=\"ListDue\"}") > 0 &&
           ValueOf(samples, "holdfast_store_call_duration_seconds_count{call=\"CheckHealth\"}") > 0;
  }));
  const size_t before = Look().size();
  use(10, 1000);
  EXPECT_EQ(Look().size(), before);
}

std::string MetricsAt(const std::string& address) {
  return absl::StrCat("telemetry: {metrics_address: \"", address, "\"}\n");
}

// Over files, as an operator starts it.
using LongMetrics = MetricsRpc;

// Labels name no session: what a scrape costs does not grow with their number.
TEST_F(LongMetrics, AHundredThousandSessionsAddNoSeries) {
  config().recovery.sweep_interval = absl::Seconds(1);
  const auto series = [this] {
    std::set<std::string> names;
    for (const auto& [sample, value] : Look()) names.insert(sample);
    return names;
  };
  int made = 0;
  const auto make = [&](int sessions) {
    for (; made < sessions; ++made) {
      const std::string id = absl::StrCat("session-", made);
      const std::string token = Create(id).lease_token();
      if (made % 100 == 0) Commit(id, token, Begin(id, token).turn(), "said");
    }
  };
  make(10);
  AskWhatIsNotThere();
  // What the server does by itself has begun.
  for (const char* call : {"ListDue", "CheckHealth"}) {
    const std::string sample =
        absl::StrCat("holdfast_store_call_duration_seconds_count{call=\"", call, "\"}");
    EXPECT_TRUE(WaitUntil([&] { return ValueOf(Look(), sample) > 0; })) << call;
  }
  const std::set<std::string> few = series();
  make(100'000);
  EXPECT_EQ(series(), few);
}

TEST(MetricsProcess, ShowsWhatOnlyAProgramHas) {
  const testing::TestFolder folder;
  const testing::ReservedPort port;
  testing::ServerProcess server(folder, {.server = ", insecure: true",
                                         .more = MetricsAt(port.address()),
                                         .store = ", durability: interval, interval: 1s"});
  ASSERT_TRUE(server.Start()) << server.Log();
  grpc::ClientContext context;
  pb::CreateSessionResponse created;
  const auto sessions = pb::SessionService::NewStub(testing::Connected(server.address()));
  ASSERT_TRUE(sessions->CreateSession(&context, CreateRequest("one"), &created).ok());
  grpc::ClientContext next;
  pb::BeginTurnResponse begun;
  ASSERT_TRUE(sessions->BeginTurn(&next, BeginRequest("one", created.lease_token()), &begun).ok());
  Samples samples = Scrape(port.address());
  EXPECT_GT(samples["holdfast_files_size_bytes"], samples["holdfast_files_available_bytes"]);
  EXPECT_GT(samples["holdfast_files_available_bytes"], 0);
  EXPECT_EQ(samples["holdfast_store_group_changes_count"], 1);
  EXPECT_EQ(samples["holdfast_store_group_changes_sum"], 1);
  EXPECT_GT(samples["holdfast_store_group_bytes_sum"], 0);
  EXPECT_GT(samples["holdfast_store_warnings"], 0);
  EXPECT_EQ(samples["holdfast_sessions{lifecycle=\"ACTIVE\"}"], 1);
  EXPECT_EQ(samples["holdfast_sessions{lifecycle=\"IDLE\"}"], 0);
  EXPECT_EQ(samples["holdfast_insecure"], 1);
  EXPECT_EQ(samples.count("holdfast_postgres_connections_limit"), 0) << "it has no database";
  EXPECT_EQ(server.Stop().exit_code, 0) << server.Log();
}

TEST(MetricsProcess, RefusesTheStartWhenThePortIsTaken) {
  Metrics metrics;
  const auto first = MetricsEndpoint::Start("127.0.0.1:0", metrics);
  ASSERT_TRUE(first.ok()) << first.status();
  const std::string& taken = (*first)->address();
  const testing::TestFolder folder;
  testing::ServerProcess server(folder, {.more = MetricsAt(taken)});
  EXPECT_FALSE(server.Start());
  EXPECT_THAT(server.Log(),
              HasSubstr(absl::StrCat("telemetry.metrics_address: ", taken, " cannot be listened")));
}

}  // namespace
}  // namespace holdfast::test

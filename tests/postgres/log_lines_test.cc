// The log of a real server from a start that is refused to the end of a drain: calls that are done
// and refused, a database that refuses and is away, lines of gRPC. Every line is JSON, and none has
// what the calls carried.
#include "holdfast/v1/admin_service.grpc.pb.h"
#include "tests/postgres/faults_fixture.h"
#include "tests/support/channel.h"
#include "tests/support/child_process.h"
#include "tests/support/requests.h"
#include "tests/support/wait.h"

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::testing {
namespace {

// In every field that the server stores or sends back without looking at it.
constexpr char kMarker[] = "m4rked-p4yl0ad";
constexpr size_t kLinesLeast = 10'000;

// One line, whose shape the test expects. Null when it is none.
nlohmann::json ExpectLine(const std::string& text) {
  nlohmann::json line = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  const bool shaped = line.is_object() && line.contains("time") && line.contains("level") &&
                      line.contains("message");
  EXPECT_TRUE(shaped) << text;
  if (!shaped) return nullptr;
  if (line["message"] == "call") {
    EXPECT_EQ(line.value("trace_id", "").size(), 32) << text;
    EXPECT_EQ(line.value("span_id", "").size(), 16) << text;
  }
  return line;
}

// What kind of line it is, as far as the test counts them.
std::string KindOf(const nlohmann::json& line) {
  if (line.contains("source")) return "of " + line.value("source", "");
  if (line["message"] == "call") return line["reason"] == "" ? "done" : "refused";
  return line["message"];
}

class LogLines : public FaultsTest {
 protected:
  void SetUp() override {
    setenv("GRPC_VERBOSITY", "DEBUG", 1);
    FaultsTest::SetUp();
    unsetenv("GRPC_VERBOSITY");
  }

  // A session that carries the marker wherever it can, and the token of its lease.
  std::string CreateMarked(const std::string& session) {
    pb::CreateSessionRequest create = test::CreateRequest(session);
    (*create.mutable_attributes())["note"] = kMarker;
    create.set_holder(kMarker);
    create.add_messages()->set_data(kMarker);
    return served().client->Must(&Stub::CreateSession, create).lease_token();
  }

  static pb::CommitTurnRequest MarkedCommit(const std::string& session, const std::string& token,
                                            uint64_t turn) {
    pb::CommitTurnRequest commit = test::CommitRequest(session, token, turn, kMarker);
    pb::Slot& slot = *commit.add_slots();
    slot.set_owner("tests");
    slot.set_version("1.0.0");
    slot.set_drift_policy(pb::DRIFT_POLICY_MIGRATE);
    slot.set_data(kMarker);
    return commit;
  }

  void TakeMarkedTurn(const std::string& session, const std::string& token) {
    WireClient& client = *served().client;
    const uint64_t turn = client.Must(&Stub::BeginTurn, test::BeginRequest(session, token)).turn();
    pb::AppendJournalRequest append = test::AppendRequest(session, token, turn, 1);
    append.mutable_entries(0)->set_data(kMarker);
    client.Must(&Stub::AppendJournal, append);
    pb::CommitTurnRequest refused = MarkedCommit(session, token, turn + 1);
    EXPECT_NE(client.Reason(&Stub::CommitTurn, refused), "OK");
    refused = MarkedCommit(session, token, turn);
    refused.mutable_messages(0)->set_role(std::string(100, 'r') + kMarker);
    EXPECT_NE(client.Reason(&Stub::CommitTurn, refused), "OK");
    client.Must(&Stub::CommitTurn, MarkedCommit(session, token, turn));
    pb::UpdateSessionRequest update;
    update.set_request_id(test::NewRequestId());
    update.mutable_session()->set_session_id(session);
    (*update.mutable_session()->mutable_attributes())["note"] = kMarker;
    update.mutable_update_mask()->add_paths("attributes.note");
    client.Must(&Stub::UpdateSession, update);
    pb::AppendAuditRequest audit;
    audit.set_request_id(test::NewRequestId());
    audit.set_session_id(session);
    audit.set_audit_class("tests");
    audit.set_code("marked");
    audit.set_correlation_id("a turn");
    (*audit.mutable_data())["note"] = kMarker;
    client.Must(&Stub::AppendAudit, audit);
  }

  // PostgreSQL says the whole row of a check that fails.
  void CommitAgainstACheck(const std::string& session, const std::string& token) {
    const uint64_t turn =
        served().client->Must(&Stub::BeginTurn, test::BeginRequest(session, token)).turn();
    Run("ALTER TABLE holdfast.log ADD CONSTRAINT refuses CHECK (msgs IS NULL) NOT VALID");
    EXPECT_EQ(served().Commit(MarkedCommit(session, token, turn)).verdict.reason,
              "STORE_UNAVAILABLE");
    Run("ALTER TABLE holdfast.log DROP CONSTRAINT refuses");
  }

  // Echoes, each a line, by several clients at once.
  void SendEchoes(size_t count) {
    constexpr size_t kClients = 8;
    std::vector<std::jthread> clients;
    for (size_t client = 0; client < kClients; ++client) {
      clients.emplace_back([this, count] {
        const auto admin = pb::AdminService::NewStub(Connected(served().server.address()));
        pb::EchoRequest request;
        request.set_payload(kMarker);
        for (size_t sent = 0; sent < count / kClients; ++sent) {
          grpc::ClientContext context;
          pb::EchoResponse response;
          EXPECT_TRUE(admin->Echo(&context, request, &response).ok());
        }
      });
    }
  }

  // A start that a violation in the configuration ends, in the log of the server.
  void RefuseAStart() {
    const TestFolder& folder = served().folder;
    std::ofstream(folder.File("refused.yaml")) << "server: {workers: 0}\nunknown: 1\n";
    const Ending ending = RunToEnd({Program("holdfastd"), "--config", folder.File("refused.yaml")},
                                   folder.File("refused"), folder.File("server.log"));
    EXPECT_EQ(ending.exit_code, 1);
  }
};

TEST_F(LogLines, AreJsonWithoutPayloadWhateverHappens) {
  const std::string session = "marked";
  const std::string token = CreateMarked(session);
  TakeMarkedTurn(session, token);
  CommitAgainstACheck(session, token);
  pb::GetSessionRequest missing;
  missing.set_session_id("missing");
  for (int call = 0; call < 100; ++call) {
    EXPECT_EQ(served().client->Reason(&Stub::GetSession, missing), "SESSION_NOT_FOUND");
  }
  SendEchoes(kLinesLeast);
  gate().Refuse();
  ASSERT_TRUE(served().server.AwaitLog("the store cannot be used"));
  EXPECT_EQ(served().Commit(MarkedCommit(session, token, 2)).verdict.reason, "STORE_UNAVAILABLE");
  gate().Open();
  ASSERT_TRUE(served().server.AwaitLog("the store can be used again"));
  EXPECT_EQ(served().server.Stop().exit_code, 0);
  RefuseAStart();

  const std::string log = served().server.Log();
  const std::vector<std::string> lines = absl::StrSplit(log, '\n', absl::SkipEmpty());
  EXPECT_GE(lines.size(), kLinesLeast);
  std::map<std::string, size_t> kinds;
  for (const std::string& text : lines) {
    const nlohmann::json line = ExpectLine(text);
    if (line.is_object()) ++kinds[KindOf(line)];
  }
  for (const char* kind : {"serving", "done", "refused", "calls not logged", "postgres",
                           "the store cannot be used: not serving until it can",
                           "the store can be used again: serving", "of grpc", "stopping", "stopped",
                           "the configuration is refused"}) {
    EXPECT_GT(kinds[kind], 0) << "no line: " << kind;
  }
  EXPECT_FALSE(absl::StrContains(log, kMarker));
  EXPECT_FALSE(absl::StrContains(log, absl::BytesToHexString(kMarker))) << "as PostgreSQL says it";
  EXPECT_FALSE(absl::StrContains(log, absl::Base64Escape(kMarker)));
}

}  // namespace
}  // namespace holdfast::testing

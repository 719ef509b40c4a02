#include "session/limits.h"
#include "store-fs/recovery.h"
#include "tests/recovery/causes.h"
#include "tests/support/aged_store.h"
#include "tests/support/changes.h"
#include "tests/support/request_edits.h"
#include "tests/support/requests.h"
#include "tests/support/server_process.h"
#include "tests/support/small_disk.h"
#include "tests/support/temp_dir.h"
#include "tests/support/valid_requests.h"
#include "tests/support/wait.h"
#include "tests/support/wire_client.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::testing {
namespace {

namespace stdfs = std::filesystem;
using google::protobuf::Message;
using google::protobuf::MethodDescriptor;
using Stub = WireClient::Stub;

stdfs::path DirectoryOf(const TestFolder& folder, const std::string& session) {
  return folder.path() / "data" / fs::DirectoryOf(test::Key(session));
}

// A byte near the beginning.
void Damage(const stdfs::path& path) {
  constexpr size_t kAt = 200;
  std::string bytes = test::ReadFile(path);
  bytes.at(kAt) = static_cast<char>(bytes.at(kAt) ^ 1);
  test::WriteFile(path, bytes);
}

// Each session is the newest of a project of its own.
std::string ProjectOf(const std::string& session) { return "/project/" + session; }

void Create(const ServerProcess& server, const std::string& session) {
  pb::CreateSessionRequest create = test::CreateRequest(session);
  create.mutable_manifest()->set_project_root(ProjectOf(session));
  WireClient(server.address()).Must(&Stub::CreateSession, create);
}

// The session in `folder` becomes that of the same id of another store.
void Replace(const TestFolder& folder, const std::string& session) {
  const TestFolder other;
  ServerProcess server(other);
  ASSERT_TRUE(server.Start()) << server.Log();
  Create(server, session);
  ASSERT_EQ(server.Stop().exit_code, 0) << server.Log();
  stdfs::remove_all(DirectoryOf(folder, session));
  stdfs::copy(DirectoryOf(other, session), DirectoryOf(folder, session),
              stdfs::copy_options::recursive);
}

// The methods that declare the reason. The listing no longer has the project of a session that
// could not be opened, so the search for the newest one comes first.
std::vector<const MethodDescriptor*> SearchFirst(const std::string& reason) {
  std::vector<const MethodDescriptor*> methods = CausedReasons::MethodsWith(reason);
  std::stable_partition(methods.begin(), methods.end(),
                        [](const auto* method) { return method->name() == "LookupLatestSession"; });
  return methods;
}

void ExpectListingComplete(WireClient& client) {
  EXPECT_TRUE(WaitUntil(
      [&] { return client.Must(&Stub::ListSessions, pb::ListSessionsRequest()).complete(); }));
}

// Takes all the space that there is.
void FillUp(const stdfs::path& disk) {
  std::ofstream ballast(disk / "ballast", std::ios::binary | std::ios::app);
  const std::string piece(4096, 'x');
  while (ballast.write(piece.data(), static_cast<std::streamsize>(piece.size())).flush()) {
  }
}

// A request that changes something: a resume with the current token does not.
std::unique_ptr<Message> Changing(const MethodDescriptor& method, ValidRequests& valid) {
  std::unique_ptr<Message> request = valid.Make(method);
  if (auto* resume = dynamic_cast<pb::ResumeSessionRequest*>(request.get())) {
    resume->clear_lease_token();
    resume->mutable_force()->set_reason("taken over");
  }
  return request;
}

// One turn after the other.
class Turns final {
 public:
  Turns(std::string session, std::string token)
      : session_(std::move(session)), token_(std::move(token)) {}

  void Begin(const ServerProcess& server) {
    WireClient(server.address()).Must(&Stub::BeginTurn, test::BeginRequest(session_, token_));
  }
  // So many bytes that the journal is rotated: a part of the history is dropped with all that was
  // in one journal.
  void FillJournal(const ServerProcess& server) { Take(server, 3, 2 * kMiB); }
  void TakeThousandEvents(const ServerProcess& server) {
    constexpr int kEventsOfTurn = 3;
    Take(server, static_cast<int>(kEventsKeptLeast) / kEventsOfTurn + 1, 1);
  }

 private:
  void Take(const ServerProcess& server, int count, size_t bytes) {
    WireClient client(server.address());
    for (int i = 0; i < count; ++i) {
      pb::CommitTurnRequest commit =
          test::CommitRequest(session_, token_, turn_++, std::string(bytes, 'm'));
      commit.mutable_begin_next()->set_source(pb::TURN_SOURCE_USER);
      client.Must(&Stub::CommitTurn, commit);
    }
  }

  const std::string session_;
  const std::string token_;
  uint64_t turn_ = 1;
};

}  // namespace

void CauseByDamage(CausedReasons& caused) {
  const TestFolder folder;
  ServerProcess server(folder);
  ASSERT_TRUE(server.Start()) << server.Log();
  for (const char* const session : {"damaged", "drifted", "foreign"}) Create(server, session);
  ASSERT_EQ(server.Stop().exit_code, 0) << server.Log();
  ASSERT_TRUE(server.Start()) << server.Log();
  WireClient client(server.address());
  ExpectListingComplete(client);
  ValidRequests valid(server.address(), "valid");
  Damage(DirectoryOf(folder, "damaged") / "journal.log");
  Damage(DirectoryOf(folder, "drifted") / "manifest.json");
  ASSERT_NO_FATAL_FAILURE(Replace(folder, "foreign"));
  RefusedCalls calls(server.address(), caused);
  for (const auto& [session, reason] :
       {std::pair("damaged", "DAMAGED"), std::pair("drifted", "MANIFEST_DRIFT"),
        std::pair("foreign", "RESUME_MISMATCH")}) {
    for (const MethodDescriptor* method : SearchFirst(reason)) {
      const std::unique_ptr<Message> request = valid.Make(*method);
      SetTexts(*request, "session_id", session);
      SetTexts(*request, "project_root", ProjectOf(session));
      calls.Send(*method, reason, {request->SerializePartialAsString()});
    }
  }
}

void CauseByFullDisk(CausedReasons& caused) {
  const test::SmallDisk disk("4m");
  const TestFolder folder;
  ServerProcess server(folder, {.root = disk.path() / "root"});
  ASSERT_TRUE(server.Start()) << server.Log();
  ValidRequests valid(server.address(), "valid");
  ASSERT_EQ(server.Stop().exit_code, 0) << server.Log();
  FillUp(disk.path());
  // What it would write first waits for space, and every change waits for that.
  ASSERT_TRUE(server.Start()) << server.Log();
  RefusedCalls calls(server.address(), caused);
  // The third commit of a turn that fails has the other reason.
  for (const char* const reason : {"STORAGE_FULL", "SNAPSHOT_FAILED"}) {
    for (const MethodDescriptor* method : CausedReasons::MethodsWith(reason)) {
      const std::unique_ptr<Message> request = Changing(*method, valid);
      FillUp(disk.path());  // again: the server frees what it no longer needs
      calls.Send(*method, reason,
                 ValidRequests::Opened(*method, request->SerializePartialAsString()));
    }
  }
}

void CauseByAge(CausedReasons& caused) {
  const TestFolder folder;
  ServerProcess server(folder);
  ASSERT_TRUE(server.Start()) << server.Log();
  const std::string token = WireClient(server.address())
                                .Must(&Stub::CreateSession, test::CreateRequest("old"))
                                .lease_token();
  Turns turns("old", token);
  turns.Begin(server);
  turns.FillJournal(server);
  ASSERT_EQ(server.Stop().exit_code, 0) << server.Log();
  ASSERT_NO_FATAL_FAILURE(LetTimePass(folder.path() / "data", 8 * absl::Hours(24)));
  ASSERT_TRUE(server.Start()) << server.Log();
  turns.TakeThousandEvents(server);
  turns.FillJournal(server);
  WireClient client(server.address());
  pb::ListEventsRequest list;
  list.set_session_id("old");
  list.set_after_seq(1);
  EXPECT_TRUE(WaitUntil([&] { return client.Reason(&Stub::ListEvents, list) != "OK"; }));
  pb::WatchSessionRequest watch;
  watch.set_session_id("old");
  watch.set_after_seq(1);
  RefusedCalls calls(server.address(), caused);
  for (const MethodDescriptor* method : CausedReasons::MethodsWith("EVENTS_COMPACTED")) {
    const bool watches = method->name() == "WatchSession";
    calls.Send(*method, "EVENTS_COMPACTED",
               {watches ? watch.SerializeAsString() : list.SerializeAsString()});
  }
}

}  // namespace holdfast::testing

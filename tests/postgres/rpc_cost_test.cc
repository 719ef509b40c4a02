// What calls of the wire cost in statements of the database, as its own log has them: at ten
// messages and at ten thousand.
#include "holdfast/v1/item_service.grpc.pb.h"
#include "tests/postgres/faults_fixture.h"
#include "tests/support/channel.h"
#include "tests/support/requests.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include <gmock/gmock.h>

#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::testing {
namespace {

using ::testing::ElementsAreArray;

// The statements that a server runs without a call.
const std::set<std::string_view> kByItself = {"alive",
                                              "probe",
                                              "take_probes_away",
                                              "feed_now",
                                              "feed",
                                              "last_event",
                                              "due_abandoned",
                                              "due_cancelled",
                                              "drop_old_uploads",
                                              "in_sight",
                                              "prune",
                                              "purge_one",
                                              "settle",
                                              "still_there",
                                              "forget_requests",
                                              "notify",
                                              "connection_check_server",
                                              "connection_check_store",
                                              "migrations_applied",
                                              "migrations_prepared"};

// Each call with its statements, in the order of the sheet.
const std::vector<std::string> kSheet = {
    "BeginTurn: change",
    "AppendJournal: change",
    "CommitTurn: change",
    "RenewLeases: renew",
    "GetSession: load",
    "ListMessages: messages",
    "ListSlots: slots",
    "ListJournalEntries: journal",
    "ListEvents: events",
    "ListAuditRecords: audit",
    "BatchGetSessions: load load slots_of items_of messages",
    "ListSessions: list_up",
    "ListSessions with slots: list_up_slots",
    "GetRequestOutcome: load_flushed",
    "ResumeSession: change",
    "ReleaseLease: change",
};

class RpcCost : public FaultsTest {
 protected:
  RpcCost()
      : FaultsTest(
            {"fsync=off", "autovacuum=off", "log_statement=all", "log_parameter_max_length=0"}) {}

  // Ignores the log up to here.
  void Forget() { read_ = postgres().Log().size(); }
  // The statements of calls since then, or since the last call of this.
  std::vector<std::string> Statements() {
    constexpr std::string_view kMark = "LOG:  execute ";
    const std::string log = postgres().Log();
    std::vector<std::string> names;
    std::istringstream added(log.substr(read_));
    for (std::string line; std::getline(added, line);) {
      // No call holds a transaction open between two statements.
      EXPECT_EQ(line.find("LOG:  statement: BEGIN"), std::string::npos) << line;
      const size_t at = line.find(kMark);
      if (at == std::string::npos) continue;
      const std::string behind = line.substr(at + kMark.size());
      const std::string name = behind.substr(0, behind.find(':'));
      if (!kByItself.contains(name)) names.push_back(name);
    }
    read_ = log.size();
    return names;
  }

  // Makes every call of the sheet once, in a turn of its own, and answers what each took.
  std::vector<std::string> Sheet() {
    std::vector<std::string> sheet;
    Statements();
    const auto call = [&](const std::string& name, auto method, const auto& request) {
      auto response = served().client->Must(method, request);
      sheet.push_back(absl::StrCat(name, ": ", absl::StrJoin(Statements(), " ")));
      return response;
    };
    const auto begun = call("BeginTurn", &Stub::BeginTurn, test::BeginRequest("one", token_));
    call("AppendJournal", &Stub::AppendJournal,
         test::AppendRequest("one", token_, begun.turn(), 1));
    const auto commit = test::CommitRequest("one", token_, begun.turn(), "said");
    call("CommitTurn", &Stub::CommitTurn, commit);
    call("RenewLeases", &Stub::RenewLeases, test::RenewLeaseRequest("one", token_));
    call("GetSession", &Stub::GetSession, Of<pb::GetSessionRequest>());
    call("ListMessages", &Stub::ListMessages, Of<pb::ListMessagesRequest>());
    call("ListSlots", &Stub::ListSlots, Of<pb::ListSlotsRequest>());
    call("ListJournalEntries", &Stub::ListJournalEntries, Of<pb::ListJournalEntriesRequest>());
    call("ListEvents", &Stub::ListEvents, Of<pb::ListEventsRequest>());
    call("ListAuditRecords", &Stub::ListAuditRecords, Of<pb::ListAuditRecordsRequest>());
    pb::BatchGetSessionsRequest batch;
    batch.add_reads()->set_session_id("one");
    pb::SessionRead& with_content = *batch.add_reads();
    with_content.set_session_id("one");
    with_content.add_owners("memory");
    with_content.add_items()->set_collection("notes");
    with_content.mutable_items(0)->set_key("k");
    with_content.set_tail_messages(2);
    call("BatchGetSessions", &Stub::BatchGetSessions, batch);
    pb::ListSessionsRequest list;
    call("ListSessions", &Stub::ListSessions, list);
    list.add_read_slots("memory");
    call("ListSessions with slots", &Stub::ListSessions, list);
    auto outcome = Of<pb::GetRequestOutcomeRequest>();
    outcome.set_request_id(commit.request_id());
    outcome.set_method(pb::METHOD_COMMIT_TURN);
    call("GetRequestOutcome", &Stub::GetRequestOutcome, outcome);
    const auto resumed = call("ResumeSession", &Stub::ResumeSession, test::ForceRequest("one"));
    call("ReleaseLease", &Stub::ReleaseLease, test::ReleaseRequest("one", resumed.lease_token()));
    token_ = served().client->Must(&Stub::ResumeSession, test::ResumeRequest("one")).lease_token();
    return sheet;
  }

  void Commit(int messages) {
    auto commit = served().Prepare("one", token_, "first");
    for (int i = 1; i < messages; ++i) *commit.add_messages() = commit.messages(0);
    served().client->Must(&Stub::CommitTurn, commit);
  }

  void SetUp() override {
    FaultsTest::SetUp();
    token_ = token();
    Forget();
  }

 private:
  template <typename Request>
  static Request Of() {
    Request request;
    request.set_session_id("one");
    return request;
  }

  std::string token_;
  size_t read_ = 0;
};

TEST_F(RpcCost, IsThatOfTheSheetHoweverLongTheSession) {
  Commit(10);
  EXPECT_THAT(Sheet(), ElementsAreArray(kSheet));
  for (int i = 0; i < 5; ++i) Commit(2000);
  EXPECT_THAT(Sheet(), ElementsAreArray(kSheet));
}

// The head is known to no server that has just started.
TEST_F(RpcCost, IsOneLoadMoreWhereTheHeadIsNotKnown) {
  served().server.Kill();
  served().Start();
  Forget();
  served().client->Must(&Stub::BeginTurn, test::BeginRequest("one", token()));
  EXPECT_EQ(absl::StrJoin(Statements(), " "), "load change");
}

TEST_F(RpcCost, OfTheItemsOfAGroupIsOneListingAndOneReadOfEachSession) {
  const auto items = pb::ItemService::NewStub(Connected(served().server.address()));
  for (const std::string id : {"a", "b", "c"}) {
    pb::CreateSessionRequest create = test::CreateRequest(id);
    create.set_group("app/g");
    served().client->Must(&Stub::CreateSession, create);
    if (id == "b") continue;
    pb::PutItemsRequest put;
    put.set_request_id(test::NewRequestId());
    put.set_session_id(id);
    for (const char* const key : {"1", "2"}) {
      put.add_puts()->mutable_item()->set_collection("notes");
      put.mutable_puts()->rbegin()->mutable_item()->set_key(key);
    }
    grpc::ClientContext context;
    pb::PutItemsResponse response;
    const grpc::Status status = items->PutItems(&context, put, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
  }
  // The statements of one page, behind which `request` goes on.
  const auto page = [&](pb::ReadItemsRequest& request) {
    Statements();
    grpc::ClientContext context;
    const auto reader = items->ReadItems(&context, request);
    for (pb::ReadItemsResponse response; reader->Read(&response);) {
      request.set_page_token(response.next_page_token());
    }
    EXPECT_TRUE(reader->Finish().ok());
    return absl::StrJoin(Statements(), " ");
  };
  pb::ReadItemsRequest request;
  request.set_collection("notes");
  request.set_group("app/g");
  EXPECT_EQ(page(request), "list_group_up items_up items_up items_up");
  EXPECT_EQ(request.page_token(), "");
  request.set_page_size(3);
  EXPECT_EQ(page(request), "list_group_up items_up items_up items_up");
  EXPECT_EQ(page(request), "items_up list_group_up");
  EXPECT_EQ(request.page_token(), "");
  request.clear_group();
  request.set_group_prefix("app/");
  request.set_page_size(0);
  EXPECT_EQ(page(request), "list_groups_up items_up items_up items_up");
}

}  // namespace
}  // namespace holdfast::testing

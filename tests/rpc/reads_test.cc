// Listing with page tokens, events, journal pages, the outcome of a request, and renewals.
#include "session/limits.h"
#include "tests/rpc/served.h"
#include "tests/support/details.h"

#include <set>
#include <string>
#include <vector>

namespace holdfast::test {
namespace {

using Stub = pb::SessionService::Stub;

class ReadsRpc : public Served {
 protected:
  pb::ListSessionsResponse List(const pb::ListSessionsRequest& request) {
    pb::ListSessionsResponse response;
    const grpc::Status status = Ask(&Stub::ListSessions, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }
};

TEST_F(ReadsRpc, PagesHoldEverySessionOnce) {
  for (int i = 0; i < 7; ++i) Create("s" + std::to_string(i));
  std::set<std::string> seen;
  pb::ListSessionsRequest request;
  request.set_page_size(3);
  int pages = 0;
  do {
    const pb::ListSessionsResponse page = List(request);
    EXPECT_TRUE(page.complete());
    for (const auto& row : page.sessions()) {
      EXPECT_TRUE(seen.insert(row.session_id()).second) << row.session_id();
      EXPECT_EQ(row.condition(), pb::SessionSummary::CONDITION_OK);
    }
    request.set_page_token(page.next_page_token());
    ++pages;
  } while (!request.page_token().empty());
  EXPECT_EQ(seen.size(), 7);
  EXPECT_EQ(pages, 3);
}

TEST_F(ReadsRpc, APageOfLongRowsFitsIntoADefaultClient) {
  constexpr int kSessions = 600;
  for (int i = 0; i < kSessions; ++i) {
    pb::CreateSessionRequest create = CreateRequest("s" + std::to_string(i));
    create.mutable_manifest()->set_project_root("/" + std::string(kProjectRootBytes - 1, 'p'));
    (*create.mutable_attributes())["title"] = std::string(kAttributeValueBytes, 't');
    ASSERT_TRUE(Ask(&Stub::CreateSession, create).ok());
  }
  pb::ListSessionsRequest request;
  request.set_page_size(1000);
  std::set<std::string> seen;
  do {
    const pb::ListSessionsResponse page = List(request);
    ASSERT_GT(page.sessions_size(), 0);
    EXPECT_LT(page.ByteSizeLong(), kPageBytes + 64 * kKiB);
    for (const auto& row : page.sessions()) {
      EXPECT_TRUE(seen.insert(row.session_id()).second) << row.session_id();
    }
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  EXPECT_EQ(seen.size(), kSessions);
}

TEST_F(ReadsRpc, APageTokenIsBoundToItsQuestionAndItsStore) {
  for (int i = 0; i < 3; ++i) Create("s" + std::to_string(i));
  pb::ListSessionsRequest request;
  request.set_page_size(1);
  request.add_lifecycles(pb::LIFECYCLE_IDLE);
  request.add_lifecycles(pb::LIFECYCLE_ACTIVE);
  const std::string token = List(request).next_page_token();
  ASSERT_FALSE(token.empty());

  pb::ListSessionsRequest same;
  same.set_page_size(2);
  same.add_lifecycles(pb::LIFECYCLE_ACTIVE);  // in any order
  same.add_lifecycles(pb::LIFECYCLE_IDLE);
  same.set_page_token(token);
  EXPECT_EQ(List(same).sessions_size(), 2);

  pb::ListSessionsRequest with_content = request;
  for (const char* name : {"b", "a"}) with_content.add_read_attributes(name);
  with_content.add_read_slots("memory");
  with_content.set_page_token(List(with_content).next_page_token());
  with_content.mutable_read_attributes()->SwapElements(0, 1);  // in any order too
  EXPECT_EQ(List(with_content).sessions_size(), 1);
  with_content.clear_read_slots();
  EXPECT_EQ(ReasonOf(Ask(&Stub::ListSessions, with_content)), "INVALID_FIELD");

  pb::ListSessionsRequest other = same;
  other.set_order_by("create_time desc");
  EXPECT_EQ(ReasonOf(Ask(&Stub::ListSessions, other)), "INVALID_FIELD");
  other = same;
  other.set_project_root("/project");
  EXPECT_EQ(ReasonOf(Ask(&Stub::ListSessions, other)), "INVALID_FIELD");
  other = same;
  other.add_read_attributes("title");
  EXPECT_EQ(ReasonOf(Ask(&Stub::ListSessions, other)), "INVALID_FIELD");
  other = same;
  other.add_read_slots("title");
  EXPECT_EQ(ReasonOf(Ask(&Stub::ListSessions, other)), "INVALID_FIELD");
  other = same;
  std::string changed = token;
  changed[changed.size() / 2] = changed[changed.size() / 2] == 'A' ? 'B' : 'A';
  other.set_page_token(changed);
  EXPECT_EQ(ReasonOf(Ask(&Stub::ListSessions, other)), "INVALID_FIELD");
}

// A session with a slot of each of `owners`, of `bytes` bytes.
pb::CreateSessionRequest WithSlots(const std::string& id, const std::vector<std::string>& owners,
                                   size_t bytes) {
  pb::CreateSessionRequest create = CreateRequest(id);
  for (const std::string& owner : owners) {
    pb::Slot& slot = *create.add_slots();
    slot.set_owner(owner);
    slot.set_version("1.2.3");
    slot.set_drift_policy(pb::DRIFT_POLICY_WARN);
    slot.set_data(std::string(bytes, 's'));
  }
  return create;
}

TEST_F(ReadsRpc, RowsBringAttributesAndSlots) {
  pb::CreateSessionRequest create = WithSlots("one", {"memory", "other"}, 3);
  (*create.mutable_attributes())["agent"] = "planner";
  (*create.mutable_attributes())["title"] = "A talk";
  pb::Slot& large = *create.add_slots();
  large = create.slots(0);
  large.set_owner("large");
  large.set_data(std::string(kSlotBytesInRow + 1, 'l'));
  ASSERT_TRUE(Ask(&Stub::CreateSession, create).ok());
  Create("two");

  pb::ListSessionsRequest request;
  for (const char* name : {"none", "agent", "agent"}) request.add_read_attributes(name);
  for (const char* owner : {"memory", "large", "absent", "memory"}) request.add_read_slots(owner);
  const pb::ListSessionsResponse page = List(request);
  ASSERT_EQ(page.sessions_size(), 2);
  const pb::SessionSummary& row = page.sessions(0);
  EXPECT_EQ(row.session_id(), "one");
  ASSERT_EQ(row.attributes_size(), 1);
  EXPECT_EQ(row.attributes().at("agent"), "planner");
  EXPECT_EQ(row.last_event(), Get("one").last_event());
  EXPECT_EQ(row.items_version(), 0);
  ASSERT_EQ(row.slots_size(), 2);
  EXPECT_EQ(row.slots(0).slot().owner(), "large");
  EXPECT_EQ(row.slots(0).slot().version(), "1.2.3");
  EXPECT_EQ(row.slots(0).slot().data(), "");
  EXPECT_TRUE(row.slots(0).data_left_out());
  EXPECT_EQ(row.slots(0).size(), static_cast<int64_t>(kSlotBytesInRow + 1));
  EXPECT_EQ(row.slots(1).slot().owner(), "memory");
  EXPECT_EQ(row.slots(1).slot().data(), "sss");
  EXPECT_FALSE(row.slots(1).data_left_out());
  EXPECT_EQ(row.slots(1).size(), 3);
  EXPECT_EQ(page.sessions(1).attributes_size(), 0);
  EXPECT_EQ(page.sessions(1).slots_size(), 0);
  // Nothing that is not asked for.
  EXPECT_EQ(List({}).sessions(0).attributes_size(), 0);
  EXPECT_EQ(List({}).sessions(0).slots_size(), 0);
}

TEST_F(ReadsRpc, APageOfRowsWithSlotsEndsAtItsBytes) {
  constexpr int kSessions = 20;  // of 256 KiB each
  std::vector<std::string> owners;
  for (size_t i = 0; i < kSlotsPerRow; ++i) owners.push_back("owner-" + std::to_string(i));
  for (int i = 0; i < kSessions; ++i) {
    const auto create = WithSlots("s" + std::to_string(i), owners, kSlotBytesInRow);
    ASSERT_TRUE(Ask(&Stub::CreateSession, create).ok());
  }
  pb::ListSessionsRequest request;
  request.set_page_size(1000);
  for (const std::string& owner : owners) request.add_read_slots(owner);
  std::set<std::string> seen;
  int pages = 0;
  do {
    const pb::ListSessionsResponse page = List(request);
    ASSERT_GT(page.sessions_size(), 0);
    EXPECT_LE(page.ByteSizeLong(), kPageBytes + 4 * kKiB);  // and the token
    for (const auto& row : page.sessions()) {
      EXPECT_TRUE(seen.insert(row.session_id()).second) << row.session_id();
      EXPECT_EQ(row.slots_size(), static_cast<int>(kSlotsPerRow));
      for (const pb::SlotView& view : row.slots()) {
        EXPECT_EQ(view.slot().data().size(), kSlotBytesInRow);
      }
    }
    request.set_page_token(page.next_page_token());
    ++pages;
  } while (!request.page_token().empty());
  EXPECT_EQ(seen.size(), kSessions);
  EXPECT_EQ(pages, 3);  // seven in each
}

TEST_F(ReadsRpc, RowsBringAsManySlotsAsTheyMay) {
  pb::ListSessionsRequest request;
  for (size_t i = 0; i < kSlotsPerRow; ++i) request.add_read_slots(std::to_string(i));
  for (size_t i = 0; i < kAttributesPerSession; ++i) {
    request.add_read_attributes(std::to_string(i));
  }
  EXPECT_TRUE(Ask(&Stub::ListSessions, request).ok());
  pb::ListSessionsRequest more = request;
  more.add_read_slots("more");
  grpc::Status refused = Ask(&Stub::ListSessions, more);
  EXPECT_NE(Describe(refused).find("field=read_slots; got=17; limit=16"), std::string::npos)
      << Describe(refused);
  more = request;
  more.add_read_attributes("more");
  refused = Ask(&Stub::ListSessions, more);
  EXPECT_NE(Describe(refused).find("field=read_attributes; got=65; limit=64"), std::string::npos)
      << Describe(refused);
}

TEST_F(ReadsRpc, AReadOfSlotsNamesAsManyOwnersAsItMay) {
  Create("one");
  pb::ListSlotsRequest request;
  request.set_session_id("one");
  for (size_t i = 0; i < kOwnersPerRead; ++i) request.add_owners("owner-" + std::to_string(i));
  EXPECT_TRUE(Ask(&Stub::ListSlots, request).ok());
  request.add_owners("one-more");
  const grpc::Status refused = Ask(&Stub::ListSlots, request);
  EXPECT_EQ(ReasonOf(refused), "TOO_LARGE");
  EXPECT_NE(Describe(refused).find("field=owners; got=257; limit=256"), std::string::npos)
      << Describe(refused);
}

TEST_F(ReadsRpc, LatestRefusesARelativeRoot) {
  pb::LookupLatestSessionRequest request;
  request.set_project_root("project");
  EXPECT_EQ(Describe(Ask(&Stub::LookupLatestSession, request)),
            "INVALID_ARGUMENT INVALID_FIELD: project_root: must be an absolute path\n"
            "    ErrorInfo{holdfast INVALID_FIELD; code=Validation/ManifestShapeInvalid; "
            "field=project_root; why=must be an absolute path}\n"
            "    BadRequest{project_root: must be an absolute path}\n"
            "    RequestInfo{TRACE}\n");
}

TEST_F(ReadsRpc, LatestIsTheNewestOfItsProject) {
  Create("older");
  Create("newer");
  pb::LookupLatestSessionRequest request;
  request.set_project_root("/project");
  pb::LookupLatestSessionResponse response;
  ASSERT_TRUE(Ask(&Stub::LookupLatestSession, request, &response).ok());
  EXPECT_EQ(response.session().session_id(), "newer");
  EXPECT_EQ(response.session().lease().state(), pb::LEASE_STATE_LIVE);
}

TEST_F(ReadsRpc, EventsAreInOrderAndCarryOnlyTheCallersTrace) {
  const std::string token = Create("events").lease_token();
  grpc::ClientContext context;
  context.AddMetadata("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
  pb::BeginTurnResponse begun;
  ASSERT_TRUE(sessions().BeginTurn(&context, BeginRequest("events", token), &begun).ok());
  pb::ListEventsRequest request;
  request.set_session_id("events");
  pb::ListEventsResponse response;
  ASSERT_TRUE(Ask(&Stub::ListEvents, request, &response).ok());
  ASSERT_GE(response.events_size(), 2);
  EXPECT_EQ(response.events(0).name(), "SessionStarted");
  EXPECT_EQ(response.events(0).trace_id(), "");
  const pb::Event& last = response.events(response.events_size() - 1);
  EXPECT_EQ(last.name(), "SessionTurnStart");
  EXPECT_EQ(last.trace_id(), "0af7651916cd43dd8448eb211c80319c");
  EXPECT_TRUE(response.next_page_token().empty());
  for (int i = 0; i < response.events_size(); ++i) {
    EXPECT_EQ(response.events(i).seq(), i + 1);
  }
}

TEST_F(ReadsRpc, TheOutcomeOfARequestCanBeAsked) {
  const std::string token = Create("asked").lease_token();
  const pb::BeginTurnRequest begin = BeginRequest("asked", token);
  ASSERT_TRUE(Ask(&Stub::BeginTurn, begin).ok());
  pb::GetRequestOutcomeRequest request;
  request.set_session_id("asked");
  request.set_request_id(begin.request_id());
  request.set_lease_token(token);
  request.set_method(pb::METHOD_BEGIN_TURN);
  pb::GetRequestOutcomeResponse response;
  ASSERT_TRUE(Ask(&Stub::GetRequestOutcome, request, &response).ok());
  EXPECT_EQ(response.outcome(), pb::GetRequestOutcomeResponse::OUTCOME_COMMITTED);
  EXPECT_EQ(response.begin_turn().turn(), 1);
  EXPECT_TRUE(response.has_commit_time());
  request.set_request_id(NewRequestId());
  ASSERT_TRUE(Ask(&Stub::GetRequestOutcome, request, &response).ok());
  EXPECT_EQ(response.outcome(), pb::GetRequestOutcomeResponse::OUTCOME_NOT_KNOWN);
  EXPECT_FALSE(response.has_begin_turn());
}

TEST_F(ReadsRpc, TheOutcomeOfAGrantLeavesItsTokenOut) {
  const pb::CreateSessionRequest create = CreateRequest("granted");
  pb::CreateSessionResponse created;
  ASSERT_TRUE(Ask(&Stub::CreateSession, create, &created).ok());
  pb::GetRequestOutcomeRequest request;
  request.set_session_id("granted");
  request.set_request_id(create.request_id());
  request.set_method(pb::METHOD_CREATE_SESSION);
  pb::GetRequestOutcomeResponse response;
  ASSERT_TRUE(Ask(&Stub::GetRequestOutcome, request, &response).ok());
  EXPECT_EQ(response.create_session().session().session_id(), "granted");
  EXPECT_EQ(response.create_session().lease_token(), "");
}

TEST_F(ReadsRpc, EachRenewalIsAnsweredForItself) {
  const std::string token = Create("kept").lease_token();
  Create("other");
  pb::RenewLeasesRequest request;
  const auto add = [&](const std::string& id, const std::string& lease_token) {
    pb::LeaseRenewal& lease = *request.add_leases();
    lease.set_session_id(id);
    lease.set_lease_token(lease_token);
  };
  add("a/b", token);
  add("kept", token);
  add("other", "");
  add("other", "not a token");
  add("other", token);
  request.add_leases()->CopyFrom(request.leases(1));
  request.mutable_leases(5)->mutable_lease_ttl()->set_seconds(1);
  pb::RenewLeasesResponse response;
  ASSERT_TRUE(Ask(&Stub::RenewLeases, request, &response).ok());
  ASSERT_EQ(response.renewed_size(), 1);
  EXPECT_EQ(response.renewed(0).session_id(), "kept");
  EXPECT_GT(response.renewed(0).expires_in().seconds(), 50);
  std::vector<std::string> failures;
  for (const pb::LeaseRenewalFailure& failure : response.failures()) {
    failures.push_back(failure.session_id() + " " + ErrorInfoOf(failure.status()).reason());
  }
  EXPECT_EQ(failures, (std::vector<std::string>{"a/b INVALID_FIELD", "other LEASE_REQUIRED",
                                                "other INVALID_FIELD", "other FENCED",
                                                "kept INVALID_FIELD"}));
}

TEST_F(ReadsRpc, ARenewalSendsBackNoMoreOfAnIdThanAnIdMayHave) {
  const std::string id(kUnaryRequestBytes / 2, 'x');
  pb::RenewLeasesResponse response;
  ASSERT_TRUE(Ask(&Stub::RenewLeases, RenewLeaseRequest(id, ""), &response).ok());
  ASSERT_EQ(response.failures_size(), 1);
  EXPECT_EQ(ErrorInfoOf(response.failures(0).status()).reason(), "INVALID_FIELD");
  EXPECT_EQ(response.failures(0).session_id(), id.substr(0, kSessionIdBytes));
  EXPECT_LT(response.ByteSizeLong(), kKiB);
}

TEST_F(ReadsRpc, AReplyHasRoomForAsManyRefusalsAsARenewalHasLeases) {
  const std::string token = Create("another").lease_token();
  pb::RenewLeasesRequest request;
  for (size_t i = 0; i < kLeasesPerRenewal; ++i) {
    // The longest id, with no session behind it.
    const std::string id = std::to_string(i) + std::string(kSessionIdBytes, 'x');
    request.MergeFrom(RenewLeaseRequest(id.substr(0, kSessionIdBytes), token));
  }
  pb::RenewLeasesResponse response;
  const grpc::Status status = Ask(&Stub::RenewLeases, request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  ASSERT_EQ(response.failures_size(), kLeasesPerRenewal);
  for (const pb::LeaseRenewalFailure& failure : response.failures()) {
    EXPECT_EQ(ErrorInfoOf(failure.status()).reason(), "SESSION_NOT_FOUND");
  }
  constexpr size_t kReadByClients = 4 * kMiB;
  EXPECT_LT(response.ByteSizeLong() + kRenewalCancelBytes, kReadByClients);
}

TEST_F(ReadsRpc, AttributesAreSetAndRemovedByMask) {
  Create("titled");
  pb::UpdateSessionRequest request;
  request.set_request_id(NewRequestId());
  pb::Session& session = *request.mutable_session();
  session.set_session_id("titled");
  (*session.mutable_attributes())["title"] = "A title";
  (*session.mutable_attributes())["unnamed"] = "is not in the mask";
  request.mutable_update_mask()->add_paths("attributes.title");
  pb::UpdateSessionResponse response;
  ASSERT_TRUE(Ask(&Stub::UpdateSession, request, &response).ok());
  EXPECT_EQ(response.session().attributes().at("title"), "A title");
  EXPECT_EQ(response.session().attributes_size(), 1);
  EXPECT_EQ(response.session().revision(), 1);
  request.set_request_id(NewRequestId());
  session.clear_attributes();
  ASSERT_TRUE(Ask(&Stub::UpdateSession, request, &response).ok());
  EXPECT_EQ(response.session().attributes_size(), 0);
}

// A client that reads a session, changes it and sends it back needs no mask.
TEST_F(ReadsRpc, WithoutAMaskTheAttributesThatAreGivenAreSet) {
  Create("titled");
  pb::UpdateSessionRequest request;
  request.set_request_id(NewRequestId());
  *request.mutable_session() = Get("titled");
  (*request.mutable_session()->mutable_attributes())["title"] = "A title";
  pb::UpdateSessionResponse response;
  ASSERT_TRUE(Ask(&Stub::UpdateSession, request, &response).ok());
  request.set_request_id(NewRequestId());
  request.mutable_session()->clear_attributes();
  (*request.mutable_session()->mutable_attributes())["purpose"] = "a test";
  ASSERT_TRUE(Ask(&Stub::UpdateSession, request, &response).ok());
  EXPECT_EQ(response.session().attributes().at("title"), "A title");
  EXPECT_EQ(response.session().attributes().at("purpose"), "a test");
}

// A title set by a person is not overwritten by a generator of titles that has seen none.
TEST_F(ReadsRpc, AttributesAreSetOnlyWhereTheyAreAsExpected) {
  Create("titled");
  pb::UpdateSessionRequest generated;
  generated.set_request_id(NewRequestId());
  generated.mutable_session()->set_session_id("titled");
  (*generated.mutable_session()->mutable_attributes())["title"] = "generated";
  (*generated.mutable_expected_attributes())["title.source"] = "";
  pb::UpdateSessionRequest manual = generated;
  manual.set_request_id(NewRequestId());
  (*manual.mutable_session()->mutable_attributes())["title"] = "by hand";
  (*manual.mutable_session()->mutable_attributes())["title.source"] = "manual";
  ASSERT_TRUE(Ask(&Stub::UpdateSession, manual).ok());
  const grpc::Status stale = Ask(&Stub::UpdateSession, generated);
  EXPECT_EQ(ReasonOf(stale), "STALE_REVISION");
  EXPECT_NE(Describe(stale).find("attribute=title.source"), std::string::npos) << Describe(stale);
  EXPECT_NE(Describe(stale).find("what=attributes"), std::string::npos) << Describe(stale);
  EXPECT_EQ(Get("titled").attributes().at("title"), "by hand");
  // A repeat is answered as the first time, although the attribute has another value by now.
  pb::UpdateSessionResponse repeated;
  ASSERT_TRUE(Ask(&Stub::UpdateSession, manual, &repeated).ok());
  EXPECT_TRUE(repeated.repeated());
}

}  // namespace
}  // namespace holdfast::test

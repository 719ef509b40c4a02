// The tests carried over from the source systems for a store behind a host: the
// host lives through its phases over StoreService, and the server is killed between its launches.
#include "tests/support/channel.h"
#include "tests/support/details.h"
#include "tests/support/requests.h"
#include "tests/support/server_process.h"
#include "tests/support/store_host.h"
#include "tests/support/wire_client.h"

#include "gmock/gmock.h"
#include "google/protobuf/util/time_util.h"
#include "gtest/gtest.h"

#include <filesystem>
#include <map>
#include <memory>
#include <string>

namespace holdfast::testing {
namespace {

namespace stdfs = std::filesystem;
using google::protobuf::util::TimeUtil;
using test::ReasonOf;
using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::Not;

pb::Slot SlotOf(const std::string& owner, const std::string& version, pb::DriftPolicy policy,
                const std::string& data) {
  pb::Slot slot;
  slot.set_owner(owner);
  slot.set_version(version);
  slot.set_drift_policy(policy);
  slot.set_data(data);
  return slot;
}

// A server and the stubs that hosts use.
class Place {
 public:
  void Start() {
    ASSERT_TRUE(server_.Start()) << server_.Log();
    channel_ = Connected(server_.address());
    sessions_ = pb::SessionService::NewStub(channel_);
    store_ = pb::StoreService::NewStub(channel_);
  }
  void Kill() { server_.Kill(); }
  // A launch of the host that has not been activated.
  StoreHost Launch(const std::string& id) { return {*sessions_, *store_, id}; }
  pb::SessionService::Stub& sessions() { return *sessions_; }
  pb::StoreService::Stub& store() { return *store_; }
  stdfs::path DirectoryOf(const std::string& id) const {
    return folder_.path() / "data" / "t" / "default" / id;
  }
  pb::DescribeStoreResponse Describe() {
    grpc::ClientContext context;
    pb::DescribeStoreResponse response;
    EXPECT_TRUE(store_->DescribeStore(&context, {}, &response).ok());
    return response;
  }

 private:
  TestFolder folder_;
  ServerProcess server_{folder_};
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<pb::SessionService::Stub> sessions_;
  std::unique_ptr<pb::StoreService::Stub> store_;
};

class A6Host : public ::testing::Test {
 protected:
  void SetUp() override { place_.Start(); }

  // A launch with its session taken up.
  StoreHost Launch(const std::string& id = "one") {
    StoreHost host = place_.Launch(id);
    EXPECT_TRUE(host.Init());
    host.Activate();
    return host;
  }
  // A launch after a crash of the server, of which the host before knows nothing.
  StoreHost LaunchAgain(const std::string& id = "one") {
    place_.Kill();
    place_.Start();
    return Launch(id);
  }
  std::vector<pb::Event> Events(const std::string& id = "one") {
    grpc::ClientContext context;
    pb::ListEventsRequest request;
    request.set_session_id(id);
    pb::ListEventsResponse response;
    EXPECT_TRUE(place_.sessions().ListEvents(&context, request, &response).ok());
    return {response.events().begin(), response.events().end()};
  }
  Place& place() { return place_; }

 private:
  Place place_;
};

TEST_F(A6Host, ContractShape) {
  const pb::DescribeStoreResponse store = place().Describe();
  EXPECT_THAT(store.kind(), MatchesRegex("[a-z][a-z-]*"));
  EXPECT_THAT(store.contract_version(), MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
  EXPECT_FALSE(store.store_id().empty());
  EXPECT_EQ(store.loaded_cardinality(), pb::STORE_CARDINALITY_UNLIMITED);
  EXPECT_EQ(store.active_cardinality(), pb::STORE_CARDINALITY_ONE);
  EXPECT_EQ(store.reload_behavior(), pb::STORE_RELOAD_BEHAVIOR_NEVER);
}

TEST_F(A6Host, ContractShape_ThePhasesInOrderAndDisposeTwice) {
  StoreHost host = Launch();
  host.WriteAll({"a"});
  EXPECT_EQ(host.Read(), Texts{"a"});
  EXPECT_THAT(host.List(), Contains("one"));
  host.Deactivate();
  host = Launch();
  host.Dispose();
  host.Dispose();
  EXPECT_EQ(host.Read(), Texts{"a"});
  EXPECT_EQ(host.session().lifecycle(), pb::LIFECYCLE_CLOSED);
}

TEST_F(A6Host, RoundTrip_Minimal) {
  Launch().WriteAll({});
  StoreHost host = LaunchAgain();
  EXPECT_THAT(host.Read(), IsEmpty());
  EXPECT_EQ(host.manifest().mode(), pb::MODE_ASK);
  EXPECT_EQ(host.manifest().project_root(), "/project");
  EXPECT_FALSE(host.manifest().has_state_machine());
}

TEST_F(A6Host, RoundTrip_OpaqueMessages) {
  const std::string nested =
      R"({"role":"assistant","content":[{"type":"tool_use","input":{"a":[1,2.50,null]}}],)"
      R"("provider":{"cache_control":{"type":"ephemeral"},"__proto__":{"x":1}}, "id" : "m\u0030"})";
  StoreHost host = Launch();
  pb::WriteSnapshotRequest request = host.Request({nested});
  request.mutable_messages(0)->set_role("assistant");
  request.mutable_messages(0)->set_content_type("application/json");
  host.MustWrite(request);
  host = LaunchAgain();
  EXPECT_EQ(host.Read(), Texts{nested});
  EXPECT_EQ(host.messages()[0].role(), "assistant");
  EXPECT_EQ(host.messages()[0].content_type(), "application/json");
}

TEST_F(A6Host, RoundTrip_WithStateMachine) {
  StoreHost host = Launch();
  pb::WriteSnapshotRequest request = host.Request({});
  request.mutable_state_machine()->set_extension_id("planner");
  request.mutable_state_machine()->set_slot_ref("slot-1");
  *request.add_slots() = SlotOf("planner", "1.0.0", pb::DRIFT_POLICY_WARN, R"({"step":1})");
  host.MustWrite(request);
  host = LaunchAgain();
  host.Read();
  EXPECT_EQ(host.manifest().state_machine().extension_id(), "planner");
  EXPECT_EQ(host.manifest().state_machine().slot_ref(), "slot-1");
  EXPECT_EQ(host.SlotOf("planner").data(), R"({"step":1})");
}

TEST_F(A6Host, RoundTrip_SlotsUnchanged) {
  const std::vector<pb::Slot> given = {
      SlotOf("null", "0.0.1", pb::DRIFT_POLICY_REJECT, "null"),
      SlotOf("binary", "10.20.30", pb::DRIFT_POLICY_MIGRATE, std::string("\0\xff\n", 3)),
      SlotOf("empty", "1.0.0", pb::DRIFT_POLICY_WARN, "")};
  StoreHost host = Launch();
  pb::WriteSnapshotRequest request = host.Request({});
  for (const pb::Slot& slot : given) *request.add_slots() = slot;
  const uint64_t revision = host.MustWrite(request).revision();
  host = LaunchAgain();
  host.WriteAll({"later"});
  host.Read();
  for (pb::Slot slot : given) {
    slot.set_revision(revision);
    EXPECT_EQ(host.SlotOf(slot.owner()).DebugString(), slot.DebugString());
  }
}

TEST_F(A6Host, RoundTrip_TheListShowsTheIdAfterTheWrite) {
  EXPECT_THAT(place().Launch("one").List(), Not(Contains("one")));
  StoreHost host = Launch();
  host.WriteAll({"a"});
  EXPECT_THAT(host.List(), Contains("one"));
  EXPECT_THAT(LaunchAgain().List(), Contains("one"));
}

TEST_F(A6Host, RoundTrip_TimesAndMessageZeroSurvive) {
  StoreHost host = Launch();
  host.WriteAll({"message zero"});
  host.Read();
  const pb::Session before = host.session();
  host = LaunchAgain();
  host.WriteAll({"message zero", "message one"});
  EXPECT_EQ(host.Read(), (Texts{"message zero", "message one"}));
  EXPECT_EQ(host.session().create_time().DebugString(), before.create_time().DebugString());
  EXPECT_GT(TimeUtil::TimestampToNanoseconds(host.session().update_time()),
            TimeUtil::TimestampToNanoseconds(before.update_time()));
}

TEST_F(A6Host, RoundTrip_WhatIsMissingOrWrongIsRefusedByName) {
  StoreHost host = place().Launch("one");
  pb::ResumeSessionResponse resumed;
  pb::ResumeSessionRequest request = test::ForceRequest("one");
  *request.mutable_create_if_missing() = test::CreateRequest("one");
  request.mutable_create_if_missing()->mutable_manifest()->clear_mode();
  EXPECT_EQ(ReasonOf(host.Activate(request, &resumed)), "INVALID_FIELD");
  request.mutable_create_if_missing()->mutable_manifest()->set_mode(static_cast<pb::Mode>(99));
  EXPECT_EQ(ReasonOf(host.Activate(request, &resumed)), "INVALID_FIELD");
  EXPECT_THAT(host.List(), IsEmpty());
  host = Launch();
  pb::WriteSnapshotRequest write = host.Request({"a"});
  write.clear_session_id();
  pb::WriteSnapshotResponse response;
  EXPECT_EQ(ReasonOf(host.Write(write, &response)), "INVALID_FIELD");
  EXPECT_THAT(host.Read(), IsEmpty());
}

TEST_F(A6Host, TypedFailure_AnUnknownIdIsASessionError) {
  const std::string token = Launch().token();
  StoreHost absent = place().Launch("absent");
  EXPECT_EQ(ReasonOf(absent.TryRead()), "SESSION_NOT_FOUND");
  pb::WriteSnapshotRequest request = absent.Request({"a"});
  request.set_lease_token(token);
  pb::WriteSnapshotResponse response;
  EXPECT_EQ(ReasonOf(absent.Write(request, &response)), "SESSION_NOT_FOUND");
  EXPECT_THAT(absent.List(), Not(Contains("absent")));
}

TEST_F(A6Host, TypedFailure_AForeignStoreIsAMismatch) {
  Place other;
  other.Start();
  StoreHost foreign = other.Launch("foreign");
  foreign.Activate();
  foreign.WriteAll({"of another store"});
  other.Kill();
  Launch("own").WriteAll({"own"});
  stdfs::copy(other.DirectoryOf("foreign"), place().DirectoryOf("foreign"),
              stdfs::copy_options::recursive);
  StoreHost host = place().Launch("foreign");
  EXPECT_EQ(ReasonOf(host.TryRead()), "RESUME_MISMATCH");
  pb::ResumeSessionResponse resumed;
  EXPECT_EQ(ReasonOf(host.Activate(test::ForceRequest("foreign"), &resumed)), "RESUME_MISMATCH");
  // The token of the other store, at a session of this one.
  host = place().Launch("own");
  pb::WriteSnapshotRequest request = host.Request({"own", "more"});
  request.set_lease_token(foreign.token());
  pb::WriteSnapshotResponse response;
  EXPECT_EQ(ReasonOf(host.Write(request, &response)), "RESUME_MISMATCH");
  EXPECT_EQ(host.Read(), Texts{"own"});
}

TEST_F(A6Host, SnapshotWriter_TheEventIsOfTheSnapshotsRevision) {
  StoreHost host = Launch();
  const uint64_t revision = host.WriteAll({"a"}).revision();
  const pb::Event last = Events().back();
  EXPECT_EQ(last.name(), "SessionPersisted");
  EXPECT_EQ(last.revision(), revision);
  EXPECT_FALSE(last.correlation_id().empty());
  EXPECT_TRUE(last.has_create_time());
}

TEST_F(A6Host, SnapshotWriter_NoEventOfAWriteThatFailed) {
  StoreHost host = Launch();
  host.WriteAll({"a", "b"});
  const size_t before = Events().size();
  pb::WriteSnapshotResponse response;
  EXPECT_EQ(ReasonOf(host.Write(host.Request({"other"}), &response)), "INVALID_FIELD");
  pb::WriteSnapshotRequest late = host.Request({"a", "b", "c"});
  late.set_expected_revision(1);
  EXPECT_EQ(ReasonOf(host.Write(late, &response)), "STALE_REVISION");
  EXPECT_EQ(Events().size(), before);
  place().Kill();
  EXPECT_EQ(host.Write(host.Request({"a", "b", "c"}), &response).error_code(),
            grpc::StatusCode::UNAVAILABLE);
  place().Start();
  EXPECT_EQ(Events().size(), before);
}

TEST_F(A6Host, Recovery_AnEmptyStoreHasNothing) {
  EXPECT_THAT(place().Launch("one").List(), IsEmpty());
  grpc::ClientContext context;
  pb::LookupLatestSessionRequest request;
  request.set_project_root("/project");
  pb::LookupLatestSessionResponse response;
  EXPECT_EQ(ReasonOf(place().sessions().LookupLatestSession(&context, request, &response)),
            "NO_SNAPSHOT");
}

TEST_F(A6Host, Recovery_CompatibleIdsPassSilently) {
  Launch().WriteAll({"a"});
  const std::string store = place().Describe().store_id();
  StoreHost host = LaunchAgain();
  pb::ResumeSessionRequest request = test::ForceRequest("one");
  request.set_expected_store_id(store);
  pb::ResumeSessionResponse resumed;
  EXPECT_TRUE(host.Activate(request, &resumed).ok());
  EXPECT_EQ(host.Read(), Texts{"a"});
  EXPECT_EQ(place().Describe().store_id(), store);
}

TEST_F(A6Host, Resume_TheStateMachinesSlotComesWithIt) {
  StoreHost host = Launch();
  pb::WriteSnapshotRequest request = host.Request({"a"});
  request.mutable_state_machine()->set_extension_id("planner");
  request.mutable_state_machine()->set_slot_ref("slot-1");
  *request.add_slots() = SlotOf("planner", "1.0.0", pb::DRIFT_POLICY_WARN, "step 1");
  host.MustWrite(request);
  const pb::ResumeSessionResponse resumed = LaunchAgain().Activate();
  ASSERT_EQ(resumed.slots_size(), 1);
  EXPECT_EQ(resumed.slots(0).data(), "step 1");
  EXPECT_EQ(resumed.report().snapshot_revision(), 2);
}

TEST_F(A6Host, Resume_WithoutAStateMachineNothingIsMissed) {
  Launch().WriteAll({"a"});
  const pb::ResumeSessionResponse resumed = LaunchAgain().Activate();
  EXPECT_EQ(resumed.slots_size(), 0);
  EXPECT_FALSE(resumed.session().manifest().has_state_machine());
}

// The state machine is referred to, and its slot was never written.
TEST_F(A6Host, Flow_TwoLaunchesAndAStateMachineThatIsMissing) {
  StoreHost host = Launch();
  pb::WriteSnapshotRequest request = host.Request({"first question", "first answer"});
  request.mutable_state_machine()->set_extension_id("planner");
  request.mutable_state_machine()->set_slot_ref("slot-1");
  *request.add_slots() = SlotOf("logger", "1.0.0", pb::DRIFT_POLICY_WARN, "lines");
  host.MustWrite(request);
  host.Deactivate();
  host = LaunchAgain();
  Texts history = host.Read();
  EXPECT_EQ(history, (Texts{"first question", "first answer"}));
  history.insert(history.end(), {"second question", "second answer"});
  request = host.Request(history);
  request.add_deleted_slots("logger");
  host.MustWrite(request);
  host = LaunchAgain();
  EXPECT_EQ(host.Read(), history);
  EXPECT_EQ(host.SlotOf("logger").version(), "");
  EXPECT_EQ(host.manifest().state_machine().extension_id(), "planner");
}

TEST_F(A6Host, Persistence_ALaunchThatEndsAtOnceLeavesItsManifest) {
  StoreHost host = Launch();
  host.Dispose();
  EXPECT_THAT(host.List(), Contains("one"));
  host.Read();
  EXPECT_EQ(host.manifest().project_root(), "/project");
  // Continuing goes on under the same id and makes no other.
  host = LaunchAgain();
  host.WriteAll({"a"});
  EXPECT_EQ(host.List(), Texts{"one"});
  EXPECT_EQ(host.Read(), Texts{"a"});
}

TEST_F(A6Host, Slots_EachDriftIsReportedAndNoneBlocks) {
  using Report = pb::SlotReport;
  StoreHost host = Launch();
  pb::WriteSnapshotRequest request = host.Request({"a"});
  for (const char* owner : {"same", "warned", "migrated", "rejected"}) {
    *request.add_slots() = SlotOf(owner, "1.0.0", pb::DRIFT_POLICY_WARN, owner);
  }
  host.MustWrite(request);
  host = LaunchAgain();
  pb::ResumeSessionRequest resume = test::ForceRequest("one");
  const auto expect = [&](const char* owner, const char* version, pb::DriftPolicy policy) {
    pb::ExpectedSlot& slot = *resume.add_expected_slots();
    slot.set_owner(owner);
    slot.set_version(version);
    slot.set_drift_policy(policy);
  };
  expect("same", "1.0.0", pb::DRIFT_POLICY_REJECT);
  expect("warned", "2.0.0", pb::DRIFT_POLICY_WARN);
  expect("migrated", "2.0.0", pb::DRIFT_POLICY_MIGRATE);
  expect("rejected", "2.0.0", pb::DRIFT_POLICY_REJECT);
  expect("absent", "1.0.0", pb::DRIFT_POLICY_REJECT);
  pb::ResumeSessionResponse resumed;
  ASSERT_TRUE(host.Activate(resume, &resumed).ok());
  std::map<std::string, Report::Status> found;
  for (const auto& report : resumed.report().slots()) found[report.owner()] = report.status();
  EXPECT_EQ(found, (std::map<std::string, Report::Status>{{"same", Report::STATUS_MATCH},
                                                          {"warned", Report::STATUS_WARN},
                                                          {"migrated", Report::STATUS_MIGRATE},
                                                          {"rejected", Report::STATUS_REJECT},
                                                          {"absent", Report::STATUS_ABSENT}}));
  host.Read();
  EXPECT_EQ(host.SlotOf("migrated").version(), "1.0.0") << "the owner migrates what it reads";
}

TEST_F(A6Host, Slots_AVersionIsRequired) {
  StoreHost host = Launch();
  pb::WriteSnapshotRequest request = host.Request({});
  *request.add_slots() = SlotOf("owner", "", pb::DRIFT_POLICY_WARN, "data");
  pb::WriteSnapshotResponse response;
  EXPECT_EQ(ReasonOf(host.Write(request, &response)), "SLOT_VERSION_MISSING");
}

TEST_F(A6Host, Slots_AnExtensionTouchesItsOwnAlone) {
  StoreHost host = Launch();
  pb::WriteSnapshotRequest request = host.Request({});
  request.set_acting_owner("mine");
  *request.add_slots() = SlotOf("theirs", "1.0.0", pb::DRIFT_POLICY_WARN, "data");
  pb::WriteSnapshotResponse response;
  EXPECT_EQ(ReasonOf(host.Write(request, &response)), "SLOT_ACCESS_DENIED");
  host.Read();
  EXPECT_EQ(host.SlotOf("theirs").version(), "");
}

TEST_F(A6Host, Gaps_IdsThatCouldCollideAreRefused) {
  pb::ResumeSessionResponse resumed;
  for (const char* id : {"a/b", "../b", "."}) {
    StoreHost host = place().Launch(id);
    EXPECT_EQ(ReasonOf(host.Activate(test::ForceRequest(id), &resumed)), "INVALID_FIELD") << id;
  }
}

TEST_F(A6Host, Gaps_WhatAFailedWriteSaidIsNotPersistedByTheNext) {
  StoreHost host = Launch();
  host.WriteAll({"a"});
  pb::WriteSnapshotRequest failed = host.Request({"a", "failed"});
  failed.set_expected_revision(1);
  pb::WriteSnapshotResponse response;
  EXPECT_EQ(ReasonOf(host.Write(failed, &response)), "STALE_REVISION");
  host.WriteAll({"a", "b"});
  EXPECT_EQ(LaunchAgain().Read(), (Texts{"a", "b"}));
}

}  // namespace
}  // namespace holdfast::testing

#include "holdfast/v1/item_service.pb.h"
#include "session/limits.h"
#include "session/model.h"
#include "session/token.h"
#include "tests/recovery/causes.h"
#include "tests/support/method_rules.h"
#include "tests/support/refusal_cases.h"
#include "tests/support/request_edits.h"
#include "tests/support/requests.h"
#include "tests/support/server_process.h"
#include "tests/support/valid_requests.h"
#include "tests/support/wire_client.h"

#include "absl/strings/str_cat.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::testing {
namespace {

using google::protobuf::Message;
using google::protobuf::MethodDescriptor;
using Stub = WireClient::Stub;

constexpr char kSecret[] = "sk-test-abcdefgh";  // as test::kSecretPattern
constexpr char kNoReference[] = R"({"token": {"kind": "env"}})";
constexpr char kOtherUid[] = "9d7e64ad-5a3b-4a8e-8d8b-0e4f7a7a1b11";  // of no session
constexpr int64_t kFarAhead = 1'000'000;

// Sessions in every state that a refusal needs, none of which changes by a refused call.
class Sessions final {
 public:
  struct Held {
    std::string id;
    std::string token;
  };

  explicit Sessions(const std::string& address) : client_(address) {
    in_turn = Begun("in-turn");
    client_.Must(&Stub::AppendJournal, test::AppendRequest(in_turn.id, in_turn.token, 1, 1));
    between = Begun("between");
    Commit(between, 1);
    ending = Begun("ending");
    client_.Must(&Stub::CancelSession,
                 test::SessionCancelRequest(ending.id, pb::CANCEL_SCOPE_SESSION));
    lost = Created("lost");
    client_.Must(&Stub::ResumeSession, test::ForceRequest(lost.id));
    closed = Created("closed");
    client_.Must(&Stub::CloseSession, test::CloseRequest(closed.id, closed.token));
    pb::CreateSessionRequest create = test::CreateRequest(closed_open.id);
    create.set_kind(pb::SESSION_KIND_OPEN);
    create.clear_holder();
    create.clear_lease_ttl();
    client_.Must(&Stub::CreateSession, create);
    client_.Must(&Stub::CloseSession, test::CloseRequest(closed_open.id, closed_open.token));
    released = Created("released");
    client_.Must(&Stub::ReleaseLease, test::ReleaseRequest(released.id, released.token));
    deleted = Created("deleted");
    client_.Must(&Stub::DeleteSession, test::DeleteRequest(deleted.id, deleted.token));
    long_lived = Created("long-lived");
    for (uint64_t turn = 1; turn <= kSnapshotsKeptDefault + 2; ++turn) TakeTurn(long_lived, turn);
  }

  // The id of the request that created the session.
  [[nodiscard]] const std::string& RequestOf(const Held& session) const {
    return requests_.at(session.id);
  }

  int64_t RevisionOf(const Held& session) { return client_.Get(session.id).revision(); }

  Held in_turn;  // has one entry of its turn
  Held between;  // has committed a turn
  Held ending;   // a cancel request of the session waits for its turn to end
  Held lost;     // its token is not the last one
  Held closed;
  Held closed_open{.id = "closed-open", .token = {}};  // of kind OPEN
  Held released;                                       // its lease was given back
  Held deleted;
  Held long_lived;  // its first snapshots are no longer kept

 private:
  Held Created(const std::string& id) {
    pb::CreateSessionRequest create = test::CreateRequest(id);
    pb::Slot& slot = *create.add_slots();
    slot.set_owner("ext");
    slot.set_version("1.0.0");
    slot.set_drift_policy(pb::DRIFT_POLICY_REJECT);
    requests_[id] = create.request_id();
    return {.id = id, .token = client_.Must(&Stub::CreateSession, create).lease_token()};
  }
  Held Begun(const std::string& id) {
    Held session = Created(id);
    client_.Must(&Stub::BeginTurn, test::BeginRequest(id, session.token));
    return session;
  }
  void Commit(const Held& session, uint64_t turn) {
    client_.Must(&Stub::CommitTurn, test::CommitRequest(session.id, session.token, turn, "said"));
  }
  void TakeTurn(const Held& session, uint64_t turn) {
    client_.Must(&Stub::BeginTurn, test::BeginRequest(session.id, session.token));
    client_.Must(&Stub::AppendJournal, test::AppendRequest(session.id, session.token, turn, 1));
    Commit(session, turn);
  }

  WireClient client_;
  std::map<std::string, std::string> requests_;  // by session
};

// The requests of a call that is refused, by the reason.
class Requests final {
 public:
  using Calls = std::vector<std::string>;
  using Make = Calls (Requests::*)(const MethodDescriptor& method);

  explicit Requests(const std::string& address) : sessions_(address), valid_(address, "valid") {}

  static const std::map<std::string, Make>& All() {
    static const std::map<std::string, Make> kAll = {
        {"CAPABILITY_MISSING", &Requests::Plain},
        {"CONCURRENT_TURN", &Requests::InTurn},
        {"FENCED", &Requests::Fenced},
        {"ILLEGAL_TRANSITION", &Requests::Illegal},
        {"IMMUTABLE_FIELD", &Requests::Immutable},
        {"INVALID_FIELD", &Requests::NoMessage},
        {"LEASE_HELD", &Requests::LeaseHeld},
        {"LEASE_REQUIRED", &Requests::LeaseRequired},
        {"MALFORMED_SECRET_REFERENCE", &Requests::NoReference},
        {"NO_SNAPSHOT", &Requests::Elsewhere},
        {"RECORD_NOT_FOUND", &Requests::NoCheckpoint},
        {"REQUEST_ID_REUSED", &Requests::Reused},
        {"REVISION_AHEAD", &Requests::Ahead},
        {"REVISION_PRUNED", &Requests::Pruned},
        {"SECRET_LEAK", &Requests::Secret},
        {"SESSION_EXISTS", &Requests::InTurn},
        {"SESSION_NOT_FOUND", &Requests::Absent},
        {"SLOT_ACCESS_DENIED", &Requests::ForeignSlot},
        {"SLOT_DRIFT_REJECTED", &Requests::Drifted},
        {"SLOT_VERSION_MISSING", &Requests::SlotWithoutVersion},
        {"STALE_REVISION", &Requests::StaleRevision},
        {"STALE_TURN", &Requests::StaleTurn},
        {"TOMBSTONED", &Requests::Deleted},
    };
    return kAll;
  }

  // Of a reason that is one of them.
  Calls For(const std::string& reason, const MethodDescriptor& method) {
    return (this->*All().at(reason))(method);
  }

 private:
  using Request = std::unique_ptr<Message>;

  // A request of `method` that is valid but for what `session` is.
  Request On(const Sessions::Held& session, const MethodDescriptor& method) {
    Request request = valid_.Make(method);
    SetTexts(*request, "session_id", session.id);
    SetTexts(*request, "lease_token", session.token);
    // A cursor is of one session.
    auto* const watch = dynamic_cast<pb::WatchSessionRequest*>(request.get());
    if (watch != nullptr) watch->set_after_seq(0);
    return request;
  }
  // A session in the state that the method needs.
  [[nodiscard]] const Sessions::Held& StateFor(const MethodDescriptor& method) const {
    const bool between = method.name() == "BeginTurn" || method.name() == "RestoreSession" ||
                         method.name().starts_with("Write");
    return between ? sessions_.between : sessions_.in_turn;
  }
  Request Legal(const MethodDescriptor& method) { return On(StateFor(method), method); }
  // A close that needs the lease, and that no turn is active.
  static Request WithFinalSnapshot(Request request) {
    auto* const close = dynamic_cast<pb::CloseSessionRequest*>(request.get());
    if (close != nullptr) close->mutable_final_snapshot();
    return request;
  }
  static Calls Alone(const Request& request) { return {request->SerializePartialAsString()}; }

  Calls Plain(const MethodDescriptor& method) { return Alone(valid_.Make(method)); }
  Calls NoMessage(const MethodDescriptor& /*method*/) { return {"\x07"}; }
  Calls InTurn(const MethodDescriptor& method) {
    return Alone(WithFinalSnapshot(On(sessions_.in_turn, method)));
  }
  Calls Fenced(const MethodDescriptor& method) {
    auto request = On(sessions_.lost, method);
    SetTexts(*request, "session_uid", kOtherUid);
    return Alone(std::move(request));
  }
  Calls Deleted(const MethodDescriptor& method) { return Alone(On(sessions_.deleted, method)); }
  Calls Absent(const MethodDescriptor& method) {
    auto request = On({.id = "absent", .token = sessions_.between.token}, method);
    if (method.name() == "CreateSession") SetTexts(*request, "reuse_deleted", kOtherUid);
    return Alone(std::move(request));
  }
  Calls Illegal(const MethodDescriptor& method) {
    if (method.name() == "BeginTurn") return Alone(On(sessions_.ending, method));
    if (method.name() == "CancelSession") return Alone(On(sessions_.closed, method));
    const bool ends_turn =
        method.name().starts_with("CommitTurn") || method.name() == "AbandonTurn";
    return Alone(On(ends_turn ? sessions_.between : sessions_.closed_open, method));
  }
  Calls Immutable(const MethodDescriptor& method) {
    pb::UpdateSessionRequest update;
    update.CopyFrom(*Legal(method));
    update.mutable_update_mask()->set_paths(0, "manifest.mode");
    return {update.SerializeAsString()};
  }
  Calls LeaseHeld(const MethodDescriptor& method) {
    const Request request = Legal(method);
    SetTexts(*request, "lease_token", "");
    return Alone(request);
  }
  Calls LeaseRequired(const MethodDescriptor& method) {
    if (method.name() == "PutItems") return Alone(On(sessions_.released, method));
    const Request request = WithFinalSnapshot(Legal(method));
    SetTexts(*request, "lease_token", "");
    return Alone(request);
  }
  Calls Elsewhere(const MethodDescriptor& method) {
    const Request request = valid_.Make(method);
    SetTexts(*request, "project_root", "/elsewhere");
    return Alone(request);
  }
  Calls Reused(const MethodDescriptor& method) {
    const Request request = Legal(method);
    SetTexts(*request, "request_id", sessions_.RequestOf(StateFor(method)));
    return Alone(request);
  }
  // By the token, or by the revision or event where there is none.
  Calls Ahead(const MethodDescriptor& method) {
    const Request request = Legal(method);
    if (test::RulesOf(method).lease() != pb::LEASE_USE_UNSPECIFIED) {
      LeaseToken token = *LeaseToken::Parse(sessions_.in_turn.token);
      token.epoch = Epoch(kFarAhead);
      SetTexts(*request, "session_id", sessions_.in_turn.id);
      SetTexts(*request, "lease_token", token.ToText());
    }
    SetNumbers(*request, "revision", kFarAhead);
    if (auto* watch = dynamic_cast<pb::WatchSessionRequest*>(request.get())) {
      watch->set_after_seq(kFarAhead);
    }
    return Alone(request);
  }
  Calls Pruned(const MethodDescriptor& method) {
    const Request request = On(sessions_.long_lived, method);
    SetNumbers(*request, "revision", 1);
    SetNumbers(*request, "expected_revision", sessions_.RevisionOf(sessions_.long_lived));
    if (method.name() == "ListJournalEntries") SetNumbers(*request, "after_journal_number", 1);
    return Alone(request);
  }
  Calls Secret(const MethodDescriptor& method) {
    const Request request = Legal(method);
    SetTexts(*request, "session_id", kSecret);
    return Alone(request);
  }
  Calls StaleRevision(const MethodDescriptor& method) {
    const Request request = Legal(method);
    SetNumbers(*request, "expected_revision", 1);
    if (auto* update = dynamic_cast<pb::UpdateSessionRequest*>(request.get())) {
      (*update->mutable_expected_attributes())["title"] = "another";
    }
    if (auto* put = dynamic_cast<pb::PutItemsRequest*>(request.get())) {
      put->mutable_puts(0)->set_condition(pb::PUT_CONDITION_IF_VERSION);
      put->mutable_puts(0)->set_expected_version(kFarAhead);
    }
    return Alone(request);
  }
  Calls NoCheckpoint(const MethodDescriptor& method) {
    const Request request = Legal(method);
    if (auto* restore = dynamic_cast<pb::RestoreSessionRequest*>(request.get())) {
      restore->mutable_point()->set_checkpoint("none");
    }
    if (auto* put = dynamic_cast<pb::PutCheckpointRequest*>(request.get())) {
      put->mutable_update_mask()->add_paths("labels");
    }
    SetNumbers(*request, "expected_revision", sessions_.RevisionOf(StateFor(method)));
    SetTexts(*request, "name", "none");
    return Alone(request);
  }
  Calls StaleTurn(const MethodDescriptor& method) {
    const Request request = Legal(method);
    SetNumbers(*request, "turn", kFarAhead);
    return Alone(request);
  }

  Calls WithSlot(const MethodDescriptor& method, const std::string& owner,
                 const std::string& version, const std::string& data) {
    pb::Slot slot;
    slot.set_owner(owner);
    slot.set_version(version);
    slot.set_drift_policy(pb::DRIFT_POLICY_WARN);
    slot.set_data(data);
    const Request request = Legal(method);
    SetTexts(*request, "acting_owner", "");
    return CallWithSlot(*request, slot);
  }
  Calls NoReference(const MethodDescriptor& method) {
    return WithSlot(method, "ext", "1.0.0", kNoReference);
  }
  Calls SlotWithoutVersion(const MethodDescriptor& method) {
    return WithSlot(method, "ext", "", "data");
  }
  Calls ForeignSlot(const MethodDescriptor& method) {
    if (method.name() != "ListSlots") return WithSlot(method, kStoreSlotOwner, "1.0.0", "data");
    pb::ListSlotsRequest list = OfOneSlot();
    list.set_acting_owner("other");
    return {list.SerializeAsString()};
  }
  Calls Drifted(const MethodDescriptor& /*method*/) {
    pb::ListSlotsRequest list = OfOneSlot();
    pb::ExpectedSlot& expected = *list.add_expected_slots();
    expected.set_owner("ext");
    expected.set_version("2.0.0");
    expected.set_drift_policy(pb::DRIFT_POLICY_REJECT);
    return {list.SerializeAsString()};
  }
  [[nodiscard]] pb::ListSlotsRequest OfOneSlot() const {
    pb::ListSlotsRequest list;
    list.set_session_id(sessions_.in_turn.id);
    list.add_owners("ext");
    return list;
  }

  Sessions sessions_;
  ValidRequests valid_;
};

}  // namespace

void CauseByRequests(CausedReasons& caused) {
  const TestFolder folder;
  ServerProcess server(
      folder, {.more = absl::StrCat("secrets: {patterns: ['", test::kSecretPattern, "']}\n"),
               .echo = false});
  ASSERT_TRUE(server.Start()) << server.Log();
  Requests requests(server.address());
  RefusedCalls calls(server.address(), caused);
  for (const auto& [reason, make] : Requests::All()) {
    for (const MethodDescriptor* method : CausedReasons::MethodsWith(reason)) {
      calls.Send(*method, reason, requests.For(reason, *method));
    }
  }
  const std::string metadata(kMetadataBytes, 'x');
  for (const MethodDescriptor* method : CausedReasons::MethodsWith("TOO_LARGE")) {
    calls.Send(*method, "TOO_LARGE", {""}, metadata);
  }
}

}  // namespace holdfast::testing

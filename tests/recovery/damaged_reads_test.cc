// A store with damage of each kind, read over the wire by every method that reads: a typed answer
// each time, the server goes on, and a session with a damaged item can be resumed.
#include "holdfast/v1/store_service.grpc.pb.h"
#include "session/limits.h"
#include "store-fs/files.h"
#include "store-fs/numbered_log.h"
#include "store-fs/session_state.h"
#include "tests/support/changes.h"
#include "tests/support/channel.h"
#include "tests/support/requests.h"
#include "tests/support/sealed_items.h"
#include "tests/support/server_process.h"
#include "tests/support/streamed_commit.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wait.h"
#include "tests/support/wire_client.h"

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::testing {
namespace {

using Stub = WireClient::Stub;

using Log = fs::NumberedLog fs::SessionState::*;

// What is damaged in a session of its own: an item of a log, the slot "memory", or a file.
struct DamagedPart {
  std::string name;
  Log log = nullptr;
  std::string file;    // the path's end begins with it; empty: a sealed log
  std::string behind;  // the byte behind the last one of these is changed; empty: an early one
};

const std::vector<DamagedPart> kKinds = {
    {.name = "message", .log = &fs::SessionState::messages},
    {.name = "slot"},
    {.name = "entry", .log = &fs::SessionState::entries},
    {.name = "event", .log = &fs::SessionState::events},
    {.name = "audit", .log = &fs::SessionState::audits},
    {.name = "staged", .file = "state/upload.", .behind = "sssssssss"},
    {.name = "reply", .log = &fs::SessionState::request_log},
    {.name = "head", .file = "state/head."},
    {.name = "manifest", .file = "manifest.json"},
    {.name = "frame", .file = "journal.log"},
};

std::string IdOf(const std::string& kind) { return "with-a-damaged-" + kind; }

// What a read of a session showed.
struct DamagedRead {
  Verdict verdict;
  std::map<std::string, std::pair<uint64_t, uint64_t>> slots;  // owner -> announced, received
};

void Take(const pb::SessionPiece& piece, DamagedRead& read) {
  if (!piece.has_slot()) return;
  auto& [announced, received] = read.slots[piece.slot().owner()];
  announced = piece.total_bytes();
  received += piece.slot().data().size();
}

class DamagedReads : public ::testing::Test {
 protected:
  // Makes a session of each of these kinds, and damages it while no server runs.
  void Prepare(const std::set<std::string>& kinds) {
    Start();
    for (const std::string& kind : kinds) Fill(IdOf(kind));
    ASSERT_EQ(server_.Stop().exit_code, 0) << server_.Log();
    for (const DamagedPart& kind : kKinds) {
      if (kinds.contains(kind.name)) Damage(kind);
    }
    Start();
  }

  void Start() {
    ASSERT_TRUE(server_.Start()) << server_.Log();
    client_ = std::make_unique<WireClient>(server_.address());
    const auto channel = Connected(server_.address());
    sessions_ = pb::SessionService::NewStub(channel);
    store_ = pb::StoreService::NewStub(channel);
  }

  // Entries, a streamed commit whose bytes are staged, and as much as makes a journal rotate.
  void Fill(const std::string& id) {
    creates_[id] = test::CreateRequest(id);
    const std::string token = client_->Must(&Stub::CreateSession, creates_[id]).lease_token();
    client_->Must(&Stub::BeginTurn, test::BeginRequest(id, token));
    client_->Must(&Stub::AppendJournal, test::AppendRequest(id, token, 1, 1));
    client_->Must(&Stub::AppendJournal, test::AppendRequest(id, token, 1, 2));
    pb::CommitTurnRequest streamed = test::CommitRequest(id, token, 1, "staged");
    AddSlot("large", std::string(kMiB + 1, 's'), streamed);
    pb::CommitTurnResponse response;
    const auto sent = test::Stream(*sessions_, test::PartsOf(streamed), &response);
    ASSERT_TRUE(sent.ok()) << sent.error_message();
    for (uint64_t turn = 2; turn <= 3; ++turn) {
      client_->Must(&Stub::BeginTurn, test::BeginRequest(id, token));
      auto commit = test::CommitRequest(id, token, turn, std::string(2 * kMiB, 'm'));
      AddSlot("memory", "remembered " + std::to_string(turn), commit);
      client_->Must(&Stub::CommitTurn, commit);
    }
    client_->Must(&Stub::ReleaseLease, test::ReleaseRequest(id, token));
  }

  static void AddSlot(const std::string& owner, const std::string& data,
                      pb::CommitTurnRequest& commit) {
    pb::Slot& slot = *commit.add_slots();
    slot.set_owner(owner);
    slot.set_version("1.0.0");
    slot.set_drift_policy(pb::DRIFT_POLICY_WARN);
    slot.set_data(data);
  }

  void Damage(const DamagedPart& kind) {
    if (!kind.file.empty()) return DamageFiles(kind);
    const std::vector<test::ItemPlace> places = PlacesOf(kind);
    EXPECT_FALSE(places.empty()) << kind.name;
    for (const test::ItemPlace& place : places) DamageAt(place);
  }

  // The first item of its log, or every version of the slot "memory".
  std::vector<test::ItemPlace> PlacesOf(const DamagedPart& kind) {
    const SessionKey key = test::Key(IdOf(kind.name));
    const auto files = fs::OpenFiles(folder_.path() / "data");
    EXPECT_TRUE(files.ok()) << files.status();
    if (!files.ok()) return {};
    if (kind.log != nullptr) {
      std::vector<test::ItemPlace> items = test::SealedItems(**files, key, kind.log);
      items.resize(std::min<size_t>(items.size(), 1));
      return items;
    }
    return test::SealedSlots(**files, key, "memory");
  }

  // A byte in the middle.
  void DamageAt(const test::ItemPlace& place) {
    const std::string path = folder_.path() / "data" / place.path;
    std::string bytes = test::ReadFile(path);
    const size_t at = place.offset + place.size / 2;
    bytes.at(at) = static_cast<char>(bytes.at(at) ^ 1);
    test::WriteFile(path, bytes);
  }

  // Every file of this kind in the session's directory.
  void DamageFiles(const DamagedPart& kind) {
    int damaged = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path())) {
      const std::string path = entry.path();
      if (!entry.is_regular_file() || path.find("/" + IdOf(kind.name) + "/") == std::string::npos ||
          path.find("/" + kind.file) == std::string::npos) {
        continue;
      }
      std::string bytes = test::ReadFile(path);
      constexpr size_t kInTheFirstItem = 12;
      const size_t at = kind.behind.empty() ? kInTheFirstItem : bytes.rfind(kind.behind);
      if (at == std::string::npos) continue;
      bytes.at(at) = static_cast<char>(bytes.at(at) ^ 1);
      test::WriteFile(path, bytes);
      ++damaged;
    }
    EXPECT_GT(damaged, 0) << kind.name;
  }

  static pb::ReadSessionRequest WholeOf(const std::string& id) {
    pb::ReadSessionRequest request;
    request.set_session_id(id);
    return request;
  }

  DamagedRead ReadSession(const pb::ReadSessionRequest& request) {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + WireClient::kPatience));
    const auto stream = sessions_->ReadSession(&context, request);
    DamagedRead read;
    pb::ReadSessionResponse response;
    while (stream->Read(&response)) {
      for (const auto& piece : response.pieces()) Take(piece, read);
    }
    read.verdict = VerdictOf(stream->Finish());
    return read;
  }

  DamagedRead ReadOfStore(const std::string& id) {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + WireClient::kPatience));
    pb::ReadSnapshotRequest request;
    *request.mutable_read() = WholeOf(id);
    const auto stream = store_->ReadSnapshot(&context, request);
    DamagedRead read;
    pb::ReadSnapshotResponse response;
    while (stream->Read(&response)) {
      for (const auto& piece : response.pieces()) Take(piece, read);
    }
    read.verdict = VerdictOf(stream->Finish());
    return read;
  }

  // Up to the first progress message, which a watch of sound events comes to.
  std::string Watch(const std::string& id) {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + WireClient::kPatience));
    pb::WatchSessionRequest request;
    request.set_session_id(id);
    request.set_after_seq(0);
    const auto stream = sessions_->WatchSession(&context, request);
    pb::WatchSessionResponse message;
    while (stream->Read(&message)) {
      if (!message.has_progress()) continue;
      context.TryCancel();
      (void)stream->Finish();
      return "OK";
    }
    return VerdictOf(stream->Finish()).reason;
  }

  template <typename Request, typename Reply>
  std::string Ask(WireClient::Method<Request, Reply> method, const std::string& id) {
    Request request;
    request.set_session_id(id);
    return client_->Reason(method, request);
  }

  std::string CheckStore() {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + WireClient::kPatience));
    pb::CheckStoreResponse response;
    return VerdictOf(store_->CheckStore(&context, {}, &response)).reason;
  }

  // Of the session's first request, whose reply lies in the first item of the oldest segment.
  std::string Outcome(const std::string& id) {
    pb::GetRequestOutcomeRequest request;
    request.set_session_id(id);
    request.set_request_id(creates_.at(id).request_id());
    request.set_method(pb::METHOD_CREATE_SESSION);
    const auto answer = client_->Ask(&Stub::GetRequestOutcome, request);
    if (answer.verdict.reason == "OK") {
      EXPECT_EQ(answer.reply.outcome(), pb::GetRequestOutcomeResponse::OUTCOME_COMMITTED) << id;
    }
    return answer.verdict.reason;
  }

  // Damages a file of the root while no server runs.
  void DamageRoot(const std::string& name, size_t at) {
    ASSERT_EQ(server_.Stop().exit_code, 0) << server_.Log();
    const std::string path = folder_.path() / "data" / name;
    std::string bytes = test::ReadFile(path);
    bytes.at(at) = static_cast<char>(bytes.at(at) ^ 1);
    test::WriteFile(path, bytes);
  }

  // How each reading method answers for the session.
  std::map<std::string, std::string> Reasons(const std::string& id) {
    pb::ReadSessionRequest tail = WholeOf(id);
    tail.set_tail_messages(1);
    return {
        {"CheckStore", CheckStore()},
        {"GetRequestOutcome", Outcome(id)},
        {"GetSession", Ask(&Stub::GetSession, id)},
        {"ListEvents", Ask(&Stub::ListEvents, id)},
        {"ListSessions", client_->Reason(&Stub::ListSessions, pb::ListSessionsRequest())},
        {"ReadSnapshot", ReadOfStore(id).verdict.reason},
        {"ListAuditRecords", Ask(&Stub::ListAuditRecords, id)},
        {"ListJournalEntries", Ask(&Stub::ListJournalEntries, id)},
        {"ListMessages", Ask(&Stub::ListMessages, id)},
        {"ReadSession", ReadSession(WholeOf(id)).verdict.reason},
        {"ReadSession tail", ReadSession(tail).verdict.reason},
        {"ListSlots", Ask(&Stub::ListSlots, id)},
        {"VerifyAudit", Ask(&Stub::VerifyAudit, id)},
        {"WatchSession", Watch(id)},
        {"ResumeSession", client_->Reason(&Stub::ResumeSession, test::ResumeRequest(id))},
    };
  }

  TestFolder folder_;
  ServerProcess server_{folder_};
  std::unique_ptr<WireClient> client_;
  std::unique_ptr<Stub> sessions_;
  std::unique_ptr<pb::StoreService::Stub> store_;
  std::map<std::string, pb::CreateSessionRequest> creates_;
};

TEST_F(DamagedReads, EachFailsItsOwnReadAlone) {
  const std::map<std::string, std::vector<std::string>> damaged = {
      {"message", {"ReadSnapshot", "ListMessages", "ReadSession"}},
      {"slot", {}},
      {"entry", {"ListJournalEntries"}},
      {"event", {"ListEvents", "WatchSession"}},
      {"audit", {"ListAuditRecords"}},  // VerifyAudit says that the chain is broken
      {"staged", {"ListSlots"}},
      {"reply", {"GetRequestOutcome"}},
  };
  ASSERT_NO_FATAL_FAILURE(
      Prepare({"message", "slot", "entry", "event", "audit", "staged", "reply"}));
  const pid_t pid = server_.pid();
  for (const auto& [kind, methods] : damaged) {
    const std::string id = IdOf(kind);
    std::map<std::string, std::string> reasons = Reasons(id);
    for (const std::string& method : methods) {
      EXPECT_EQ(std::exchange(reasons[method], "OK"), "DAMAGED") << method << " of " << id;
    }
    for (const auto& [method, reason] : reasons) EXPECT_EQ(reason, "OK") << method << " of " << id;
    ASSERT_TRUE(server_.Running()) << id << server_.Log();
  }
  EXPECT_EQ(server_.pid(), pid);
}

TEST_F(DamagedReads, WithoutAHeadEveryReadFailsAndOtherSessionsAreServed) {
  ASSERT_NO_FATAL_FAILURE(Prepare({"head", "manifest", "frame", "event"}));
  const pid_t pid = server_.pid();
  for (const auto& [kind, reason] :
       {std::pair("head", "DAMAGED"), std::pair("manifest", "MANIFEST_DRIFT"),
        std::pair("frame", "DAMAGED")}) {
    std::map<std::string, std::string> reasons = Reasons(IdOf(kind));
    for (const char* const of_the_store : {"CheckStore", "ListSessions"}) {
      EXPECT_EQ(std::exchange(reasons[of_the_store], reason), "OK") << kind;
    }
    for (const auto& [method, said] : reasons) EXPECT_EQ(said, reason) << method << " of " << kind;
    ASSERT_TRUE(server_.Running()) << kind << server_.Log();
  }
  EXPECT_EQ(ReadSession(WholeOf(IdOf("event"))).verdict.reason, "OK");
  EXPECT_EQ(server_.pid(), pid);
}

// Its reply is not made up, and the request does not act again.
TEST_F(DamagedReads, ADamagedReplyIsRefusedToItsOwnRequestAlone) {
  ASSERT_NO_FATAL_FAILURE(Prepare({"reply", "event"}));
  const std::string id = IdOf("reply");
  const uint64_t revision = client_->Get(id).revision();
  EXPECT_EQ(client_->Reason(&Stub::CreateSession, creates_.at(id)), "DAMAGED");
  EXPECT_EQ(client_->Get(id).revision(), revision);
  EXPECT_EQ(client_->Must(&Stub::CreateSession, creates_.at(IdOf("event"))).repeated(), true);
}

TEST_F(DamagedReads, ADamagedIndexIsMadeAnew) {
  ASSERT_NO_FATAL_FAILURE(Prepare({"event", "slot"}));
  ASSERT_NO_FATAL_FAILURE(DamageRoot("index", 2));
  Start();
  pb::ListSessionsResponse listed;
  ASSERT_TRUE(WaitUntil([&] {
    listed = client_->Must(&Stub::ListSessions, pb::ListSessionsRequest());
    return listed.complete();
  }));
  EXPECT_EQ(listed.sessions_size(), 2);
  EXPECT_EQ(CheckStore(), "OK");
}

// No deleted session may come back, so the whole store waits for the operator.
TEST_F(DamagedReads, ADamagedTombstoneLogStopsTheStart) {
  ASSERT_NO_FATAL_FAILURE(Prepare({"event"}));
  client_->Must(&Stub::DeleteSession, test::DeleteRequest(IdOf("event"), ""));
  constexpr size_t kInTheFirstPayload = 70;
  ASSERT_NO_FATAL_FAILURE(DamageRoot("tombstones.log", kInTheFirstPayload));
  EXPECT_FALSE(server_.Start());
  EXPECT_NE(server_.Log().find("tombstones.log"), std::string::npos) << server_.Log();
}

TEST_F(DamagedReads, ADamagedSlotHasItsSizeAndNoBytes) {
  ASSERT_NO_FATAL_FAILURE(Prepare({"slot", "staged", "event"}));
  for (const auto& [kind, owner] : {std::pair("slot", "memory"), std::pair("staged", "large")}) {
    const std::string id = IdOf(kind);
    for (const DamagedRead& read : {ReadSession(WholeOf(id)), ReadOfStore(id)}) {
      EXPECT_EQ(read.verdict.reason, "OK") << id << read.verdict.message;
      ASSERT_TRUE(read.slots.contains(owner)) << id;
      EXPECT_GT(read.slots.at(owner).first, 0U) << id;
      EXPECT_EQ(read.slots.at(owner).second, 0U) << id;
    }
    ASSERT_TRUE(server_.Running()) << id << server_.Log();
  }
  // The same one is sound elsewhere.
  const DamagedRead sound = ReadSession(WholeOf(IdOf("event")));
  EXPECT_EQ(sound.slots.at("memory").first, sound.slots.at("memory").second);
  EXPECT_EQ(sound.slots.at("large").second, kMiB + 1);
}

}  // namespace
}  // namespace holdfast::testing

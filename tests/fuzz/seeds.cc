// Seeds from what the project writes itself: the golden store, the printed configuration, tokens
// and requests that a client would send.
#include "platform/digest.h"
#include "platform/encoding.h"
#include "server/config.h"
#include "server/rpc/read/page_token.h"
#include "session/codec/records.h"
#include "session/token.h"
#include "store-fs/crc32c.h"
#include "store-fs/frame.h"
#include "store-fs/index_entry.h"
#include "store-fs/key_filter.h"
#include "store-fs/run_block.h"
#include "store-fs/run_directory.h"
#include "store-fs/write_ahead_record.h"
#include "tests/fuzz/targets.h"
#include "tests/support/golden.h"
#include "tests/support/pieces.h"
#include "tests/support/requests.h"

#include "absl/strings/escaping.h"

#include <optional>
#include <string>
#include <utility>

namespace holdfast::fuzz {
namespace {

namespace pb = ::holdfast::v1;

constexpr char kGoldenHead[] = "tests/golden/root.6/t/default/alpha/state/head.2";
constexpr char kUuid[] = "11111111-2222-4333-8444-555555555555";

// The payloads of a journal's commits, each behind its length.
std::string PayloadsOf(const std::string& journal) {
  std::string payloads;
  for (uint64_t at = 0; at < journal.size();) {
    const fs::FrameRead read = fs::ReadFrame(journal, at, std::nullopt);
    if (read.state != fs::FrameState::kValid) break;
    at += read.frame.size;
    if (read.frame.head.type != fs::FrameType::kCommit) continue;
    const size_t size = read.frame.payload.size();
    payloads += static_cast<char>(size % 256);
    payloads += static_cast<char>(size / 256);
    payloads += read.frame.payload;
  }
  return payloads;
}

// One record of each kind, in the order of the target's kinds.
void AddRecords(std::vector<Seed>& seeds, const std::string& payload) {
  const Slot slot{.owner = "memory", .version = "1.2.3", .data = "state", .revision = Revision(2)};
  const JournalEntry entry{.turn = TurnNumber(1),
                           .number = EntryNumber(2),
                           .kind = JournalKind::kSlotUpdate,
                           .slot = slot,
                           .journal_number = JournalNumber(3)};
  const Event event{.seq = EventSeq(1), .name = "SessionStarted", .payload = {{"key", "value"}}};
  const AuditRecord audit{.seq = AuditSeq(1), .audit_class = "Turn", .data = {{"key", "value"}}};
  RequestRow request;
  request.stamp.id = *RequestId::Parse(kUuid);
  Head head;
  head.uid = *SessionUid::Parse(kUuid);
  head.store = *StoreId::Parse(kUuid);
  const std::string records[] = {
      EncodeMessage({.seq = MessageSeq(1), .role = "user", .data = "text"}),
      EncodeSlot(slot),
      EncodeEntry(entry),
      EncodeEvent(event),
      EncodeAudit(audit),
      EncodeRequest(request),
      EncodeHead(head),
      payload};
  char kind = 0;
  for (const std::string& record : records) {
    seeds.push_back({"journal", "record_" + std::to_string(kind),
                     std::string(1, '\3') + std::string(1, kind) + record});
    ++kind;
  }
}

void AddJournals(std::vector<Seed>& seeds) {
  const std::string journal = test::ReadProjectFile(std::string(kGoldenSession) + "journal.log");
  const std::string payloads = PayloadsOf(journal);
  seeds.push_back({"journal", "stored", std::string(1, '\0') + journal});
  seeds.push_back({"journal", "unsynced", std::string(1, '\1') + journal});
  seeds.push_back({"journal", "framed", std::string(1, '\2') + payloads});
  AddRecords(seeds, payloads.substr(2));
}

void AddLogs(std::vector<Seed>& seeds) {
  const SessionKey key{.tenant = *TenantId::Parse("default"), .session = *SessionId::Parse("one")};
  const fs::PlacedPayload placed(
      {{.key = &key, .salt = 7, .offset = 128, .frame = "a frame"},
       {.key = &key, .salt = 8, .offset = 192, .frame = std::string_view("\0\1\2", 3)}});
  const std::string payload = test::Joined(placed.pieces());
  const fs::EncodedFrame start = fs::EncodeStart({.salt = 9, .number = 3});
  const fs::FrameHead head{.type = fs::FrameType::kPlaced,
                           .salt = 9,
                           .epoch = Epoch(),
                           .revision = Revision(),
                           .previous = start.checksum};
  const std::string frame = fs::EncodeFrame(head, payload, start.bytes.size())->bytes;
  seeds.push_back({"write_ahead", "file", std::string(1, '\0') + start.bytes + frame});
  seeds.push_back({"write_ahead", "write", std::string(1, '\1') + payload});
}

// A run of three entries, one of them a deletion.
void AddRuns(std::vector<Seed>& seeds) {
  Encoder block;
  for (const fs::IndexEntry& entry : {fs::IndexEntry{.key = "a key", .value = "a value"},
                                      fs::IndexEntry{.key = "deleted", .value = std::nullopt},
                                      fs::IndexEntry{.key = "empty", .value = ""}}) {
    fs::PutEntry(entry, block);
  }
  const std::string bytes = block.Take();
  const fs::RunDirectory directory{
      .suffix = 0,
      .blocks = {{.offset = 0, .size = bytes.size(), .crc = fs::Crc32c(bytes), .first = "a key"}},
      .last = "empty",
      .filter = fs::KeyFilter::Of(
          {fs::HashOfKey("a key"), fs::HashOfKey("deleted"), fs::HashOfKey("empty")})};
  const std::string text = fs::EncodeDirectory(directory);
  Encoder size;
  size.Number(bytes.size());
  const std::string run = std::string(1, static_cast<char>(text.size())) + '\0' + bytes + text;
  seeds.push_back({"index", "block", std::string(1, '\0') + bytes});
  seeds.push_back({"index", "directory", std::string(1, '\1') + size.bytes() + text});
  seeds.push_back({"index", "run", std::string(1, '\2') + run});
  seeds.push_back({"index", "run_of_any_blocks", std::string(1, '\3') + run});
  seeds.push_back({"index", "head", std::string(1, '\4') + test::ReadProjectFile(kGoldenHead)});
}

void AddTokens(std::vector<Seed>& seeds) {
  const LeaseToken token{.store = *StoreId::Parse(kUuid),
                         .incarnation = Incarnation(1),
                         .uid = *SessionUid::Parse(kUuid),
                         .epoch = Epoch(300),
                         .secret = std::string(kSecretBytes, 's')};
  const StoreDescription store{
      .kind = "fs", .store = *StoreId::Parse(kUuid), .incarnation = Incarnation(1)};
  const std::string page =
      MakePageToken(store, {.tenant = *TenantId::Parse("default")},
                    {.created_at = absl::FromUnixSeconds(1'700'000'000), .id = "session"});
  const std::string lease = token.ToText();
  std::string lease_bytes;
  std::string page_bytes;
  absl::WebSafeBase64Unescape(lease.substr(lease.find('.') + 1), &lease_bytes);
  absl::WebSafeBase64Unescape(page, &page_bytes);
  seeds.push_back({"tokens", "lease", std::string(1, '\0') + lease});
  seeds.push_back({"tokens", "page", std::string(1, '\1') + page});
  seeds.push_back({"tokens", "lease_bytes", std::string(1, '\2') + lease_bytes});
  seeds.push_back({"tokens", "page_bytes", std::string(1, '\3') + page_bytes});
}

template <typename Request>
void AddRequest(std::vector<Seed>& seeds, char method, const std::string& name, Request request) {
  if constexpr (requires { request.set_request_id(kUuid); }) request.set_request_id(kUuid);
  // One order of fields, whatever the library's mood.
  seeds.push_back({"requests", name, std::string(1, method) + request.SerializeAsString()});
}

void AddRequests(std::vector<Seed>& seeds) {
  pb::CreateSessionRequest create = test::CreateRequest("one");
  create.add_messages()->set_data(R"({"role":"user"})");
  pb::Slot& slot = *create.add_slots();
  slot.set_owner("memory");
  slot.set_version("1.2.3");
  slot.set_drift_policy(pb::DRIFT_POLICY_WARN);
  slot.set_data(R"({"token":{"kind":"env","name":"TOKEN"}})");
  (*create.mutable_attributes())["title"] = "a title";
  AddRequest(seeds, 0, "create", create);
  pb::UpdateSessionRequest update;
  update.mutable_session()->set_session_id("one");
  (*update.mutable_session()->mutable_attributes())["title"] = "another";
  update.mutable_update_mask()->add_paths("attributes.title");
  AddRequest(seeds, 1, "update", update);
  pb::ResumeSessionRequest resume = test::ForceRequest("one");
  *resume.mutable_create_if_missing() = create;
  resume.mutable_create_if_missing()->clear_request_id();
  AddRequest(seeds, 2, "resume", resume);
  AddRequest(seeds, 3, "begin", test::BeginRequest("one", ""));
  AddRequest(seeds, 4, "append", test::AppendRequest("one", "", 1, 1));
  pb::CommitTurnRequest commit = test::CommitRequest("one", "", 1, "text");
  *commit.add_slots() = slot;
  commit.mutable_begin_next()->set_source(pb::TURN_SOURCE_USER);
  AddRequest(seeds, 5, "commit", commit);
  AddRequest(seeds, 6, "abandon", test::AbandonRequest("one", "", 1));
  AddRequest(seeds, 7, "close", test::CloseRequest("one", ""));
  AddRequest(seeds, 8, "delete", test::DeleteRequest("one", ""));
  AddRequest(seeds, 9, "release", test::ReleaseRequest("one", ""));
  pb::GetRequestOutcomeRequest outcome;
  outcome.set_session_id("one");
  outcome.set_method(pb::METHOD_COMMIT_TURN);
  AddRequest(seeds, 10, "outcome", outcome);
}

// One request of each kind that has repeated fields, in the order of the target.
void AddWire(std::vector<Seed>& seeds) {
  pb::CreateSessionRequest create = test::CreateRequest("one");
  create.set_request_id(kUuid);
  create.add_messages()->set_data("text");
  create.add_slots()->set_owner("memory");
  (*create.mutable_attributes())["title"] = "a title";
  pb::ResumeSessionRequest resume;
  *resume.mutable_create_if_missing() = create;
  resume.add_expected_slots()->set_owner("memory");
  pb::ListSessionsRequest list;
  list.set_project_root("/project");
  list.add_lifecycles(pb::LIFECYCLE_ACTIVE);
  list.add_lifecycles(pb::LIFECYCLE_ACTIVE);
  pb::UpdateSessionRequest update;
  (*update.mutable_session()->mutable_attributes())["title"] = "another";
  update.mutable_update_mask()->add_paths("attributes.title");
  pb::CloseSessionRequest close;
  close.mutable_final_snapshot()->add_messages()->set_data("text");
  close.mutable_final_snapshot()->add_deleted_slots("memory");
  // Fields that none of ours is: a group within a group, and one of each other type.
  const std::string unknown(
      "\xa3\x1f\xab\x1f\x08\x01\xac\x1f\xa4\x1f\xed\x04"
      "1234\xf1\x04"
      "12345678");
  seeds.push_back({"wire", "create", std::string(1, '\0') + create.SerializeAsString()});
  seeds.push_back({"wire", "resume", std::string(1, '\1') + resume.SerializeAsString()});
  seeds.push_back({"wire", "list", std::string(1, '\2') + list.SerializeAsString()});
  seeds.push_back({"wire", "update", std::string(1, '\3') + update.SerializeAsString()});
  seeds.push_back({"wire", "close", std::string(1, '\4') + close.SerializeAsString()});
  seeds.push_back({"wire", "unknown", std::string(1, '\2') + list.SerializeAsString() + unknown});
}

}  // namespace

std::vector<Seed> SeedsOfRealArtefacts() {
  std::vector<Seed> seeds;
  AddJournals(seeds);
  AddLogs(seeds);
  AddRuns(seeds);
  seeds.push_back(
      {"manifest", "golden", test::ReadProjectFile(std::string(kGoldenSession) + "manifest.json")});
  const Environment home = {.home = "/user"};
  holdfast::Config config = DefaultConfig(home);
  seeds.push_back({"config", "defaults", PrintConfig(config)});
  config.stores.push_back({.name = "second",
                           .enabled = false,
                           .root = "/b: c",
                           .durability = "interval",
                           .interval = absl::Milliseconds(250)});
  config.stores.push_back({.name = "third",
                           .kind = "postgres",
                           .dsn = "host=/run/postgresql dbname='a b'",
                           .password = "file:/run/secrets/postgres"});
  config.telemetry = {.otlp_endpoint = "http://127.0.0.1:4317",
                      .resource_attributes = "a=b%20c",
                      .sampling_ratio = 0.1};
  config.secrets.known = {{.text = "env:TOKEN"}, {.text = "file:/token"}};
  config.secrets.patterns = {"sk-[a-z]{20}"};
  seeds.push_back({"config", "everything", PrintConfig(config)});
  AddTokens(seeds);
  AddRequests(seeds);
  AddWire(seeds);
  return seeds;
}

}  // namespace holdfast::fuzz

// Bytes that no text of PostgreSQL can hold, through the wire: they come back as they went, from
// the server that took them and from another one.
#include "session/limits.h"
#include "tests/support/channel.h"
#include "tests/support/postgres.h"
#include "tests/support/requests.h"
#include "tests/support/seeded_random.h"
#include "tests/support/server_process.h"
#include "tests/support/streamed_commit.h"
#include "tests/support/wire_client.h"

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::testing {
namespace {

using Stub = WireClient::Stub;

std::vector<std::string> HostileTexts() {
  std::string every;
  for (int byte = 0; byte < 256; ++byte) every.push_back(static_cast<char>(byte));
  return {
      "",
      std::string(1, '\0'),
      std::string("\0\0in the middle\0", 15),
      "\xed\xa0\x80",               // half a surrogate pair, the first
      "\xed\xbf\xbf and \xed\xa0",  // the second one, and a cut one
      "\xff\xfe\xc0\x80\xf5\x80\x80\x80",
      every,
      "\\x00ff\\000\\\\",
      "E'\\'; DROP TABLE holdfast.session; --",
      "{\"lone\": \"\\ud800\", \"nul\": \"\\u0000\"}",
      "\xef\xbb\xbf\r\n\x1a\n",
      std::string(100'000, '\0'),
  };
}

// A server over a database, and its clients.
struct RunningServer {
  explicit RunningServer(ServerSettings settings) : server(folder, std::move(settings)) {}
  void Start() {
    ASSERT_TRUE(server.Start()) << server.Log();
    client = std::make_unique<WireClient>(server.address());
    stub = pb::SessionService::NewStub(Connected(server.address(), {}));
  }

  TestFolder folder;
  ServerProcess server;
  std::unique_ptr<WireClient> client;
  std::unique_ptr<pb::SessionService::Stub> stub;
};

// What ReadSession puts together.
struct Whole {
  std::map<uint64_t, std::string> messages;
  std::map<std::string, std::string> slots;
  std::map<uint64_t, std::string> entries;
  bool operator==(const Whole&) const = default;
};

Whole ReadWhole(const RunningServer& served, const std::string& session) {
  Whole whole;
  grpc::ClientContext context;
  pb::ReadSessionRequest request;
  request.set_session_id(session);
  const auto stream = served.stub->ReadSession(&context, request);
  pb::ReadSessionResponse response;
  while (stream->Read(&response)) {
    for (const auto& piece : response.pieces()) {
      if (piece.has_message()) whole.messages[piece.message().seq()] += piece.message().data();
      // The store's own slot counts what is there.
      if (piece.has_slot() && piece.slot().owner() != "holdfast.store")
        whole.slots[piece.slot().owner()] += piece.slot().data();
      if (!piece.has_journal_entry()) continue;
      whole.entries[piece.journal_entry().number()] += piece.journal_entry().data();
    }
  }
  EXPECT_TRUE(stream->Finish().ok());
  return whole;
}

pb::Slot SlotOf(const std::string& owner, const std::string& data) {
  pb::Slot slot;
  slot.set_owner(owner);
  slot.set_version("1.0.0");
  slot.set_drift_policy(pb::DRIFT_POLICY_WARN);
  slot.set_data(data);
  return slot;
}

class PgBytes : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(first_.Start());
    ASSERT_NO_FATAL_FAILURE(second_.Start());
    token_ = first_.client->Must(&Stub::CreateSession, test::CreateRequest("one")).lease_token();
  }
  uint64_t Begin() {
    return first_.client->Must(&Stub::BeginTurn, test::BeginRequest("one", token_)).turn();
  }

  TestDatabase database_{Contents::kStore};
  RunningServer first_{{.dsn = database_.dsn()}};
  RunningServer second_{{.dsn = database_.dsn()}};
  std::string token_;
};

TEST_F(PgBytes, ComeBackAsTheyWent) {
  const std::vector<std::string> texts = HostileTexts();
  Whole expected;
  pb::AppendJournalRequest append;
  uint64_t turn = Begin();
  pb::CommitTurnRequest commit = test::CommitRequest("one", token_, turn, "");
  commit.clear_messages();
  for (size_t i = 0; i < texts.size(); ++i) {
    pb::Message& message = *commit.add_messages();
    message.set_role("user");
    message.set_data(texts[i]);
    expected.messages[i + 1] = texts[i];
    const std::string owner = absl::StrCat("owner-", i);
    *commit.add_slots() = SlotOf(owner, texts[i]);
    expected.slots[owner] = texts[i];
  }
  first_.client->Must(&Stub::CommitTurn, commit);
  // The entries of a turn that is under way.
  turn = Begin();
  append = test::AppendRequest("one", token_, turn, 1);
  append.clear_entries();
  for (size_t i = 0; i < texts.size(); ++i) {
    pb::JournalEntry& entry = *append.add_entries();
    entry.set_turn(turn);
    entry.set_number(i + 1);
    entry.set_kind(pb::JOURNAL_KIND_NOTE);
    entry.set_data(texts[i]);
    expected.entries[i + 1] = texts[i];
  }
  first_.client->Must(&Stub::AppendJournal, append);
  EXPECT_EQ(ReadWhole(first_, "one"), expected);
  EXPECT_EQ(ReadWhole(second_, "one"), expected);
}

// As an entry of the journal a slot goes another way into the tables.
TEST_F(PgBytes, OfASlotThatTheJournalUpdatesComeBackAsTheyWent) {
  const std::vector<std::string> texts = HostileTexts();
  const uint64_t turn = Begin();
  pb::AppendJournalRequest append = test::AppendRequest("one", token_, turn, 1);
  append.clear_entries();
  std::map<std::string, std::string> expected;
  for (size_t i = 0; i < texts.size(); ++i) {
    const std::string owner = absl::StrCat("owner-", i);
    pb::JournalEntry& entry = *append.add_entries();
    entry.set_turn(turn);
    entry.set_number(i + 1);
    entry.set_kind(pb::JOURNAL_KIND_SLOT_UPDATE);
    *entry.mutable_slot() = SlotOf(owner, texts[i]);
    expected[owner] = texts[i];
  }
  first_.client->Must(&Stub::AppendJournal, append);
  first_.client->Must(&Stub::CommitTurn, test::CommitRequest("one", token_, turn, "done"));
  EXPECT_EQ(ReadWhole(first_, "one").slots, expected);
  EXPECT_EQ(ReadWhole(second_, "one").slots, expected);
}

// 40 MiB of a message and 24 MiB of a slot, which differ everywhere.
TEST_F(PgBytes, SixtyFourMebibytesOfAStreamComeBackAsTheyWent) {
  const auto noise = [](size_t size, uint64_t seed) {
    test::SeededRandom random(seed);
    return random.Bytes(size);
  };
  const std::string message = noise(40 * kMiB, 1);
  const std::string slot = noise(24 * kMiB, 2);
  pb::CommitTurnRequest commit = test::CommitRequest("one", token_, Begin(), message);
  *commit.add_slots() = SlotOf("memory", slot);
  pb::CommitTurnResponse response;
  const grpc::Status done = test::Stream(*first_.stub, test::PartsOf(commit), &response);
  ASSERT_TRUE(done.ok()) << done.error_message();
  for (const RunningServer* const served : {&first_, &second_}) {
    const Whole whole = ReadWhole(*served, "one");
    EXPECT_TRUE(whole.messages.size() == 1 && whole.messages.at(1) == message);
    EXPECT_TRUE(whole.slots.size() == 1 && whole.slots.at("memory") == slot);
  }
}

// Names are texts for PostgreSQL too. Those that it cannot hold are refused, or name nothing, just
// as over files.
TEST_F(PgBytes, NamesThatPostgresqlCannotHoldAreAnsweredAsOverFiles) {
  RunningServer files{{}};
  files.Start();
  const std::string nul("/a\0b", 4);
  std::vector<std::vector<std::string>> answers;
  for (const RunningServer* const served : {&first_, &files}) {
    WireClient& client = *served->client;
    const std::string token =
        client.Must(&Stub::CreateSession, test::CreateRequest("named")).lease_token();
    std::vector<std::string>& reasons = answers.emplace_back();
    pb::ListSessionsRequest list;
    list.set_project_root(nul);
    reasons.push_back(client.Reason(&Stub::ListSessions, list));
    pb::CreateSessionRequest create = test::CreateRequest("another");
    create.mutable_manifest()->set_project_root(nul);
    reasons.push_back(client.Reason(&Stub::CreateSession, create));
    pb::ListSlotsRequest slots;
    slots.set_session_id("named");
    slots.add_owners(nul);
    reasons.push_back(client.Reason(&Stub::ListSlots, slots));
    slots.clear_owners();
    slots.set_acting_owner(nul);
    reasons.push_back(client.Reason(&Stub::ListSlots, slots));
    pb::GetSessionRequest get;
    get.set_session_id(nul);
    reasons.push_back(client.Reason(&Stub::GetSession, get));
    pb::BeginTurnRequest begin = test::BeginRequest("named", token);
    begin.set_request_id(nul);
    reasons.push_back(client.Reason(&Stub::BeginTurn, begin));
  }
  EXPECT_EQ(answers[0], answers[1]);
  EXPECT_THAT(answers[0], ::testing::Not(::testing::Contains("STORE_UNAVAILABLE")));
}

}  // namespace
}  // namespace holdfast::testing

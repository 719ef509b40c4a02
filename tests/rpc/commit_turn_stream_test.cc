// CommitTurnStream over the wire: large commits, their reading, repeats, and what is refused.
#include "session/limits.h"
#include "tests/rpc/served.h"
#include "tests/support/details.h"
#include "tests/support/streamed_commit.h"
#include "tests/support/wait.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::test {
namespace {

using Parts = std::vector<pb::CommitTurnStreamRequest>;

// Bytes that differ everywhere, and for each seed.
std::string Pattern(size_t size, uint64_t seed) {
  std::string bytes;
  bytes.reserve(size + 24);
  for (uint64_t i = 0; bytes.size() < size; ++i) bytes += std::to_string(i * 2654435761U + seed);
  bytes.resize(size);
  return bytes;
}

class CommitTurnStreamRpc : public Served {
 protected:
  // A commit of turn 1 with messages of these sizes and a slot of `slot` bytes.
  static pb::CommitTurnRequest Large(const std::string& id, const std::string& token,
                                     const std::vector<size_t>& messages, size_t slot) {
    pb::CommitTurnRequest request = CommitRequest(id, token, 1, "");
    request.clear_messages();
    for (const size_t size : messages) {
      pb::Message& message = *request.add_messages();
      message.set_role("assistant");
      message.set_data(Pattern(size, size));
    }
    pb::Slot& added = *request.add_slots();
    added.set_owner("memory");
    added.set_version("1.0.0");
    added.set_drift_policy(pb::DRIFT_POLICY_WARN);
    added.set_data(Pattern(slot, 7));
    return request;
  }

  grpc::Status Send(const Parts& parts, pb::CommitTurnResponse* response = nullptr) {
    pb::CommitTurnResponse unused;
    return Stream(sessions(), parts, response == nullptr ? &unused : response);
  }

  // What ReadSession puts together: messages by number, and the slot.
  struct Read {
    std::map<uint64_t, std::string> messages;
    std::map<std::string, std::string> slots;
    size_t largest_response = 0;
  };
  static void Add(const pb::SessionPiece& piece, Read& read) {
    if (piece.has_message()) {
      std::string& data = read.messages[piece.message().seq()];
      EXPECT_EQ(data.size(), piece.chunk_offset());
      data += piece.message().data();
    }
    if (piece.has_slot()) read.slots[piece.slot().owner()] += piece.slot().data();
  }
  Read ReadAll(const std::string& id) {
    Read read;
    grpc::ClientContext context;
    pb::ReadSessionRequest request;
    request.set_session_id(id);
    const auto stream = sessions().ReadSession(&context, request);
    pb::ReadSessionResponse response;
    while (stream->Read(&response)) {
      read.largest_response = std::max(read.largest_response, response.ByteSizeLong());
      for (const auto& piece : response.pieces()) Add(piece, read);
    }
    EXPECT_TRUE(stream->Finish().ok());
    return read;
  }
};

TEST_F(CommitTurnStreamRpc, ALargeCommitIsReadAsItWasSent) {
  const std::string token = Create("one").lease_token();
  Begin("one", token);
  const auto request = Large("one", token, {10, 5 * kMiB + 3, 0, kMiB}, 3 * kMiB);
  pb::CommitTurnResponse response;
  const grpc::Status status = Send(PartsOf(request), &response);
  ASSERT_TRUE(status.ok()) << ReasonOf(status);
  EXPECT_EQ(response.message_count(), 4);
  EXPECT_FALSE(response.repeated());
  const Read read = ReadAll("one");
  ASSERT_EQ(read.messages.size(), 4U);
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(read.messages.at(static_cast<uint64_t>(i) + 1) == request.messages(i).data()) << i;
  }
  EXPECT_TRUE(read.slots.at("memory") == request.slots(0).data());
  EXPECT_LE(read.largest_response, kChunkBytes + 1024);
}

TEST_F(CommitTurnStreamRpc, TheWayItCameIsNotSeen) {
  // Of a commit that both ways can carry: the same history, and the same request.
  const std::string first = Create("streamed").lease_token();
  Begin("streamed", first);
  auto request = Large("streamed", first, {100, 200'000}, 1000);
  ASSERT_TRUE(Send(PartsOf(request, 777)).ok());
  pb::CommitTurnResponse repeated;
  ASSERT_TRUE(Ask(&pb::SessionService::Stub::CommitTurn, request, &repeated).ok());
  EXPECT_TRUE(repeated.repeated());

  const std::string second = Create("unary").lease_token();
  Begin("unary", second);
  request.set_session_id("unary");
  request.set_lease_token(second);
  ASSERT_TRUE(Ask(&pb::SessionService::Stub::CommitTurn, request).ok());
  pb::CommitTurnResponse streamed;
  ASSERT_TRUE(Send(PartsOf(request), &streamed).ok());
  EXPECT_TRUE(streamed.repeated());
  EXPECT_EQ(Get("streamed").history_digest(), Get("unary").history_digest());

  pb::ListMessagesRequest read;
  read.set_session_id("streamed");
  pb::ListMessagesResponse page;
  ASSERT_TRUE(Ask(&pb::SessionService::Stub::ListMessages, read, &page).ok());
  ASSERT_EQ(page.messages_size(), 2);
  EXPECT_TRUE(page.messages(1).data() == request.messages(1).data());
  EXPECT_TRUE(page.next_page_token().empty());
}

TEST_F(CommitTurnStreamRpc, ARepeatIsAnsweredAtTheFirstPart) {
  const std::string token = Create("one").lease_token();
  Begin("one", token);
  const Parts parts = PartsOf(Large("one", token, {2 * kMiB}, 10));
  ASSERT_TRUE(Send(parts).ok());
  pb::CommitTurnResponse again;
  const grpc::Status status = Send({parts.front()}, &again);
  ASSERT_TRUE(status.ok()) << ReasonOf(status);
  EXPECT_TRUE(again.repeated());
  EXPECT_EQ(again.message_count(), 1);
}

TEST_F(CommitTurnStreamRpc, RefusesFencedTokenAtFirstPart) {
  const std::string token = Create("one").lease_token();
  Begin("one", token);
  ASSERT_TRUE(Ask(&pb::SessionService::Stub::ResumeSession, ForceRequest("one")).ok());
  const Parts parts = PartsOf(Large("one", token, {kMiB}, 10));
  EXPECT_EQ(ReasonOf(Send({parts.front()})), "FENCED");
}

TEST_F(CommitTurnStreamRpc, WhatIsLargerThanAReplyIsReadByStreamAlone) {
  const std::string token = Create("one").lease_token();
  Begin("one", token);
  ASSERT_TRUE(Send(PartsOf(Large("one", token, {10, 5 * kMiB}, 5 * kMiB))).ok());
  pb::ListMessagesRequest read;
  read.set_session_id("one");
  pb::ListMessagesResponse page;
  ASSERT_TRUE(Ask(&pb::SessionService::Stub::ListMessages, read, &page).ok());
  EXPECT_EQ(page.messages_size(), 1);
  EXPECT_FALSE(page.next_page_token().empty());
  read.set_after_seq(1);
  EXPECT_EQ(ReasonOf(Ask(&pb::SessionService::Stub::ListMessages, read)), "TOO_LARGE");
  pb::ListSlotsRequest slots;
  slots.set_session_id("one");
  // The store's own slot is a page, which ends before the one that has no room.
  pb::ListSlotsResponse small;
  ASSERT_TRUE(Ask(&pb::SessionService::Stub::ListSlots, slots, &small).ok());
  EXPECT_EQ(small.slots_size(), 1);
  slots.set_page_token(small.next_page_token());
  EXPECT_EQ(ReasonOf(Ask(&pb::SessionService::Stub::ListSlots, slots)), "TOO_LARGE");
  slots.clear_page_token();
  slots.set_without_data(true);
  EXPECT_TRUE(Ask(&pb::SessionService::Stub::ListSlots, slots).ok());
  pb::ResumeSessionRequest resume = ForceRequest("one");
  resume.set_tail_messages(2);
  pb::ResumeSessionResponse resumed;
  ASSERT_TRUE(Ask(&pb::SessionService::Stub::ResumeSession, resume, &resumed).ok());
  EXPECT_TRUE(resumed.inline_omitted());
}

// To forget takes a write of its own, before the answer.
TEST_F(CommitTurnStreamRpc, OnlyWhatNoChangeTookOverIsForgotten) {
  const std::string token = Create("one").lease_token();
  Begin("one", token);
  Parts parts = PartsOf(Large("one", token, {2 * kMiB}, 10));
  const Parts whole = parts;
  parts.pop_back();
  EXPECT_EQ(ReasonOf(Send(parts)), "INVALID_FIELD");
  EXPECT_EQ(script().Drops(), 1);
  EXPECT_TRUE(Send(whole).ok());
  EXPECT_EQ(script().Drops(), 1);
}

TEST_F(CommitTurnStreamRpc, NothingIsDoneWithoutAllOfIt) {
  const std::string token = Create("one").lease_token();
  Begin("one", token);
  const uint64_t before = Get("one").revision();
  const Parts whole = PartsOf(Large("one", token, {2 * kMiB}, 10));
  const auto field = [&](const Parts& parts) {
    const grpc::Status status = Send(parts);
    const auto facts = ErrorInfoOf(DetailsOf(status)).metadata();
    return ReasonOf(status) + " " + (facts.contains("field") ? facts.at("field") : "");
  };
  Parts parts = whole;
  parts.pop_back();
  EXPECT_EQ(field(parts), "INVALID_FIELD end");
  parts = whole;
  parts.erase(parts.begin());
  EXPECT_EQ(field(parts), "INVALID_FIELD commit");
  parts = whole;
  parts.insert(parts.begin() + 1, whole.front());
  EXPECT_EQ(field(parts), "INVALID_FIELD commit");
  parts = whole;
  parts.erase(parts.begin() + 1);
  EXPECT_EQ(field(parts), "INVALID_FIELD chunk");
  parts = whole;
  parts.erase(parts.begin() + 2);
  EXPECT_EQ(field(parts), "INVALID_FIELD data_bytes");
  parts = whole;
  parts[2].mutable_chunk()->front() ^= 1;
  EXPECT_EQ(field(parts), "INVALID_FIELD end.data_sha256");
  parts = whole;
  parts[2].mutable_chunk()->append("x");
  EXPECT_EQ(field(parts), "TOO_LARGE chunk");
  parts = whole;
  parts.insert(parts.begin() + 2, parts[2]);
  EXPECT_EQ(field(parts), "TOO_LARGE data_bytes");
  parts = whole;
  parts.front().mutable_commit()->set_data_bytes(kSnapshotBytes + 1);
  EXPECT_EQ(field(parts), "TOO_LARGE data_bytes");
  parts = whole;
  parts.front().mutable_commit()->mutable_commit()->add_messages();
  EXPECT_EQ(field(parts), "INVALID_FIELD commit");
  EXPECT_EQ(Get("one").revision(), before);
  EXPECT_TRUE(Send(whole).ok());
}

TEST_F(CommitTurnStreamRpc, WhatArrivesIsReservedInSteps) {
  config().limits.staged_bytes = 2 * kStagedStepBytes;
  const std::string first = Create("one").lease_token();
  Begin("one", first);
  const std::string second = Create("two").lease_token();
  Begin("two", second);
  const auto staged = [&] { return app().Resources().staged_bytes; };
  grpc::ClientContext context;
  pb::CommitTurnResponse response;
  const Parts large = PartsOf(Large("one", first, {6 * kMiB}, 10));
  const auto holder = sessions().CommitTurnStream(&context, &response);
  ASSERT_TRUE(holder->Write(large[0]));
  EXPECT_EQ(staged(), 0U);
  ASSERT_TRUE(holder->Write(large[1]));
  ASSERT_TRUE(testing::WaitUntil([&] { return staged() == kStagedStepBytes; }));
  for (size_t i = 2; i <= 5; ++i) ASSERT_TRUE(holder->Write(large[i]));
  ASSERT_TRUE(testing::WaitUntil([&] { return staged() > kStagedStepBytes; }));
  // The rest of what it announced, and no whole step.
  EXPECT_EQ(staged(), 6 * kMiB + 10);

  const Parts other = PartsOf(Large("two", second, {3 * kMiB}, 10));
  const grpc::Status refused = Send(other);
  EXPECT_EQ(ReasonOf(refused), "OVERLOADED");
  EXPECT_EQ(ErrorInfoOf(DetailsOf(refused)).metadata().at("field"), "limits.staged_bytes");
  context.TryCancel();
  (void)holder->Finish();
  ASSERT_TRUE(testing::WaitUntil([&] { return staged() == 0; }));
  EXPECT_TRUE(Send(other).ok());
}

// Slots without a byte are two bytes each on the wire, and a hundred in memory.
TEST_F(CommitTurnStreamRpc, APieceThatGrowsInMemoryIsNotTakenIn) {
  const std::string token = Create("one").lease_token();
  Begin("one", token);
  Parts parts = PartsOf(Large("one", token, {100}, 10));
  pb::CommitTurnRequest& commit = *parts.front().mutable_commit()->mutable_commit();
  for (int i = 0; i < 100'000; ++i) commit.add_slots();
  const grpc::Status refused = Send(parts);
  EXPECT_EQ(ReasonOf(refused), "TOO_LARGE") << refused.error_message();
  EXPECT_EQ(ErrorInfoOf(DetailsOf(refused)).metadata().at("field"), "slots");
}

TEST_F(CommitTurnStreamRpc, ASecretAcrossPiecesIsFound) {
  config().secrets.patterns = {"sk-[a-z]{10}"};
  const std::string token = Create("one").lease_token();
  Begin("one", token);
  auto request = Large("one", token, {100}, 10);
  request.mutable_messages(0)->set_data("key: sk-abcdefghij.");
  for (const size_t piece : {3U, 9U, 100U}) {
    const grpc::Status refused = Send(PartsOf(request, piece));
    EXPECT_EQ(ReasonOf(refused), "SECRET_LEAK");
    const auto facts = ErrorInfoOf(DetailsOf(refused)).metadata();
    EXPECT_EQ(facts.at("field"), "messages[0].data");
    EXPECT_EQ(facts.at("offset"), "5");
  }
  EXPECT_EQ(Get("one").message_count(), 0U);
}

TEST_F(CommitTurnStreamRpc, AMalformedReferenceInASlotAcrossPiecesIsFound) {
  const std::string token = Create("one").lease_token();
  Begin("one", token);
  auto request = Large("one", token, {100}, 100);
  *request.add_slots() = request.slots(0);
  request.mutable_slots(1)->set_owner("other");
  for (const int slot : {0, 1}) {  // one that another follows, and the last one
    auto broken = request;
    broken.mutable_slots(slot)->set_data(R"({"token": {"kind": "env", "name": ""}})");
    for (const size_t piece : {3U, 9U, 100U}) {
      const grpc::Status refused = Send(PartsOf(broken, piece));
      EXPECT_EQ(ReasonOf(refused), "MALFORMED_SECRET_REFERENCE");
      const auto facts = ErrorInfoOf(DetailsOf(refused)).metadata();
      EXPECT_EQ(facts.at("field"), "slots[" + std::to_string(slot) + "].data");
      EXPECT_EQ(facts.at("offset"), "10");
    }
  }
  request.mutable_messages(0)->set_data(R"({"kind": "env"})");  // what is said names no secret
  const grpc::Status sent = Send(PartsOf(request, 9));
  EXPECT_TRUE(sent.ok()) << sent.error_message();
}

}  // namespace
}  // namespace holdfast::test

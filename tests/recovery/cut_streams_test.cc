// Streams that break anywhere: a client that does what the documentation says (send again from the
// last number acknowledged; send the same commit again) loses nothing and doubles nothing, and what
// it had staged goes away.
#include "tests/support/channel.h"
#include "tests/support/requests.h"
#include "tests/support/server_process.h"
#include "tests/support/streamed_commit.h"
#include "tests/support/wire_client.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace holdfast::testing {
namespace {

constexpr int kCutTurns = 200;
constexpr int kCutsPerTurn = 4;  // of the journal; one more of the commit
constexpr uint64_t kEntries = 12;
constexpr size_t kPiece = 4096;

using Stub = WireClient::Stub;

class CutStreams : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(server_.Start()) << server_.Log();
    client_ = std::make_unique<WireClient>(server_.address());
    channel_ = Connected(server_.address());
    sessions_ = pb::SessionService::NewStub(channel_);
    token_ = client_->Must(&Stub::CreateSession, test::CreateRequest("cut")).lease_token();
  }

  uint64_t Dice(uint64_t least, uint64_t most) {
    return std::uniform_int_distribution<uint64_t>(least, most)(random_);
  }

  // Streams the entries behind `acknowledged` up to the last one; answers how many are acknowledged
  // when the stream is cut, or at its end when it is not.
  uint64_t Append(uint64_t turn, uint64_t acknowledged, bool cut) {
    grpc::ClientContext context;
    const auto stream = sessions_->AppendJournalStream(&context);
    const uint64_t last = cut ? Dice(acknowledged, kEntries) : kEntries;
    for (uint64_t number = acknowledged + 1; number <= last; ++number) {
      pb::AppendJournalStreamRequest request;
      if (number == acknowledged + 1) {
        request.set_session_id("cut");
        request.set_lease_token(token_);
      }
      *request.mutable_entries() = test::AppendRequest("", "", turn, number).entries();
      if (!stream->Write(request)) break;
    }
    const uint64_t awaited = cut ? Dice(acknowledged, last) : last;
    if (!cut) stream->WritesDone();
    pb::AppendJournalStreamResponse response;
    while (acknowledged < awaited && stream->Read(&response)) acknowledged = response.last_entry();
    if (cut) context.TryCancel();
    while (stream->Read(&response)) acknowledged = response.last_entry();
    const grpc::Status status = stream->Finish();
    EXPECT_TRUE(cut || status.ok()) << VerdictOf(status).message;
    return acknowledged;
  }

  void CutCommit(const std::vector<pb::CommitTurnStreamRequest>& parts) {
    grpc::ClientContext context;
    pb::CommitTurnResponse response;
    const auto writer = sessions_->CommitTurnStream(&context, &response);
    const uint64_t sent = Dice(0, parts.size());
    for (uint64_t at = 0; at < sent && writer->Write(parts[at]); ++at) {
    }
    context.TryCancel();
    (void)writer->Finish();
  }

  // A commit with two messages that differ in every round.
  pb::CommitTurnRequest CommitOf(uint64_t turn) {
    pb::CommitTurnRequest request = test::CommitRequest("cut", token_, turn, "");
    request.clear_messages();
    for (const char* role : {"user", "assistant"}) {
      pb::Message& message = *request.add_messages();
      message.set_role(role);
      std::string data = std::to_string(turn) + role;
      while (data.size() < Dice(kPiece, 4 * kPiece)) data += data;
      message.set_data(data);
    }
    return request;
  }

  std::vector<std::string> StoredMessages() {
    std::vector<std::string> messages;
    pb::ListMessagesRequest request;
    request.set_session_id("cut");
    request.set_page_size(1000);
    for (;;) {
      const auto page = client_->Must(&Stub::ListMessages, request);
      for (const auto& message : page.messages()) messages.push_back(message.data());
      if (page.next_page_token().empty()) return messages;
      request.set_page_token(page.next_page_token());
    }
  }

  std::vector<std::string> UploadsLeft() const {
    std::vector<std::string> left;
    for (const auto& file : std::filesystem::recursive_directory_iterator(folder_.path())) {
      const std::string name = file.path().filename();
      if (name.ends_with(".upload")) left.push_back(name);
    }
    return left;
  }

  TestFolder folder_;
  ServerProcess server_{folder_};
  std::unique_ptr<WireClient> client_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<Stub> sessions_;
  std::string token_;
  std::mt19937_64 random_{20261122};
};

TEST_F(CutStreams, NothingIsLostAndNothingIsDoubled) {
  std::vector<std::string> sent;
  int cuts = 0;
  for (uint64_t turn = 1; turn <= kCutTurns; ++turn) {
    client_->Must(&Stub::BeginTurn, test::BeginRequest("cut", token_));
    uint64_t acknowledged = 0;
    for (int cut = 0; cut < kCutsPerTurn; ++cut, ++cuts) {
      acknowledged = Append(turn, acknowledged, true);
    }
    ASSERT_EQ(Append(turn, acknowledged, false), kEntries);
    const pb::CommitTurnRequest commit = CommitOf(turn);
    const auto parts = test::PartsOf(commit, kPiece);
    CutCommit(parts);
    ++cuts;
    pb::CommitTurnResponse response;
    const grpc::Status status = test::Stream(*sessions_, parts, &response);
    ASSERT_TRUE(status.ok()) << VerdictOf(status).message;
    for (const auto& message : commit.messages()) sent.push_back(message.data());
    ASSERT_EQ(response.message_count(), sent.size());
    ASSERT_EQ(response.last_entry(), kEntries);
  }
  EXPECT_TRUE(StoredMessages() == sent);
  pb::ListJournalEntriesRequest journal;
  journal.set_session_id("cut");
  EXPECT_EQ(client_->Must(&Stub::ListJournalEntries, journal).journal_number(),
            kCutTurns * kEntries);
  std::cout << cuts << " streams cut\n";
  EXPECT_GE(cuts, 1000);
  EXPECT_EQ(server_.Stop().exit_code, 0);
  EXPECT_TRUE(UploadsLeft().empty());
}

}  // namespace
}  // namespace holdfast::testing

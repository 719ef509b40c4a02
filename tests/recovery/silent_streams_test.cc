// Clients that open streams and then say nothing, or announce much and send nothing, or read
// nothing: what they hold is bounded, and other clients are served.
#include "holdfast/v1/admin_service.grpc.pb.h"
#include "platform/digest.h"
#include "session/limits.h"
#include "tests/support/channel.h"
#include "tests/support/each_store.h"
#include "tests/support/requests.h"
#include "tests/support/server_process.h"
#include "tests/support/streamed_commit.h"
#include "tests/support/wait.h"
#include "tests/support/wire_client.h"

#include "absl/synchronization/blocking_counter.h"
#include "gtest/gtest.h"

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::testing {
namespace {

using Stub = WireClient::Stub;

// Streams that are silent for the whole test, however long it takes.
constexpr char kNoIdleLimit[] = "  stream_idle: 1h\n";

class SilentStreams : public ::testing::TestWithParam<StoreKind> {
 protected:
  void Start(const std::string& limits = "") {
    server_ = std::make_unique<ServerProcess>(
        folder_, store_.Settings({.more = limits.empty() ? "" : "limits:\n" + limits}));
    ASSERT_TRUE(server_->Start()) << server_->Log();
    client_ = std::make_unique<WireClient>(server_->address());
    admin_ = pb::AdminService::NewStub(Connected(server_->address()));
  }

  // A client of another connection.
  std::unique_ptr<Stub> NewClient() {
    return pb::SessionService::NewStub(Connected(server_->address()));
  }

  // Waits until so many calls are in progress beside the one that asks; why the server refused to
  // say it, or OK.
  std::string AwaitCalls(int32_t calls) {
    std::string reason;
    const bool answered = WaitUntil([&] {
      grpc::ClientContext context;
      pb::StatusResponse status;
      reason = VerdictOf(admin_->Status(&context, pb::StatusRequest(), &status)).reason;
      return reason != "OK" || status.calls_in_progress() == calls + 1;
    });
    return answered ? reason : "not so many calls";
  }

  // How often each reason came of 1,000 calls of a client.
  std::map<std::string, int> AskThousandTimes() {
    std::map<std::string, int> reasons;
    client_->Must(&Stub::CreateSession, test::CreateRequest("beside"));
    pb::GetSessionRequest get;
    get.set_session_id("beside");
    for (int i = 0; i < 1000; ++i) ++reasons[client_->Reason(&Stub::GetSession, get)];
    return reasons;
  }

  // A session with a turn; its lease token.
  std::string Begin(const std::string& id) {
    const std::string token =
        client_->Must(&Stub::CreateSession, test::CreateRequest(id)).lease_token();
    client_->Must(&Stub::BeginTurn, test::BeginRequest(id, token));
    return token;
  }

  TestFolder folder_;
  StoreUnderServer store_{GetParam()};
  std::unique_ptr<ServerProcess> server_;
  std::unique_ptr<WireClient> client_;
  std::unique_ptr<pb::AdminService::Stub> admin_;
};

const std::map<std::string, int> kAllServed = {{"OK", 1000}};

TEST_P(SilentStreams, AdmitsOtherClientsWhenJournalsAreSilent) {
  constexpr int kStreams = 600;
  Start(kNoIdleLimit);
  const auto silent = NewClient();
  std::deque<grpc::ClientContext> contexts;
  std::vector<std::unique_ptr<
      grpc::ClientReaderWriter<pb::AppendJournalStreamRequest, pb::AppendJournalStreamResponse>>>
      streams;
  for (int i = 0; i < kStreams; ++i) {
    streams.push_back(silent->AppendJournalStream(&contexts.emplace_back()));
  }
  EXPECT_EQ(AwaitCalls(kStreams), "OK");
  EXPECT_EQ(AskThousandTimes(), kAllServed);
  EXPECT_EQ(AwaitCalls(kStreams), "OK") << "some streams were ended meanwhile";
  for (auto& context : contexts) context.TryCancel();
  for (auto& stream : streams) (void)stream->Finish();
  EXPECT_EQ(AwaitCalls(0), "OK");
}

TEST_P(SilentStreams, AdmitsOtherClientsWhenCommitsAreSilent) {
  constexpr int kStreams = 1100;
  Start(kNoIdleLimit);
  const std::unique_ptr<Stub> silent[] = {NewClient(), NewClient()};
  std::deque<grpc::ClientContext> contexts;
  std::deque<pb::CommitTurnResponse> responses;
  std::vector<std::unique_ptr<grpc::ClientWriter<pb::CommitTurnStreamRequest>>> streams;
  for (int i = 0; i < kStreams; ++i) {
    streams.push_back(
        silent[i % 2]->CommitTurnStream(&contexts.emplace_back(), &responses.emplace_back()));
  }
  EXPECT_EQ(AwaitCalls(kStreams), "OK");
  EXPECT_EQ(AskThousandTimes(), kAllServed);
  EXPECT_EQ(AwaitCalls(kStreams), "OK") << "some streams were ended meanwhile";
  // A client that gives up so many at once would be disconnected.
  for (auto& stream : streams) stream->WritesDone();
  for (auto& stream : streams) EXPECT_EQ(VerdictOf(stream->Finish()).reason, "INVALID_FIELD");
  EXPECT_EQ(AwaitCalls(0), "OK");
}

TEST_P(SilentStreams, UploadsThatAreOnlyAnnouncedReserveNothing) {
  constexpr uint32_t kAnnounced = kStagedBytesDefault / kSnapshotBytes;
  Start(kNoIdleLimit);
  const auto sessions = NewClient();
  std::deque<grpc::ClientContext> contexts;
  std::deque<pb::CommitTurnResponse> responses;
  std::vector<std::unique_ptr<grpc::ClientWriter<pb::CommitTurnStreamRequest>>> streams;
  for (uint32_t i = 0; i < kAnnounced; ++i) {
    const std::string id = "announced-" + std::to_string(i);
    pb::CommitTurnStreamRequest begin;
    *begin.mutable_commit()->mutable_commit() = test::CommitRequest(id, Begin(id), 1, "");
    begin.mutable_commit()->mutable_commit()->clear_messages();
    begin.mutable_commit()->set_data_bytes(kSnapshotBytes);
    pb::CommitTurnStreamRequest first;
    first.mutable_message()->set_role("user");
    auto& stream = streams.emplace_back(
        sessions->CommitTurnStream(&contexts.emplace_back(), &responses.emplace_back()));
    ASSERT_TRUE(stream->Write(begin));
    ASSERT_TRUE(stream->Write(first));
  }
  EXPECT_EQ(AwaitCalls(kAnnounced), "OK");

  const std::string token = Begin("honest");
  auto commit = test::CommitRequest("honest", token, 1, "");
  commit.clear_messages();
  constexpr int kMessages = 50;
  for (int i = 0; i < kMessages; ++i) {
    pb::Message& message = *commit.add_messages();
    message.set_role("assistant");
    message.set_data(std::string(2 * kMiB, static_cast<char>('a' + i % 26)));
  }
  pb::CommitTurnResponse response;
  const auto sent = test::Stream(*NewClient(), test::PartsOf(std::move(commit)), &response);
  EXPECT_EQ(VerdictOf(sent).reason, "OK") << sent.error_message();
  EXPECT_EQ(client_->Get("honest").message_count(), static_cast<uint64_t>(kMessages));
  for (auto& context : contexts) context.TryCancel();
  for (auto& stream : streams) (void)stream->Finish();
}

TEST_P(SilentStreams, AStreamOnWhichNothingComesEnds) {
  Start("  stream_idle: 1s\n");
  const auto sessions = NewClient();
  grpc::ClientContext journal;
  const auto entries = sessions->AppendJournalStream(&journal);
  pb::AppendJournalStreamResponse none;
  EXPECT_FALSE(entries->Read(&none));
  const Verdict silent = VerdictOf(entries->Finish());
  EXPECT_EQ(silent.reason, "DEADLINE");
  EXPECT_EQ(silent.facts.at("field"), "limits.stream_idle");
  EXPECT_EQ(silent.facts.at("outcome"), "known");
  grpc::ClientContext commit;
  pb::CommitTurnResponse response;
  const auto upload = sessions->CommitTurnStream(&commit, &response);
  EXPECT_EQ(VerdictOf(upload->Finish()).reason, "DEADLINE");
  EXPECT_EQ(AwaitCalls(0), "OK");
}

TEST_P(SilentStreams, AReaderThatStallsIsEndedAndCutOff) {
  Start("  stream_write_timeout: 1s\n");
  const std::string token = Begin("large");
  for (uint64_t turn = 1; turn <= 8; ++turn) {
    if (turn > 1) client_->Must(&Stub::BeginTurn, test::BeginRequest("large", token));
    client_->Must(&Stub::CommitTurn,
                  test::CommitRequest("large", token, turn, std::string(3 * kMiB, 'x')));
  }
  const auto sessions = NewClient();
  grpc::ClientContext context;
  pb::ReadSessionRequest request;
  request.set_session_id("large");
  const auto stream = sessions->ReadSession(&context, request);
  pb::ReadSessionResponse response;
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_TRUE(WaitUntil([&] {
    const std::string log = server_->Log();
    return log.find("\"reason\":\"DEADLINE\"") != std::string::npos;
  })) << server_->Log();
  while (stream->Read(&response)) {
  }
  const std::string reason = VerdictOf(stream->Finish()).reason;
  EXPECT_TRUE(reason == "DEADLINE" || reason == "CANCELLED") << reason;
  EXPECT_EQ(AwaitCalls(0), "OK");
}

// Requests of nearly the largest size take what they need and not what the worst of their length
// would: none is refused for the budget. A database that is too slow for all of them at once may
// leave some in doubt, which then act under the same request id.
TEST_P(SilentStreams, ManyLargeCommitsAtOnceFitTheBudget) {
  constexpr int kClients = 48;
  Start();
  struct Sent {
    std::unique_ptr<Stub> stub;
    grpc::ClientContext context;
    pb::CommitTurnRequest request;
    pb::CommitTurnResponse response;
    std::string reason;
  };
  std::deque<Sent> sent;
  for (int i = 0; i < kClients; ++i) {
    const std::string id = "large-" + std::to_string(i);
    Sent& one = sent.emplace_back();
    one.stub = NewClient();
    one.request = test::CommitRequest(id, Begin(id), 1, std::string(4 * kMiB - 4 * kKiB, 'x'));
    one.context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Minutes(5)));
  }
  absl::BlockingCounter left(kClients);
  for (Sent& one : sent) {
    one.stub->async()->CommitTurn(&one.context, &one.request, &one.response,
                                  [&one, &left](const grpc::Status& status) {
                                    one.reason = VerdictOf(status).reason;
                                    left.DecrementCount();
                                  });
  }
  left.Wait();
  for (Sent& one : sent) {
    if (GetParam() == StoreKind::kPostgres && one.reason == "STORE_UNAVAILABLE") {
      EXPECT_TRUE(WaitUntil([&one] {
        grpc::ClientContext context;
        return one.stub->CommitTurn(&context, one.request, &one.response).ok();
      }));
    } else {
      EXPECT_EQ(one.reason, "OK");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Stores, SilentStreams, EachStore(), NameOfStore);

}  // namespace
}  // namespace holdfast::testing

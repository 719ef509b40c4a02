// Commits as large as one may be, against a real server: what arrives is reserved, memory
// stays small, and the bytes come back as they were sent.
#include "platform/digest.h"
#include "session/limits.h"
#include "tests/support/channel.h"
#include "tests/support/requests.h"
#include "tests/support/server_process.h"
#include "tests/support/wait.h"
#include "tests/support/wire_client.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::testing {
namespace {

using test::CommitRequest;
using Stub = WireClient::Stub;

// Of what may be staged, which is as little as can be configured, each reserves one step.
constexpr int kAtOnce = 80;
constexpr int kFit = static_cast<int>(kSnapshotBytes / kStagedStepBytes);
constexpr uint64_t kChunks = kSnapshotBytes / kChunkBytes;
constexpr uint64_t kBetweenLooks = 8;
// Of the server's own memory, whatever is uploaded.
constexpr double kMostMiB = 400;

// A chunk that differs from all others.
std::string Chunk(uint64_t number) {
  std::string chunk(kChunkBytes, static_cast<char>('a' + number % 26));
  const std::string text = std::to_string(number);
  std::ranges::copy(text, chunk.begin());
  return chunk;
}

class Uploads : public ::testing::Test {
 protected:
  // One commit on its way, in a session of its own.
  struct Upload {
    grpc::ClientContext context;
    pb::CommitTurnResponse response;
    std::unique_ptr<grpc::ClientWriter<pb::CommitTurnStreamRequest>> writer;
    std::future<grpc::Status> end;

    // From now on `end` becomes ready when the server ends the stream. Sends nothing, also not that
    // nothing more will come.
    void AwaitEnd() {
      end = std::async(std::launch::async, [this] { return writer->Finish(); });
    }
    [[nodiscard]] bool Ended() const {
      return end.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    }

    bool Send(uint64_t chunk) {
      pb::CommitTurnStreamRequest part;
      if (chunk == 0) part.mutable_message()->set_role("user");
      (chunk == 0 ? *part.mutable_message()->mutable_data() : *part.mutable_chunk()) = Chunk(chunk);
      return writer->Write(part);
    }
  };

  void SetUp() override { Start(); }

  void Start() {
    ASSERT_TRUE(server_.Start()) << server_.Log();
    client_ = std::make_unique<WireClient>(server_.address());
    sessions_ = pb::SessionService::NewStub(Connected(server_.address()));
  }

  // Begins a commit of the largest size in a new session.
  std::unique_ptr<Upload> Begin(const std::string& id) {
    const std::string token =
        client_->Must(&Stub::CreateSession, test::CreateRequest(id)).lease_token();
    client_->Must(&Stub::BeginTurn, test::BeginRequest(id, token));
    auto upload = std::make_unique<Upload>();
    upload->writer = sessions_->CommitTurnStream(&upload->context, &upload->response);
    pb::CommitTurnStreamRequest begin;
    *begin.mutable_commit()->mutable_commit() = CommitRequest(id, token, 1, "");
    begin.mutable_commit()->mutable_commit()->clear_messages();
    begin.mutable_commit()->set_data_bytes(kSnapshotBytes);
    upload->writer->Write(begin);
    return upload;
  }

  // How many uploads have bytes on the disk.
  [[nodiscard]] size_t Staged() const {
    size_t count = 0;
    for (const auto& file : std::filesystem::recursive_directory_iterator(folder_.path())) {
      if (file.path().extension() == ".upload") ++count;
    }
    return count;
  }

  [[nodiscard]] double ServerMiB() const {
    constexpr double kKiBPerMiB = 1024;
    std::ifstream file("/proc/" + std::to_string(server_.pid()) + "/status");
    for (std::string line; std::getline(file, line);) {
      if (line.starts_with("RssAnon:")) {
        return std::stod(line.substr(line.find(':') + 1)) / kKiBPerMiB;
      }
    }
    ADD_FAILURE() << "the server's memory cannot be read";
    return 0;
  }

  TestFolder folder_;
  // Uploads wait for each other without sending.
  ServerProcess server_{folder_, {.more = "limits: {staged_bytes: 256MiB, stream_idle: 1h}\n"}};
  std::unique_ptr<WireClient> client_;
  std::unique_ptr<Stub> sessions_;
};

TEST_F(Uploads, AcceptsWhatFitsAndGivesOthersRetryInfo) {
  std::vector<std::unique_ptr<Upload>> taken;
  int refused = 0;
  for (int i = 0; i < kAtOnce; ++i) {
    auto upload = Begin("upload-" + std::to_string(i));
    // One chunk and no more: each reserves one step, however late its file appears on the disk.
    upload->Send(0);
    upload->AwaitEnd();
    ASSERT_TRUE(WaitUntil([&] { return Staged() > taken.size() || upload->Ended(); }));
    if (!upload->Ended()) {
      taken.push_back(std::move(upload));
      continue;
    }
    const Verdict verdict = VerdictOf(upload->end.get());
    EXPECT_EQ(verdict.reason, "OVERLOADED");
    EXPECT_EQ(verdict.facts.at("field"), "limits.staged_bytes");
    EXPECT_TRUE(verdict.retry_after.has_value());
    ++refused;
  }
  EXPECT_EQ(taken.size(), static_cast<size_t>(kFit));
  EXPECT_EQ(refused, kAtOnce - kFit);
  EXPECT_LT(ServerMiB(), kMostMiB);
  for (const auto& upload : taken) {
    upload->context.TryCancel();
    upload->end.wait();
  }
}

TEST_F(Uploads, TheLargestCommitComesBackAsItWasSent) {
  const auto upload = Begin("large");
  Sha256Stream sum;
  double most = 0;
  for (uint64_t chunk = 0; chunk < kChunks; ++chunk) {
    ASSERT_TRUE(upload->Send(chunk)) << VerdictOf(upload->writer->Finish()).message;
    sum.Add(Chunk(chunk));
    if (chunk % kBetweenLooks == 0) most = std::max(most, ServerMiB());
  }
  pb::CommitTurnStreamRequest end;
  end.mutable_end()->set_data_sha256(std::string(View(sum.Sum())));
  ASSERT_TRUE(upload->writer->Write(end));
  const Verdict verdict = VerdictOf(upload->writer->Finish());
  ASSERT_EQ(verdict.reason, "OK") << verdict.message;
  server_.Kill();
  Start();

  grpc::ClientContext context;
  pb::ReadSessionRequest request;
  request.set_session_id("large");
  const auto stream = sessions_->ReadSession(&context, request);
  Sha256Stream read;
  uint64_t bytes = 0;
  pb::ReadSessionResponse response;
  while (stream->Read(&response)) {
    for (const auto& piece : response.pieces()) {
      if (!piece.has_message()) continue;
      EXPECT_EQ(piece.chunk_offset(), bytes);
      read.Add(piece.message().data());
      bytes += piece.message().data().size();
    }
    if (bytes % (kBetweenLooks * kChunkBytes) == 0) most = std::max(most, ServerMiB());
  }
  const Verdict ended = VerdictOf(stream->Finish());
  EXPECT_EQ(ended.reason, "OK") << ended.message;
  EXPECT_EQ(bytes, kSnapshotBytes);
  EXPECT_EQ(View(read.Sum()), View(sum.Sum()));
  EXPECT_LT(most, kMostMiB);
}

}  // namespace
}  // namespace holdfast::testing

// Streams whose client sends nothing or reads nothing, or whose task throws: how each ends, and
// that everything it held is given back (which Served looks at after every test).
#include "session/limits.h"
#include "tests/rpc/served.h"
#include "tests/support/details.h"
#include "tests/support/streamed_commit.h"
#include "tests/support/wait.h"

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

using testing::WaitUntil;

class SilentStreamsRpc : public Served {
 protected:
  using JournalStream =
      grpc::ClientReaderWriter<pb::AppendJournalStreamRequest, pb::AppendJournalStreamResponse>;

  static std::string Fact(const grpc::Status& status, const std::string& name) {
    const auto facts = ErrorInfoOf(DetailsOf(status)).metadata();
    return facts.contains(name) ? facts.at(name) : "";
  }

  // A session with a turn; its lease token.
  std::string BeginIn(const std::string& id) {
    const std::string token = Create(id).lease_token();
    Begin(id, token);
    return token;
  }

  // A stream with one entry that is acknowledged.
  std::unique_ptr<JournalStream> Journal(grpc::ClientContext& context, const std::string& id,
                                         const std::string& token) {
    auto stream = sessions().AppendJournalStream(&context);
    pb::AppendJournalStreamRequest first;
    first.set_session_id(id);
    first.set_lease_token(token);
    *first.mutable_entries() = AppendRequest(id, token, 1, 1).entries();
    EXPECT_TRUE(stream->Write(first));
    pb::AppendJournalStreamResponse response;
    EXPECT_TRUE(stream->Read(&response));
    return stream;
  }

  // A session whose read is more than the transport buffers.
  void FillLarge(const std::string& id) {
    const std::string token = Create(id).lease_token();
    for (uint64_t turn = 1; turn <= 8; ++turn) {
      Begin(id, token);
      Commit(id, token, turn, std::string(3 * kMiB, 'x'));
    }
  }

  // A commit of turn 1 whose bytes are `size`, in parts.
  static std::vector<pb::CommitTurnStreamRequest> Parts(const std::string& id,
                                                        const std::string& token, size_t size) {
    return PartsOf(CommitRequest(id, token, 1, std::string(size, 'x')));
  }

  bool Logged(const std::string& part) {
    for (const std::string& line : LogLines()) {
      if (line.find(part) != std::string::npos) return true;
    }
    return false;
  }
};

TEST_F(SilentStreamsRpc, AnIdleStreamHoldsLittleMemory) {
  const std::string token = BeginIn("one");
  grpc::ClientContext journal;
  const auto entries = Journal(journal, "one", token);
  ASSERT_TRUE(WaitUntil([&] { return Held().memory_bytes == kIdleStreamBytes; }))
      << Held().memory_bytes;
  grpc::ClientContext commit;
  pb::CommitTurnResponse response;
  const auto upload = sessions().CommitTurnStream(&commit, &response);
  EXPECT_TRUE(WaitUntil([&] { return Held().memory_bytes == 2 * kIdleStreamBytes; }))
      << Held().memory_bytes;
  journal.TryCancel();
  commit.TryCancel();
  (void)entries->Finish();
  (void)upload->Finish();
}

TEST_F(SilentStreamsRpc, AnUploadThatPausesHoldsLittleMemoryAndGoesOn) {
  // The clock is advanced until the pause is seen, and never so far that the stream is idle.
  config().limits.stream_idle = absl::Hours(10'000);
  const std::string token = BeginIn("one");
  const auto parts = Parts("one", token, kChunkBytes / 2);  // its beginning, its message, its end
  grpc::ClientContext context;
  pb::CommitTurnResponse response;
  const auto stream = sessions().CommitTurnStream(&context, &response);
  ASSERT_TRUE(stream->Write(parts.at(0)) && stream->Write(parts.at(1)));
  ASSERT_TRUE(WaitUntil([&] { return Held().memory_bytes >= kChunkBytes / 2; }));
  EXPECT_TRUE(WaitUntil([&] {
    clock().Advance(kStreamBeat);
    return Held().memory_bytes <= 2 * kIdleStreamBytes;
  })) << Held().memory_bytes;
  ASSERT_TRUE(stream->Write(parts.at(2)));
  stream->WritesDone();
  const grpc::Status ended = stream->Finish();
  EXPECT_TRUE(ended.ok()) << ended.error_message();
}

TEST_F(SilentStreamsRpc, KeepsAcknowledgedEntriesWhenSilentJournalEnds) {
  // An acknowledgement may have been read before its writer knows that it was taken.
  config().limits.stream_write_timeout = absl::Hours(1);
  const std::string token = BeginIn("one");
  grpc::ClientContext context;
  const auto stream = Journal(context, "one", token);
  clock().Advance(kStreamIdleDefault);
  ASSERT_TRUE(WaitUntil([&] { return Logged("\"reason\":\"DEADLINE\""); }));
  pb::AppendJournalStreamResponse response;
  EXPECT_FALSE(stream->Read(&response));
  const grpc::Status ended = stream->Finish();
  EXPECT_EQ(ReasonOf(ended), "DEADLINE");
  EXPECT_EQ(Fact(ended, "field"), "limits.stream_idle");
  EXPECT_EQ(Fact(ended, "outcome"), "known");
  EXPECT_EQ(script().Commits(), 3) << "creation, turn and entry";
}

TEST_F(SilentStreamsRpc, AnUploadOnWhichNothingComesIsDropped) {
  // The clock may also be advanced between the end of the stream and its being read.
  config().limits.stream_write_timeout = absl::Hours(10'000);
  const std::string token = BeginIn("one");
  const auto parts = Parts("one", token, 3 * kMiB);
  grpc::ClientContext context;
  pb::CommitTurnResponse response;
  const auto stream = sessions().CommitTurnStream(&context, &response);
  ASSERT_TRUE(stream->Write(parts[0]));
  ASSERT_TRUE(stream->Write(parts[1]));
  ASSERT_TRUE(WaitUntil([&] { return Held().staged_bytes > 0; }));
  // The piece may still be on its way to the store.
  EXPECT_TRUE(WaitUntil([&] {
    clock().Advance(kStreamIdleDefault);
    return Logged("\"reason\":\"DEADLINE\"");
  }));
  const grpc::Status ended = stream->Finish();
  EXPECT_EQ(ReasonOf(ended), "DEADLINE");
  EXPECT_EQ(Fact(ended, "field"), "limits.stream_idle");
  EXPECT_EQ(script().Drops(), 1);
  EXPECT_EQ(Get("one").message_count(), 0U);
}

// A stream is idle while its client says nothing, however slow the store is.
TEST_F(SilentStreamsRpc, AStreamThatWaitsForTheStoreIsNotIdle) {
  // An acknowledgement may have been read before its writer knows that it was taken.
  config().limits.stream_write_timeout = absl::Hours(1);
  const std::string token = BeginIn("one");
  grpc::ClientContext context;
  const auto stream = Journal(context, "one", token);
  script().Hold();
  pb::AppendJournalStreamRequest second;
  *second.mutable_entries() = AppendRequest("", "", 1, 2).entries();
  ASSERT_TRUE(stream->Write(second));
  script().AwaitWaiting(1);
  clock().Advance(kStreamIdleDefault);
  // A beat has passed when another silent stream has ended.
  grpc::ClientContext other;
  const auto silent = sessions().AppendJournalStream(&other);
  ASSERT_TRUE(WaitUntil([&] { return Held().streams == 2; }));
  clock().Advance(kStreamIdleDefault);
  pb::AppendJournalStreamResponse response;
  EXPECT_FALSE(silent->Read(&response));
  EXPECT_EQ(ReasonOf(silent->Finish()), "DEADLINE");
  script().Release();
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_EQ(response.last_entry(), 2U);
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(SilentStreamsRpc, AReaderThatStallsIsEndedAndItsMemoryIsBack) {
  FillLarge("large");
  grpc::ClientContext context;
  pb::ReadSessionRequest request;
  request.set_session_id("large");
  const auto reader = sessions().ReadSession(&context, request);
  pb::ReadSessionResponse response;
  ASSERT_TRUE(reader->Read(&response));
  // What it holds while nothing is read of it. A page that is being read takes more for a moment.
  size_t held = 0;
  int looks = 0;
  ASSERT_TRUE(WaitUntil([&] {
    const size_t before = std::exchange(held, Held().memory_bytes);
    looks = held > kMiB && held == before ? looks + 1 : 0;
    return looks == 50;
  }));
  EXPECT_LE(held, 4 * kPageBytes + kIdleStreamBytes);
  EXPECT_TRUE(WaitUntil([&] {
    clock().Advance(kStreamWriteTimeoutDefault / 4);
    return Logged("\"reason\":\"DEADLINE\"");
  }));
  EXPECT_TRUE(WaitUntil([&] {
    clock().Advance(kStreamWriteTimeoutDefault / 4);
    return Held() == ResourceUse();
  }));
  while (reader->Read(&response)) {
  }
  const grpc::Status ended = reader->Finish();
  EXPECT_FALSE(ended.ok());
}

// It reads its end where it reads again before it is cut off.
TEST_F(SilentStreamsRpc, AReaderThatReadsAgainSeesWhyItWasEnded) {
  FillLarge("large");
  grpc::ClientContext context;
  pb::ReadSessionRequest request;
  request.set_session_id("large");
  const auto reader = sessions().ReadSession(&context, request);
  pb::ReadSessionResponse response;
  ASSERT_TRUE(reader->Read(&response));
  EXPECT_TRUE(WaitUntil([&] {
    clock().Advance(kStreamWriteTimeoutDefault / 100);
    return Logged("\"reason\":\"DEADLINE\"");
  }));
  while (reader->Read(&response)) {
  }
  const grpc::Status ended = reader->Finish();
  EXPECT_EQ(ReasonOf(ended), "DEADLINE");
  EXPECT_EQ(Fact(ended, "field"), "limits.stream_write_timeout");
  EXPECT_EQ(Fact(ended, "outcome"), "known");
}

TEST_F(SilentStreamsRpc, ATaskThatThrowsEndsItsStreamAlone) {
  const std::string token = BeginIn("one");
  grpc::ClientContext journal;
  const auto entries = Journal(journal, "one", token);
  script().Throw(true);
  pb::AppendJournalStreamRequest second;
  *second.mutable_entries() = AppendRequest("", "", 1, 2).entries();
  ASSERT_TRUE(entries->Write(second));
  pb::AppendJournalStreamResponse response;
  EXPECT_FALSE(entries->Read(&response));
  EXPECT_EQ(ReasonOf(entries->Finish()), "INTERNAL");

  pb::CommitTurnResponse committed;
  EXPECT_EQ(ReasonOf(Stream(sessions(), Parts("one", token, 2 * kMiB), &committed)), "INTERNAL");

  grpc::ClientContext context;
  pb::ReadSessionRequest request;
  request.set_session_id("one");
  const auto reader = sessions().ReadSession(&context, request);
  pb::ReadSessionResponse piece;
  while (reader->Read(&piece)) {
  }
  EXPECT_EQ(ReasonOf(reader->Finish()), "INTERNAL");

  grpc::ClientContext watched;
  pb::WatchSessionRequest watch;
  watch.set_session_id("one");
  const auto watcher = sessions().WatchSession(&watched, watch);
  pb::WatchSessionResponse event;
  while (watcher->Read(&event)) {
  }
  EXPECT_EQ(ReasonOf(watcher->Finish()), "INTERNAL");
  script().Throw(false);
  Commit("one", token, 1, "done");
}

// Where no worker is free to drop an upload it is dropped later, and its share is held until then.
TEST_F(SilentStreamsRpc, AnUploadIsDroppedOnAWorkerOnceThereIsOne) {
  config().server.workers = 1;
  config().limits.queued_calls = 1;
  const std::string token = BeginIn("one");
  const auto parts = Parts("one", token, 3 * kMiB);
  grpc::ClientContext context;
  pb::CommitTurnResponse response;
  const auto stream = sessions().CommitTurnStream(&context, &response);
  ASSERT_TRUE(stream->Write(parts[0]));
  ASSERT_TRUE(stream->Write(parts[1]));
  ASSERT_TRUE(WaitUntil([&] { return Held().staged_bytes > 0; }));
  Get("one");  // the only worker is done with the piece
  // One call holds the worker; of two more one fills the queue and the other one is refused.
  script().Hold();
  std::vector<std::thread> callers;
  pb::ListMessagesRequest read;
  read.set_session_id("one");
  const auto call = [&] { (void)Ask(&pb::SessionService::Stub::ListMessages, read); };
  callers.emplace_back(call);
  script().AwaitWaiting(1);
  callers.emplace_back(call);
  callers.emplace_back(call);
  AwaitLog("OVERLOADED");
  ASSERT_TRUE(stream->Write(parts[2]));
  const grpc::Status ended = stream->Finish();
  EXPECT_EQ(ReasonOf(ended), "OVERLOADED");
  EXPECT_EQ(script().Drops(), 0);
  EXPECT_GT(Held().staged_bytes, 0U);
  script().Release();
  for (std::thread& caller : callers) caller.join();
  EXPECT_TRUE(WaitUntil([&] { return script().Drops() == 1; }));
}

}  // namespace
}  // namespace holdfast::test

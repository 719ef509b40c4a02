// AppendJournalStream over the wire: acknowledgements by number, broken streams, refusals, drain.
#include "server/rpc/call/commit_batcher.h"
#include "session/refusal.h"
#include "tests/rpc/served.h"
#include "tests/support/details.h"

#include "absl/strings/str_cat.h"

#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::test {
namespace {

class AppendJournalStreamRpc : public Served {
 protected:
  using Stream =
      grpc::ClientReaderWriter<pb::AppendJournalStreamRequest, pb::AppendJournalStreamResponse>;

  // A stream with the context it lives in.
  struct Open {
    grpc::ClientContext context;
    std::unique_ptr<Stream> stream;

    bool Send(int64_t turn, int64_t number) {
      pb::AppendJournalStreamRequest request;
      *request.mutable_entries() = AppendRequest("", "", turn, number).entries();
      return stream->Write(request);
    }
    // The number that was acknowledged last once `number` of `turn` is; 0 if it never was.
    int64_t Await(int64_t turn, int64_t number) {
      pb::AppendJournalStreamResponse response;
      while (stream->Read(&response)) {
        if (response.turn() == turn && response.last_entry() >= number) {
          return response.last_entry();
        }
      }
      return 0;
    }
    grpc::Status End() {
      stream->WritesDone();
      pb::AppendJournalStreamResponse response;
      while (stream->Read(&response)) {
      }
      return stream->Finish();
    }
  };

  // A stream whose first request names session and lease, with entry `number` of `turn`.
  std::unique_ptr<Open> Start(const std::string& id, const std::string& token, uint64_t turn,
                              uint64_t number) {
    auto open = std::make_unique<Open>();
    open->stream = sessions().AppendJournalStream(&open->context);
    pb::AppendJournalStreamRequest first;
    first.set_session_id(id);
    first.set_lease_token(token);
    *first.mutable_entries() = AppendRequest(id, token, turn, number).entries();
    EXPECT_TRUE(open->stream->Write(first));
    return open;
  }

  std::vector<uint64_t> Journal(const std::string& id) {
    pb::ListJournalEntriesRequest request;
    request.set_session_id(id);
    request.set_page_size(1000);
    pb::ListJournalEntriesResponse response;
    EXPECT_TRUE(Ask(&pb::SessionService::Stub::ListJournalEntries, request, &response).ok());
    std::vector<uint64_t> numbers;
    for (const auto& entry : response.entries()) numbers.push_back(entry.number());
    return numbers;
  }

  void ExpectAGapEndsTheStream() {
    const std::string token = Create("one").lease_token();
    Begin("one", token);
    const auto open = Start("one", token, 1, 1);
    EXPECT_EQ(open->Await(1, 1), 1U);
    ASSERT_TRUE(open->Send(1, 3));
    EXPECT_EQ(open->Await(1, 3), 0U);
    const grpc::Status gap = open->End();
    EXPECT_EQ(ReasonOf(gap), "INVALID_FIELD");
    EXPECT_EQ(ErrorInfoOf(DetailsOf(gap)).metadata().at("expected"), "2");
    EXPECT_EQ(Journal("one").size(), 1U);
  }
};

TEST_F(AppendJournalStreamRpc, EveryEntryIsAcknowledgedAndThere) {
  const std::string token = Create("one").lease_token();
  Begin("one", token);
  const auto open = Start("one", token, 1, 1);
  for (uint64_t number = 2; number <= 500; ++number) ASSERT_TRUE(open->Send(1, number));
  EXPECT_EQ(open->Await(1, 500), 500);
  EXPECT_TRUE(open->End().ok());
  const std::vector<uint64_t> journal = Journal("one");
  ASSERT_EQ(journal.size(), 500U);
  for (uint64_t i = 0; i < 500; ++i) EXPECT_EQ(journal[i], i + 1);
}

TEST_F(AppendJournalStreamRpc, AnAcknowledgementWaitsForNoFurtherEntry) {
  const std::string token = Create("one").lease_token();
  Begin("one", token);
  const auto open = Start("one", token, 1, 1);
  for (uint64_t number = 1; number <= 3; ++number) {
    EXPECT_EQ(open->Await(1, number), number);
    ASSERT_TRUE(open->Send(1, number + 1));
  }
  EXPECT_TRUE(open->End().ok());
  EXPECT_EQ(Journal("one").size(), 4U);
}

TEST_F(AppendJournalStreamRpc, EntriesAreSentAgainAfterABrokenStream) {
  const std::string token = Create("one").lease_token();
  Begin("one", token);
  const auto broken = Start("one", token, 1, 1);
  for (uint64_t number = 2; number <= 20; ++number) ASSERT_TRUE(broken->Send(1, number));
  EXPECT_GE(broken->Await(1, 5), 5U);
  broken->context.TryCancel();
  const auto again = Start("one", token, 1, 1);
  for (uint64_t number = 2; number <= 30; ++number) ASSERT_TRUE(again->Send(1, number));
  EXPECT_EQ(again->Await(1, 30), 30U);
  EXPECT_TRUE(again->End().ok());
  EXPECT_EQ(Journal("one").size(), 30U);
}

TEST_F(AppendJournalStreamRpc, AStreamGoesOnWithTheNextTurn) {
  const std::string token = Create("one").lease_token();
  Begin("one", token);
  const auto open = Start("one", token, 1, 1);
  EXPECT_EQ(open->Await(1, 1), 1U);
  Commit("one", token, 1, "done");
  Begin("one", token);
  ASSERT_TRUE(open->Send(2, 1));
  EXPECT_EQ(open->Await(2, 1), 1U);
  EXPECT_TRUE(open->End().ok());
}

TEST_F(AppendJournalStreamRpc, KeepsAcknowledgedEntriesWhenRefusalEndsStream) {
  ExpectAGapEndsTheStream();
}

TEST_F(AppendJournalStreamRpc, FencesHolderAfterTakeover) {
  const std::string token = Create("one").lease_token();
  Begin("one", token);
  const auto open = Start("one", token, 1, 1);
  EXPECT_EQ(open->Await(1, 1), 1U);
  ASSERT_TRUE(Ask(&pb::SessionService::Stub::ResumeSession, ForceRequest("one")).ok());
  open->Send(1, 2);
  EXPECT_EQ(ReasonOf(open->End()), "FENCED");
}

// Entries without a byte are two bytes each on the wire, and a hundred in memory.
TEST_F(AppendJournalStreamRpc, ARequestThatGrowsInMemoryIsNotTakenIn) {
  const std::string token = Create("one").lease_token();
  Begin("one", token);
  const auto open = Start("one", token, 1, 1);
  EXPECT_EQ(open->Await(1, 1), 1U);
  pb::AppendJournalStreamRequest request;
  for (int i = 0; i < 500'000; ++i) request.add_entries();
  open->stream->Write(request);
  const grpc::Status refused = open->End();
  EXPECT_EQ(ReasonOf(refused), "TOO_LARGE") << refused.error_message();
  EXPECT_EQ(ErrorInfoOf(DetailsOf(refused)).metadata().at("field"), "entries");
  EXPECT_EQ(Journal("one"), std::vector<uint64_t>({1}));
}

TEST_F(AppendJournalStreamRpc, TheFirstRequestAloneNamesTheSession) {
  const std::string token = Create("one").lease_token();
  const auto open = Start("one", token, 0, 1);
  EXPECT_EQ(open->Await(0, 1), 1U);
  pb::AppendJournalStreamRequest second;
  second.set_session_id("other");
  *second.mutable_entries() = AppendRequest("", "", 0, 2).entries();
  open->stream->Write(second);
  const grpc::Status refused = open->End();
  EXPECT_EQ(ReasonOf(refused), "INVALID_FIELD");
  EXPECT_EQ(ErrorInfoOf(DetailsOf(refused)).metadata().at("field"), "session_id");
}

TEST_F(AppendJournalStreamRpc, ADrainEndsAnIdleStreamAtOnce) {
  const std::string token = Create("one").lease_token();
  const auto open = Start("one", token, 0, 1);
  EXPECT_EQ(open->Await(0, 1), 1U);
  EXPECT_EQ(Stop(), 0);
  const grpc::Status ended = open->End();
  EXPECT_EQ(ReasonOf(ended), "STORE_UNAVAILABLE");
  EXPECT_EQ(ErrorInfoOf(DetailsOf(ended)).metadata().at("outcome"), "known");
}

TEST_F(AppendJournalStreamRpc, AnIdleStreamHoldsNoWorker) {
  config().server.workers = 1;
  const std::string token = Create("one").lease_token();
  std::vector<std::unique_ptr<Open>> open;
  for (uint64_t stream = 1; stream <= 20; ++stream) {
    open.push_back(Start("one", token, 0, stream));
    EXPECT_EQ(open.back()->Await(0, stream), stream);
  }
  EXPECT_EQ(Get("one").session_id(), "one");
  for (const auto& each : open) EXPECT_TRUE(each->End().ok());
}

// --- Appends that are committed together with other changes -------------------------------------

class BatchedJournalStreamRpc : public AppendJournalStreamRpc {
 protected:
  BatchedJournalStreamRpc() { script().OfferGroups(); }
};

TEST_F(BatchedJournalStreamRpc, ManyStreamsAtOnceLoseNothing) {
  constexpr int kStreams = 8;
  static constexpr uint64_t kEntries = 100;
  std::vector<std::string> tokens;
  for (int i = 0; i < kStreams; ++i) {
    const std::string id = absl::StrCat("s", i);
    tokens.push_back(Create(id).lease_token());
    Begin(id, tokens.back());
  }
  std::vector<std::jthread> clients;
  for (int i = 0; i < kStreams; ++i) {
    clients.emplace_back([this, id = absl::StrCat("s", i), token = tokens[i]] {
      const auto open = Start(id, token, 1, 1);
      for (uint64_t number = 2; number <= kEntries; ++number) ASSERT_TRUE(open->Send(1, number));
      EXPECT_EQ(open->Await(1, kEntries), kEntries);
      EXPECT_TRUE(open->End().ok());
    });
  }
  clients.clear();
  std::vector<uint64_t> all(kEntries);
  std::iota(all.begin(), all.end(), 1);
  for (int i = 0; i < kStreams; ++i) EXPECT_EQ(Journal(absl::StrCat("s", i)), all);
}

TEST_F(BatchedJournalStreamRpc, ASmallAppendGoesWithOthersAndALargeOneAlone) {
  const std::string token = Create("one").lease_token();
  Begin("one", token);
  const int before = script().Groups();
  const auto open = Start("one", token, 1, 1);
  EXPECT_EQ(open->Await(1, 1), 1U);
  EXPECT_EQ(script().Groups(), before + 1);
  pb::AppendJournalStreamRequest large;
  *large.mutable_entries() = AppendRequest("", "", 1, 2).entries();
  large.mutable_entries(0)->set_data(std::string(kBatchedRequestBytes + 1, 'x'));
  ASSERT_TRUE(open->stream->Write(large));
  EXPECT_EQ(open->Await(1, 2), 2U);
  EXPECT_EQ(script().Groups(), before + 1);
  EXPECT_TRUE(open->End().ok());
}

TEST_F(BatchedJournalStreamRpc, AnAppendWhoseAnswerIsLostActsOnce) {
  const std::string token = Create("one").lease_token();
  Begin("one", token);
  script().LoseGroups();
  const auto open = Start("one", token, 1, 1);
  EXPECT_EQ(open->Await(1, 1), 1U);
  ASSERT_TRUE(open->Send(1, 2));
  EXPECT_EQ(open->Await(1, 2), 2U);
  EXPECT_TRUE(open->End().ok());
  EXPECT_EQ(Journal("one"), std::vector<uint64_t>({1, 2}));
}

// The second try fails, and says of itself that it did nothing.
TEST_F(BatchedJournalStreamRpc, LeavesWhatMayHaveActedInDoubt) {
  const std::string token = Create("one").lease_token();
  Begin("one", token);
  script().LoseGroups();
  script().Fail(StoreUnavailable("the database is away", Fate::kNoEffect));
  const auto open = Start("one", token, 1, 1);
  const grpc::Status refused = open->End();
  script().Fail(absl::OkStatus());
  EXPECT_EQ(ReasonOf(refused), "STORE_UNAVAILABLE");
  EXPECT_EQ(ErrorInfoOf(DetailsOf(refused)).metadata().at("outcome"), "unknown");
  const auto again = Start("one", token, 1, 1);
  EXPECT_EQ(again->Await(1, 1), 1U);
  EXPECT_TRUE(again->End().ok());
  EXPECT_EQ(Journal("one"), std::vector<uint64_t>({1}));
}

TEST_F(BatchedJournalStreamRpc, KeepsAcknowledgedEntriesWhenRefusalEndsStream) {
  ExpectAGapEndsTheStream();
}

TEST_F(BatchedJournalStreamRpc, AnAppendUnderWayIsAcknowledgedBeforeTheServerEnds) {
  const std::string token = Create("one").lease_token();
  Begin("one", token);
  script().Hold();
  const auto open = Start("one", token, 1, 1);
  script().AwaitWaiting(1);
  std::thread stops([this] { EXPECT_EQ(Stop(), 0); });
  script().Release();
  EXPECT_EQ(open->Await(1, 1), 1U);
  open->End();
  stops.join();
}

}  // namespace
}  // namespace holdfast::test

// Writers of items over real servers: at once, over kills, and random sequences against a map.
#include "holdfast/v1/item_service.grpc.pb.h"
#include "tests/support/channel.h"
#include "tests/support/each_store.h"
#include "tests/support/requests.h"
#include "tests/support/wait.h"
#include "tests/support/wire_client.h"

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::testing {
namespace {

using Stub = WireClient::Stub;

constexpr char kSession[] = "shared";

struct PutAnswer {
  Verdict verdict;
  pb::PutItemsResponse reply;
};

// One process that writes and reads items.
class ItemClient final {
 public:
  explicit ItemClient(const std::string& address)
      : items_(pb::ItemService::NewStub(Connected(address))) {}

  PutAnswer Put(const pb::PutItemsRequest& request) {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + WireClient::kPatience));
    PutAnswer answer;
    answer.verdict = VerdictOf(items_->PutItems(&context, request, &answer.reply));
    return answer;
  }
  // The same request again until it is answered: the server may be gone meanwhile.
  PutAnswer PutWithPatience(const pb::PutItemsRequest& request) {
    PutAnswer answer;
    WaitUntil([&] {
      answer = Put(request);
      const std::string& reason = answer.verdict.reason;
      const bool gone = reason == absl::StrCat("code ", grpc::StatusCode::UNAVAILABLE);
      return !gone && reason != "STORE_UNAVAILABLE";
    });
    return answer;
  }

  // Every item of a collection, page by page.
  std::map<std::string, std::string> Read(const std::string& collection, int page_size = 1000) {
    std::map<std::string, std::string> read;
    pb::ReadItemsRequest request;
    request.set_session_id(kSession);
    request.set_collection(collection);
    request.set_page_size(page_size);
    do {
      grpc::ClientContext context;
      const auto reader = items_->ReadItems(&context, request);
      request.clear_page_token();
      for (pb::ReadItemsResponse response; reader->Read(&response);) {
        for (const pb::ItemPiece& piece : response.pieces()) {
          EXPECT_FALSE(piece.damaged());
          read[piece.item().key()] += piece.item().data();
        }
        request.set_page_token(response.next_page_token());
      }
      EXPECT_EQ(VerdictOf(reader->Finish()).reason, "OK");
    } while (!request.page_token().empty());
    return read;
  }

 private:
  std::unique_ptr<pb::ItemService::Stub> items_;
};

pb::PutItemsRequest NewRequest() {
  pb::PutItemsRequest request;
  request.set_request_id(test::NewRequestId());
  request.set_session_id(kSession);
  return request;
}

pb::ItemPut& AddPut(pb::PutItemsRequest& request, const std::string& collection,
                    const std::string& key, const std::string& data) {
  pb::ItemPut& put = *request.add_puts();
  put.mutable_item()->set_collection(collection);
  put.mutable_item()->set_key(key);
  put.mutable_item()->set_data(data);
  return put;
}

class ItemWriters : public ::testing::TestWithParam<StoreKind> {
 protected:
  void SetUp() override {
    ASSERT_TRUE(server_.Start()) << server_.Log();
    WireClient client(server_.address());
    pb::CreateSessionRequest create = test::CreateRequest(kSession);
    create.clear_holder();
    create.set_kind(pb::SESSION_KIND_OPEN);
    client.Must(&Stub::CreateSession, create);
  }

  // Lets `writers` append `items` items each under one prefix, all at once. None is refused, unless
  // the server is killed meanwhile.
  void Append(int writers, int items, int kills = 0) {
    std::atomic<int> acknowledged = 0;
    std::vector<std::thread> threads;
    for (int writer = 0; writer < writers; ++writer) {
      threads.emplace_back([&, writer] {
        ItemClient own(server_.address());
        for (int number = 0; number < items; ++number) {
          pb::PutItemsRequest request = NewRequest();
          const std::string text = absl::StrCat(writer, "/", number);
          AddPut(request, "log", "", text);
          AddPut(request, "named", absl::StrCat("writes/", text), text)
              .set_condition(pb::PUT_CONDITION_IF_VERSION);
          const PutAnswer answer = kills > 0 ? own.PutWithPatience(request) : own.Put(request);
          EXPECT_EQ(answer.verdict.reason, "OK") << answer.verdict.message;
          ++acknowledged;
        }
      });
    }
    for (int kill = 0; kill < kills; ++kill) KillAfter(acknowledged, acknowledged + items / 2);
    for (std::thread& thread : threads) thread.join();
    std::vector<std::string> expected;
    for (int writer = 0; writer < writers; ++writer) {
      for (int number = 0; number < items; ++number) {
        expected.push_back(absl::StrCat(writer, "/", number));
      }
    }
    ItemClient client(server_.address());
    for (const char* const collection : {"log", "named"}) {
      std::vector<std::string> data;
      for (const auto& [key, value] : client.Read(collection)) data.push_back(value);
      EXPECT_THAT(data, ::testing::UnorderedElementsAreArray(expected)) << collection;
    }
  }

  // Lets two writers put on the same version, again and again: one of them each time.
  void Race(int rounds) {
    std::array<ItemClient, 2> writers = {ItemClient(server_.address()),
                                         ItemClient(server_.address())};
    int64_t version = 0;
    for (int round = 0; round < rounds; ++round) {
      const auto request_of = [&](const std::string& data) {
        pb::PutItemsRequest request = NewRequest();
        pb::ItemPut& put = AddPut(request, "state", "one", data);
        put.set_condition(pb::PUT_CONDITION_IF_VERSION);
        put.set_expected_version(version);
        return request;
      };
      std::array<PutAnswer, 2> answers;
      {
        std::jthread other([&] { answers[1] = writers[1].Put(request_of("b")); });
        answers[0] = writers[0].Put(request_of("a"));
      }
      const size_t won = answers[0].verdict.reason == "OK" ? 0 : 1;
      const Verdict& lost = answers[1 - won].verdict;
      ASSERT_EQ(answers[won].verdict.reason, "OK");
      ASSERT_EQ(lost.reason, "STALE_REVISION");
      EXPECT_EQ(lost.facts.at("expected"), std::to_string(version));
      version = answers[won].reply.results(0).version();
      EXPECT_EQ(lost.facts.at("actual"), std::to_string(version));
    }
  }

  // Random puts and deletes, with a kill now and then, leave what they leave in a map.
  void CompareWithMap(int sequences, int steps) {
    for (int sequence = 0; sequence < sequences; ++sequence) {
      const auto seed = static_cast<uint32_t>(sequence + 1);
      const std::string collection = absl::StrCat("c", sequence);
      std::mt19937 random(seed);
      std::map<std::string, std::string> model;
      for (int step = 0; step < steps; ++step) Step(collection, random, model);
      if (sequence % 10 == 3) Kill();
      ItemClient client(server_.address());
      ASSERT_EQ(client.Read(collection, 7), model) << "the sequence with the seed " << seed;
    }
  }

 private:
  static std::string KeyOf(std::mt19937& random) { return absl::StrCat("k/", random() % 24); }

  void Step(const std::string& collection, std::mt19937& random,
            std::map<std::string, std::string>& model) {
    pb::PutItemsRequest request = NewRequest();
    if (random() % 3 == 0) {
      pb::ItemDelete& wanted = *request.add_deletes();
      wanted.set_collection(collection);
      const std::string key = KeyOf(random);
      if (random() % 4 == 0) {
        wanted.set_key_prefix(key);
        std::erase_if(model, [&](const auto& item) { return item.first.starts_with(key); });
      } else {
        wanted.set_key(key);
        model.erase(key);
      }
    }
    for (auto left = 1 + random() % 3; left > 0; --left) {
      const std::string key = KeyOf(random);
      const std::string data(random() % 2000, static_cast<char>('a' + random() % 26));
      bool twice = false;
      for (const pb::ItemPut& put : request.puts()) twice = twice || put.item().key() == key;
      if (twice) continue;
      pb::ItemPut& put = AddPut(request, collection, key, data);
      if (random() % 3 == 0) {
        put.set_condition(pb::PUT_CONDITION_IF_ABSENT);
        model.emplace(key, data);
      } else {
        model[key] = data;
      }
    }
    ItemClient client(server_.address());
    const PutAnswer answer = client.Put(request);
    ASSERT_EQ(answer.verdict.reason, "OK") << answer.verdict.message;
  }

  void Kill() {
    server_.Kill();
    ASSERT_TRUE(server_.Start()) << server_.Log();
  }
  void KillAfter(const std::atomic<int>& acknowledged, int count) {
    EXPECT_TRUE(WaitUntil([&] { return acknowledged >= count; }));
    Kill();
  }

  const TestFolder folder_;
  StoreUnderServer store_{GetParam()};
  ServerProcess server_{folder_, store_.Settings()};
};

TEST_P(ItemWriters, EightWritersAppendEachItemOnce) { Append(8, 100); }

TEST_P(ItemWriters, AppendedItemsSurviveKillsEachOnce) { Append(4, 100, 3); }

TEST_P(ItemWriters, OneOfTwoWritersOnAVersionWins) { Race(300); }

TEST_P(ItemWriters, RandomSequencesEqualAMap) { CompareWithMap(40, 12); }

class LongItemWriters : public ItemWriters {};

TEST_P(LongItemWriters, EightWritersAppendEachItemOnce) { Append(8, 1000); }

TEST_P(LongItemWriters, OneOfTwoWritersOnAVersionWins) { Race(10'000); }

TEST_P(LongItemWriters, RandomSequencesEqualAMap) { CompareWithMap(1000, 40); }

INSTANTIATE_TEST_SUITE_P(Stores, ItemWriters, EachStore(), NameOfStore);
INSTANTIATE_TEST_SUITE_P(Stores, LongItemWriters, EachStore(), NameOfStore);

}  // namespace
}  // namespace holdfast::testing

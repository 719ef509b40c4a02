// Several writers of one open session, each with a connection of its own, over the wire.
#include "holdfast/v1/store_service.grpc.pb.h"
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
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::testing {
namespace {

using Stub = WireClient::Stub;

constexpr char kOpenSession[] = "shared";
constexpr char kSlot[] = "state";

// One process that writes to the session.
class Writer final {
 public:
  explicit Writer(const std::string& address)
      : store_(pb::StoreService::NewStub(Connected(address))) {}

  Verdict Write(const pb::WriteSnapshotRequest& request) {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + WireClient::kPatience));
    pb::WriteSnapshotResponse reply;
    return VerdictOf(store_->WriteSnapshot(&context, request, &reply));
  }
  // The same request again until it is answered: the server may be gone meanwhile.
  Verdict WriteWithPatience(const pb::WriteSnapshotRequest& request) {
    Verdict verdict;
    WaitUntil([&] {
      verdict = Write(request);
      const bool gone = verdict.reason == absl::StrCat("code ", grpc::StatusCode::UNAVAILABLE);
      return !gone && verdict.reason != "STORE_UNAVAILABLE";
    });
    return verdict;
  }

 private:
  std::unique_ptr<pb::StoreService::Stub> store_;
};

pb::WriteSnapshotRequest Appending(const std::string& text) {
  pb::WriteSnapshotRequest request;
  request.set_request_id(test::NewRequestId());
  request.set_session_id(kOpenSession);
  pb::Message& message = *request.add_messages();
  message.set_role("user");
  message.set_content_type("text/plain");
  message.set_data(text);
  return request;
}

pb::WriteSnapshotRequest SlotWrite(const std::string& value, int64_t expected_revision) {
  pb::WriteSnapshotRequest request;
  request.set_request_id(test::NewRequestId());
  request.set_session_id(kOpenSession);
  request.set_expected_revision(expected_revision);
  pb::Slot& slot = *request.add_slots();
  slot.set_owner(kSlot);
  slot.set_version("1.0.0");
  slot.set_drift_policy(pb::DRIFT_POLICY_WARN);
  slot.set_data(value);
  return request;
}

class OpenSessions : public ::testing::TestWithParam<StoreKind> {
 protected:
  void SetUp() override {
    ASSERT_TRUE(server_.Start()) << server_.Log();
    client_ = std::make_unique<WireClient>(server_.address());
    pb::CreateSessionRequest create = test::CreateRequest(kOpenSession);
    create.clear_holder();
    create.set_kind(pb::SESSION_KIND_OPEN);
    const auto created = client_->Must(&Stub::CreateSession, create);
    EXPECT_EQ(created.lease_token(), "");
    EXPECT_EQ(created.session().kind(), pb::SESSION_KIND_OPEN);
  }

  // Lets `writers` write `messages` messages each, all at once. None is refused, unless the server
  // is killed meanwhile.
  void Append(int writers, int messages) {
    const bool killed = kills_left_ > 0;
    std::vector<std::thread> threads;
    for (int writer = 0; writer < writers; ++writer) {
      threads.emplace_back([this, writer, messages, killed] {
        Writer own(server_.address());
        for (int number = 0; number < messages; ++number) {
          const auto request = Appending(absl::StrCat(writer, "/", number));
          const Verdict verdict = killed ? own.WriteWithPatience(request) : own.Write(request);
          EXPECT_EQ(verdict.reason, "OK") << verdict.message;
          ++acknowledged_;
        }
      });
    }
    while (kills_left_ > 0) KillAfter(acknowledged_ + messages / 2);
    for (std::thread& thread : threads) thread.join();
    ExpectEachOnce(writers, messages);
  }
  void KillTimes(int times) { kills_left_ = times; }

  // Lets two writers write on the same revision, again and again: one of them each time.
  void Race(int rounds) {
    std::array<Writer, 2> writers = {Writer(server_.address()), Writer(server_.address())};
    for (int round = 0; round < rounds; ++round) {
      const int64_t revision = client_->Get(kOpenSession).revision();
      std::array<Verdict, 2> verdicts;
      {
        std::jthread other([&] { verdicts[1] = writers[1].Write(SlotWrite("b", revision)); });
        verdicts[0] = writers[0].Write(SlotWrite("a", revision));
      }
      const bool first = verdicts[0].reason == "OK";
      const Verdict& lost = verdicts[first ? 1 : 0];
      EXPECT_EQ(verdicts[first ? 0 : 1].reason, "OK");
      ASSERT_EQ(lost.reason, "STALE_REVISION");
      EXPECT_EQ(lost.facts.at("expected"), std::to_string(revision));
      EXPECT_EQ(lost.facts.at("actual"), std::to_string(revision + 1));
    }
  }

  [[nodiscard]] WireClient& client() { return *client_; }
  [[nodiscard]] const std::string& address() const { return server_.address(); }

 private:
  void KillAfter(int acknowledged) {
    --kills_left_;
    EXPECT_TRUE(WaitUntil([&] { return acknowledged_ >= acknowledged; }));
    server_.Kill();
    ASSERT_TRUE(server_.Start()) << server_.Log();
    client_ = std::make_unique<WireClient>(server_.address());
  }

  void ExpectEachOnce(int writers, int messages) {
    std::vector<std::string> expected;
    for (int writer = 0; writer < writers; ++writer) {
      for (int number = 0; number < messages; ++number) {
        expected.push_back(absl::StrCat(writer, "/", number));
      }
    }
    std::vector<std::string> stored;
    pb::ListMessagesRequest list;
    list.set_session_id(kOpenSession);
    list.set_page_size(1000);
    do {
      const auto page = client_->Must(&Stub::ListMessages, list);
      for (const pb::Message& message : page.messages()) stored.push_back(message.data());
      list.set_page_token(page.next_page_token());
    } while (!list.page_token().empty());
    EXPECT_THAT(stored, ::testing::UnorderedElementsAreArray(expected));
  }

  const TestFolder folder_;
  StoreUnderServer store_{GetParam()};
  ServerProcess server_{folder_, store_.Settings()};
  std::unique_ptr<WireClient> client_;
  std::atomic<int> acknowledged_ = 0;
  int kills_left_ = 0;
};

TEST_P(OpenSessions, EightWritersAppendEachMessageOnce) { Append(8, 100); }

TEST_P(OpenSessions, AppendedMessagesSurviveKillsEachOnce) {
  KillTimes(3);
  Append(4, 100);
}

TEST_P(OpenSessions, OneOfTwoWritersByRevisionWins) { Race(300); }

TEST_P(OpenSessions, AnythingButMessagesSaysWhatItBuildsOn) {
  Writer writer(address());
  pb::WriteSnapshotRequest slot = SlotWrite("a", 0);
  for (const auto& request : {slot, [&] {
                                pb::WriteSnapshotRequest replace = Appending("x");
                                replace.set_replace_history(true);
                                return replace;
                              }()}) {
    const Verdict verdict = writer.Write(request);
    EXPECT_EQ(verdict.reason, "INVALID_FIELD");
    EXPECT_EQ(verdict.facts.at("field"), "expected_revision");
  }
  // A base is as good.
  const pb::Session session = client().Get(kOpenSession);
  slot.mutable_base()->set_message_count(session.message_count());
  slot.mutable_base()->set_history_digest(session.history_digest());
  EXPECT_EQ(writer.Write(slot).reason, "OK");
  EXPECT_EQ(client().Get(kOpenSession).lifecycle(), pb::LIFECYCLE_PERSISTED);
}

TEST_P(OpenSessions, AWriteCreatesTheSessionThatIsMissing) {
  constexpr int kWriters = 6;
  pb::WriteSnapshotRequest write = Appending("first");
  write.set_session_id("missing");
  Writer writer(address());
  EXPECT_EQ(writer.Write(write).reason, "SESSION_NOT_FOUND");
  pb::CreateSessionRequest& create = *write.mutable_create_if_missing();
  *create.mutable_manifest() = test::CreateRequest("missing").manifest();
  EXPECT_EQ(writer.Write(write).facts.at("field"), "create_if_missing.kind");
  create.set_kind(pb::SESSION_KIND_OPEN);
  create.add_messages()->set_role("user");
  EXPECT_EQ(writer.Write(write).facts.at("field"), "create_if_missing");
  create.clear_messages();
  // What would have to be there is not made up.
  write.set_expected_revision(3);
  EXPECT_EQ(writer.Write(write).reason, "SESSION_NOT_FOUND");
  write.clear_expected_revision();
  std::vector<std::thread> threads;
  for (int i = 0; i < kWriters; ++i) {
    threads.emplace_back([&, i] {
      pb::WriteSnapshotRequest own = write;
      own.set_request_id(test::NewRequestId());
      own.mutable_messages(0)->set_data(absl::StrCat(i));
      Writer other(address());
      EXPECT_EQ(other.Write(own).reason, "OK");
      EXPECT_EQ(other.Write(own).reason, "OK");  // a repeat
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(client().Get("missing").message_count(), kWriters);
  EXPECT_EQ(client().Get("missing").kind(), pb::SESSION_KIND_OPEN);
}

TEST_P(OpenSessions, TakesNoLeaseAndNoTurn) {
  Writer writer(address());
  pb::CreateSessionRequest leased = test::CreateRequest("leased");
  const std::string token = client().Must(&Stub::CreateSession, leased).lease_token();
  pb::WriteSnapshotRequest write = Appending("x");
  write.set_lease_token(token);
  const Verdict refused = writer.Write(write);
  EXPECT_EQ(refused.reason, "INVALID_FIELD");
  EXPECT_EQ(refused.facts.at("field"), "lease_token");
  EXPECT_EQ(client().Reason(&Stub::ResumeSession, test::ForceRequest(kOpenSession)),
            "ILLEGAL_TRANSITION");
  EXPECT_EQ(client().Reason(&Stub::BeginTurn, test::BeginRequest(kOpenSession, "")),
            "ILLEGAL_TRANSITION");
  EXPECT_EQ(client().Reason(&Stub::ReleaseLease, test::ReleaseRequest(kOpenSession, "")),
            "ILLEGAL_TRANSITION");
  pb::CreateSessionRequest create = test::CreateRequest("held");
  create.set_kind(pb::SESSION_KIND_OPEN);
  const Verdict held = client().Ask(&Stub::CreateSession, create).verdict;
  EXPECT_EQ(held.reason, "INVALID_FIELD");
  EXPECT_EQ(held.facts.at("field"), "holder");
}

TEST_P(OpenSessions, ACancelledOneIsClosedAndTakesNoMore) {
  Writer writer(address());
  EXPECT_EQ(writer.Write(Appending("before")).reason, "OK");
  const auto cancelled = client().Must(
      &Stub::CancelSession, test::SessionCancelRequest(kOpenSession, pb::CANCEL_SCOPE_SESSION));
  EXPECT_EQ(cancelled.session().lifecycle(), pb::LIFECYCLE_CLOSED);
  EXPECT_EQ(writer.Write(Appending("after")).reason, "ILLEGAL_TRANSITION");
}

class LongOpenSessions : public OpenSessions {};

TEST_P(LongOpenSessions, EightWritersAppendEachMessageOnce) { Append(8, 1000); }

TEST_P(LongOpenSessions, OneOfTwoWritersByRevisionWins) { Race(10'000); }

INSTANTIATE_TEST_SUITE_P(Stores, OpenSessions, EachStore(), NameOfStore);
INSTANTIATE_TEST_SUITE_P(Stores, LongOpenSessions, EachStore(), NameOfStore);

}  // namespace
}  // namespace holdfast::testing

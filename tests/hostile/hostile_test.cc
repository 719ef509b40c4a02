// A hostile client against a real server on files and on PostgreSQL: for every field of every
// method each bad value of its type, repeated fields at and over their limits, mutated tokens,
// cursors and page tokens, and random bytes. Each call is answered, with a reason of the closed
// list, within a second, in bounded memory; and sessions whose token the client does not have stay
// as they were.
#include "holdfast/v1/admin_service.grpc.pb.h"
#include "session/limits.h"
#include "session/reasons.h"
#include "tests/hostile/bad_requests.h"
#include "tests/support/channel.h"
#include "tests/support/details.h"
#include "tests/support/each_store.h"
#include "tests/support/field_behavior.h"
#include "tests/support/method_rules.h"
#include "tests/support/raw_client.h"
#include "tests/support/requests.h"
#include "tests/support/server_process.h"
#include "tests/support/valid_requests.h"
#include "tests/support/wire_client.h"

#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::hostile {
namespace {

using google::protobuf::MethodDescriptor;
using testing::RawAnswer;
using testing::RawClient;
using testing::ServerProcess;
using testing::ValidRequests;
using testing::WireClient;

constexpr size_t kBudget = 400 * kMiB;
constexpr size_t kClients = 4;
// A request that is answered later is sent again: only one that is late each time is slow by itself
// and not by what else this machine does. Where even an Echo of the same moment takes more than a
// twentieth of a second, the bound is so many of the slowest one.
constexpr absl::Duration kAnswerMost = absl::Seconds(1);
constexpr int kEchoesMost = 20;
constexpr int kTries = 5;
// The lease of the session that must stay as it was outlives every attack.
constexpr int kWitnessSeconds = 3600;
// A session is worn after so many requests: many of them close, delete or take it over.
constexpr int kRequestsPerSession = 20;
constexpr int kMutations = 200;
constexpr int kRandom = 100;
// Of the server's memory beside the budget.
constexpr size_t kSlack = 64 * kMiB;

// What one run sends: every `stride`th bad request.
struct Plan {
  size_t stride = 1;
  uint64_t seed = 1;
};

uint64_t Seed() {
  const char* const given = std::getenv("HOLDFAST_SEED");
  return given == nullptr ? 20'261'124 : std::strtoull(given, nullptr, 10);
}

bool IsKnownReason(const std::string& reason) {
  return std::ranges::any_of(kReasonRows, [&](const ReasonRow& row) { return row.name == reason; });
}

// Why the answer is not one that a client may get; empty if it is.
std::string FaultOf(const RawAnswer& answer) {
  if (answer.message || answer.status.ok()) return "";
  const std::string reason = test::ReasonOf(answer.status);
  if (reason.empty()) {
    return "no details: code " + std::to_string(answer.status.error_code()) + " " +
           answer.status.error_message();
  }
  if (!IsKnownReason(reason)) return "unknown reason " + reason;
  if (reason == "INTERNAL") return "INTERNAL: " + answer.status.error_message();
  return "";
}

// Echoes one after another, at least one, from the start until Stop. For one thread.
class EchoesBeside final {
 public:
  explicit EchoesBeside(v1::AdminService::Stub& admin)
      : admin_(admin), thread_([this](const std::stop_token& stop) { Run(stop); }) {}

  // How long the slowest took.
  absl::Duration Stop() {
    thread_.request_stop();
    thread_.join();
    return slowest_;
  }

 private:
  void Run(const std::stop_token& stop) {
    do {
      grpc::ClientContext context;
      context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Minutes(1)));
      v1::EchoResponse response;
      const absl::Time begun = absl::Now();
      const grpc::Status status = admin_.Echo(&context, {}, &response);
      EXPECT_TRUE(status.ok()) << status.error_message();
      slowest_ = std::max(slowest_, absl::Now() - begun);
    } while (!stop.stop_requested());
  }

  v1::AdminService::Stub& admin_;
  absl::Duration slowest_;
  std::jthread thread_;
};

// What is sent to one method, by all clients together.
class Attack {
 public:
  Attack(const ServerProcess& server, Plan plan)
      : server_(server),
        plan_(plan),
        admin_(v1::AdminService::NewStub(testing::Connected(server.address()))) {}

  void Run() {
    std::vector<std::jthread> clients;
    clients.reserve(kClients);
    for (size_t client = 0; client < kClients; ++client) {
      clients.emplace_back([this, client] { RunClient(client); });
    }
    clients.clear();
  }

  [[nodiscard]] size_t sent() const { return sent_; }
  std::map<std::string, int> reasons() {
    const absl::MutexLock lock(&mutex_);
    return reasons_;
  }

 private:
  void RunClient(size_t client) {
    RawClient raw(server_.address());
    ValidRequests valid(server_.address(), "hostile" + std::to_string(client));
    const auto methods = test::ApiMethods();
    for (size_t at = client; at < methods.size(); at += kClients) {
      AttackMethod(*methods[at], raw, valid);
    }
  }

  void AttackMethod(const MethodDescriptor& method, RawClient& raw, ValidRequests& valid) {
    int left = 0;
    const MakeRequest make = [&] {
      if (left-- <= 0) {
        valid.TakeNewSessions();
        left = kRequestsPerSession;
      }
      return valid.Make(method);
    };
    std::vector<MakeBad> bad = BadFields(make, plan_.seed);
    for (auto& more :
         {MutatedSecrets(make, kMutations, plan_.seed), RandomBytes(make, kRandom, plan_.seed)}) {
      bad.insert(bad.end(), more.begin(), more.end());
    }
    for (size_t at = plan_.seed % plan_.stride; at < bad.size(); at += plan_.stride) {
      const BadRequest request = bad[at]();
      ExpectRefused(method, raw, request.what, ValidRequests::Opened(method, request.bytes));
      if (method.client_streaming()) {
        ExpectRefused(method, raw, "in a stream, " + request.what,
                      valid.Followed(method, request.bytes));
      }
    }
  }

  void ExpectRefused(const MethodDescriptor& method, RawClient& raw, const std::string& what,
                     const std::vector<std::string>& requests) {
    const RawAnswer answer = raw.Send(method, requests);
    const std::string fault = FaultOf(answer);
    EXPECT_EQ(fault, "") << method.name() << " with " << what;
    int tries = 1;
    absl::Duration took = answer.took;
    absl::Duration most = kAnswerMost;
    for (; took > most && tries < kTries; ++tries) {
      EchoesBeside echoes(*admin_);
      took = raw.Send(method, requests).took;
      most = std::max(kAnswerMost, kEchoesMost * echoes.Stop());
    }
    EXPECT_LE(took, most) << method.name() << " with " << what << " was late " << tries << " times";
    ++sent_;
    const absl::MutexLock lock(&mutex_);
    ++reasons_[answer.message || answer.status.ok() ? "OK" : test::ReasonOf(answer.status)];
  }

  const ServerProcess& server_;
  const Plan plan_;
  const std::unique_ptr<v1::AdminService::Stub> admin_;  // beside what is late
  std::atomic<size_t> sent_ = 0;
  absl::Mutex mutex_;
  std::map<std::string, int> reasons_ ABSL_GUARDED_BY(mutex_);
};

class HostileClient : public ::testing::TestWithParam<testing::StoreKind> {
 protected:
  void Attacked(size_t stride) {
    const testing::StoreUnderServer store(GetParam());
    const testing::TestFolder folder;
    ServerProcess server(folder, store.Settings({.more = "limits:\n  memory_budget: 400MiB\n"}));
    ASSERT_TRUE(server.Start()) << server.Log();
    WireClient witness(server.address());
    testing::pb::CreateSessionRequest create = test::CreateRequest("witness");
    create.mutable_lease_ttl()->set_seconds(kWitnessSeconds);
    const std::string token = witness.Must(&WireClient::Stub::CreateSession, create).lease_token();
    witness.Must(&WireClient::Stub::BeginTurn, test::BeginRequest("witness", token));
    witness.Must(&WireClient::Stub::CommitTurn,
                 test::CommitRequest("witness", token, 1, "what must stay"));
    const std::string before = witness.Everything("witness");
    const size_t idle = server.PeakBytes();

    Attack attack(server, {.stride = stride, .seed = Seed()});
    attack.Run();

    EXPECT_TRUE(server.Running());
    EXPECT_LT(server.PeakBytes() - idle, kBudget + kSlack);
    EXPECT_EQ(witness.Everything("witness"), before);
    witness.Must(&WireClient::Stub::BeginTurn, test::BeginRequest("witness", token));
    std::cout << "seed " << Seed() << "\nfigure: " << attack.sent() << " hostile requests\n";
    for (const auto& [reason, count] : attack.reasons()) {
      std::cout << reason << ' ' << count << '\n';
    }
    EXPECT_EQ(server.Stop().exit_code, 0);
  }
};

class LongHostileClient : public HostileClient {};

// What a bad request begins with acts: otherwise a bad field would not be what it is refused for.
TEST(ValidRequests, GetAReplyFromEveryMethod) {
  const testing::TestFolder folder;
  ServerProcess server(folder);
  ASSERT_TRUE(server.Start()) << server.Log();
  RawClient raw(server.address());
  ValidRequests valid(server.address(), "honest");
  for (const MethodDescriptor* const method : test::ApiMethods()) {
    valid.TakeNewSessions();
    const std::unique_ptr<google::protobuf::Message> request = valid.Make(*method);
    const RawAnswer answer =
        raw.Send(*method, ValidRequests::Opened(*method, request->SerializeAsString()));
    EXPECT_TRUE(answer.message) << method->name() << ": " << answer.status.error_message() << '\n'
                                << request->DebugString();
  }
}

// Every required field that `message` has, by the path to it, and the message that holds it.
using RequiredField =
    std::pair<google::protobuf::Message*, const google::protobuf::FieldDescriptor*>;
void AddRequired(google::protobuf::Message& message, std::vector<RequiredField>& all) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  for (int at = 0; at < message.GetDescriptor()->field_count(); ++at) {
    const auto& field = *message.GetDescriptor()->field(at);
    if (test::BehaviorsOf(field).contains(google::api::OUTPUT_ONLY)) continue;
    if (test::BehaviorsOf(field).contains(google::api::REQUIRED))
      all.emplace_back(&message, &field);
    const bool message_set = field.message_type() != nullptr && !field.is_repeated() &&
                             reflection.HasField(message, &field);
    if (message_set) AddRequired(*reflection.MutableMessage(&message, &field), all);
  }
}

// The annotation is what generated clients and documents show.
TEST(ValidRequests, AreRefusedWithoutAFieldThatIsAnnotatedAsRequired) {
  const testing::TestFolder folder;
  ServerProcess server(folder);
  ASSERT_TRUE(server.Start()) << server.Log();
  RawClient raw(server.address());
  ValidRequests valid(server.address(), "honest");
  int fields = 0;
  for (const MethodDescriptor* const method : test::ApiMethods()) {
    if (method->client_streaming()) continue;
    for (size_t at = 0;; ++at) {
      valid.TakeNewSessions();
      const std::unique_ptr<google::protobuf::Message> request = valid.Make(*method);
      std::vector<RequiredField> required;
      AddRequired(*request, required);
      if (at == required.size()) break;
      const auto& [holder, field] = required[at];
      holder->GetReflection()->ClearField(holder, field);
      const RawAnswer answer = raw.Send(*method, {request->SerializeAsString()});
      const std::string reason = test::ReasonOf(answer.status);
      EXPECT_EQ(reason, field->name() == "lease_token" ? "LEASE_REQUIRED" : "INVALID_FIELD")
          << method->name() << " without " << field->full_name();
      ++fields;
    }
  }
  EXPECT_GT(fields, 50);
}

TEST_P(HostileClient, IsAnsweredWithAReasonInTimeAndBoundedMemory) { Attacked(10); }
TEST_P(LongHostileClient, IsAnsweredWithAReasonInTimeAndBoundedMemory) { Attacked(1); }

INSTANTIATE_TEST_SUITE_P(Stores, HostileClient, testing::EachStore(), testing::NameOfStore);
INSTANTIATE_TEST_SUITE_P(LongStores, LongHostileClient, testing::EachStore(), testing::NameOfStore);

}  // namespace
}  // namespace holdfast::hostile

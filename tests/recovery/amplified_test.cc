// Requests that are small on the wire and large in memory, from many clients at once: the server
// stays within what its configuration gives it, and says why it refuses.
#include "holdfast/v1/admin_service.grpc.pb.h"
#include "holdfast/v1/session_service.pb.h"
#include "holdfast/v1/store_service.pb.h"
#include "server/rpc/call/wire_counts.h"
#include "session/limits.h"
#include "tests/support/channel.h"
#include "tests/support/each_store.h"
#include "tests/support/requests.h"
#include "tests/support/server_process.h"
#include "tests/support/wire_client.h"

#include "absl/strings/str_cat.h"
#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/mutex.h"
#include "google/protobuf/descriptor.h"
#include "grpcpp/generic/generic_stub.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <deque>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::testing {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::MethodDescriptor;
using Stub = WireClient::Stub;

constexpr char kCommitTurn[] = "SessionService/CommitTurn";

// A CommitTurnRequest of so many bytes: slots without a byte, each two bytes here and a message of
// its own in memory.
std::string ManySlots(size_t bytes) {
  std::string request("\x12\x03one");  // session_id
  request.reserve(bytes);
  while (request.size() + 2 <= bytes) request.append("\x3a\x00", 2);
  return request;
}

std::string Varint(uint64_t value) {
  std::string out;
  for (; value >= 128; value /= 128) out += static_cast<char>(value % 128 + 128);
  return out + static_cast<char>(value);
}

// What a field takes on the wire beside its bytes, at most.
constexpr size_t kFieldBytes = 16;

// `bytes` as the value of `field`.
std::string Delimited(const FieldDescriptor& field, const std::string& bytes) {
  constexpr uint64_t kLengthDelimited = 2;
  return absl::StrCat(Varint(static_cast<uint64_t>(field.number()) * 8 + kLengthDelimited),
                      Varint(bytes.size()), bytes);
}

// How often each reason came.
using Answers = std::map<std::string, int>;

// Sends `requests`, each on a connection of its own, all at once.
Answers SendAll(const std::string& address, const std::string& method,
                const std::vector<std::string>& requests) {
  struct Sent {
    grpc::ClientContext context;
    grpc::ByteBuffer request;
    grpc::ByteBuffer reply;
  };
  std::deque<Sent> sent;
  std::vector<std::unique_ptr<grpc::GenericStub>> stubs;
  absl::BlockingCounter left(static_cast<int>(requests.size()));
  absl::Mutex mutex;
  Answers answers;
  for (const std::string& request : requests) {
    Sent& call = sent.emplace_back();
    const grpc::Slice slice(request);
    call.request = grpc::ByteBuffer(&slice, 1);
    call.context.set_deadline(absl::ToChronoTime(absl::Now() + WireClient::kPatience));
    stubs.push_back(std::make_unique<grpc::GenericStub>(Connected(address)));
  }
  for (size_t i = 0; i < sent.size(); ++i) {
    stubs[i]->UnaryCall(&sent[i].context, "/holdfast.v1." + method, {}, &sent[i].request,
                        &sent[i].reply, [&](const grpc::Status& status) {
                          {
                            const absl::MutexLock lock(&mutex);
                            const Verdict verdict = VerdictOf(status);
                            ++answers[verdict.reason];
                            EXPECT_EQ(verdict.reason == "OVERLOADED",
                                      verdict.retry_after.has_value());
                          }
                          left.DecrementCount();
                        });
  }
  left.Wait();
  return answers;
}

TEST(Amplified, RequestsTakeNoMoreThanTheBudget) {
  constexpr size_t kClients = 32;
  constexpr size_t kBudget = 512 * kMiB;
  TestFolder folder;
  ServerProcess server(folder, {.more = "limits:\n  memory_budget: 512MiB\n"});
  ASSERT_TRUE(server.Start()) << server.Log();
  WireClient client(server.address());
  client.Must(&Stub::CreateSession, test::CreateRequest("one"));
  const size_t idle = server.PeakBytes();
  const auto send = [&](size_t bytes) {
    auto reasons = SendAll(server.address(), kCommitTurn,
                           std::vector<std::string>(kClients, ManySlots(bytes)));
    // What came waits as it came: everything else is within the budget.
    EXPECT_LT(server.PeakBytes() - idle, kBudget + kClients * bytes + 64 * kMiB) << bytes;
    return reasons;
  };
  auto reasons = send(kUnaryRequestBytes - kKiB);
  EXPECT_GT(reasons["TOO_LARGE"], 0);
  EXPECT_EQ(reasons["TOO_LARGE"] + reasons["OVERLOADED"], static_cast<int>(kClients));
  // None of these is even parsed.
  reasons = send(kTransportMessageBytes - kKiB);
  EXPECT_EQ(reasons["TOO_LARGE"], static_cast<int>(kClients));
  EXPECT_EQ(client.Get("one").revision(), 1U);
}

std::string NameOf(const MethodDescriptor& method) {
  return absl::StrCat(method.service()->name(), "/", method.name());
}

// A repeated field of the first message of a call: the fields that lead to it, itself the last.
struct CountedField {
  const MethodDescriptor* method;
  std::vector<const FieldDescriptor*> path;

  [[nodiscard]] std::string Name() const {
    std::string name = NameOf(*method) + ":";
    for (const FieldDescriptor* field : path) absl::StrAppend(&name, " ", field->name());
    return name;
  }

  // A request of at most `bytes` of elements without a byte of their own.
  [[nodiscard]] std::string Request(size_t bytes) const {
    const size_t most = bytes - path.size() * kFieldBytes;
    std::string request;
    if (path.back()->is_packable()) {
      request = Delimited(*path.back(), std::string(most, '\1'));
    } else {
      const std::string element = Delimited(*path.back(), "");
      while (request.size() + element.size() <= most) request += element;
    }
    for (size_t at = path.size() - 1; at > 0; --at) request = Delimited(*path[at - 1], request);
    return request;
  }
};

void AddCounted(const MethodDescriptor& method, const Descriptor& message,
                std::vector<const FieldDescriptor*>& path, std::vector<CountedField>& all) {
  if (path.size() == kWireDepth) return;
  for (int at = 0; at < message.field_count(); ++at) {
    const FieldDescriptor& field = *message.field(at);
    path.push_back(&field);
    if (FindRepeatedLimit(field) != nullptr) {
      all.push_back({&method, path});
    } else if (field.message_type() != nullptr && !field.is_repeated()) {
      AddCounted(method, *field.message_type(), path, all);
    }
    path.pop_back();
  }
}

// Of every method.
std::vector<CountedField> AllCountedFields() {
  std::vector<CountedField> all;
  const auto& pool = *google::protobuf::DescriptorPool::generated_pool();
  for (const std::string name : {"SessionService", "StoreService", "ItemService", "AdminService"}) {
    const auto* const service = pool.FindServiceByName("holdfast.v1." + name);
    for (int at = 0; at < service->method_count(); ++at) {
      std::vector<const FieldDescriptor*> path;
      AddCounted(*service->method(at), *service->method(at)->input_type(), path, all);
    }
  }
  return all;
}

// Elements without a byte, of every repeated field of every method: they are counted before
// anything is parsed, so that they take neither memory nor time.
class CountedElements : public ::testing::TestWithParam<StoreKind> {
 protected:
  static constexpr size_t kClients = 32;
  static constexpr size_t kBudget = 512 * kMiB;
  static constexpr size_t kRequestBytes = kUnaryRequestBytes - kKiB;
  // Of the server, for all clients together, against what it takes to receive as many bytes.
  static constexpr double kMostToReceiving = 3;

  void SetUp() override {
    ASSERT_TRUE(server_.Start()) << server_.Log();
    WireClient(server_.address()).Must(&Stub::CreateSession, test::CreateRequest("one"));
    admin_ = pb::AdminService::NewStub(Connected(server_.address()));
    idle_ = server_.PeakBytes();
    receiving_ = TimeOf([&] { SendToAll(kCommitTurn, OneUnknownValue(kRequestBytes)); });
  }

  // A request of `bytes` bytes in which there is nothing to be counted.
  static std::string OneUnknownValue(size_t bytes) {
    constexpr uint64_t kUnknownField = 1000;
    constexpr uint64_t kLengthDelimited = 2;
    const std::string value(bytes - kFieldBytes, 'x');
    return absl::StrCat(Varint(kUnknownField * 8 + kLengthDelimited), Varint(value.size()), value);
  }

  // The server's processor time while `act` runs.
  template <typename Act>
  absl::Duration TimeOf(Act act) {
    const absl::Duration begun = server_.ProcessorTime();
    act();
    return server_.ProcessorTime() - begun;
  }

  Answers SendToAll(const std::string& method, const std::string& request) {
    return SendAll(server_.address(), method, std::vector<std::string>(kClients, request));
  }

  // This call is itself among those that were parsed.
  pb::ResourceUse Resources() {
    grpc::ClientContext context;
    pb::StatusResponse status;
    EXPECT_EQ(VerdictOf(admin_->Status(&context, {}, &status)).reason, "OK");
    return status.resources();
  }

  void ExpectRefused(const CountedField& field) {
    SCOPED_TRACE(field.Name());
    const pb::ResourceUse before = Resources();
    const auto& method = *field.method;
    Answers reasons;
    const absl::Duration took =
        TimeOf([&] { reasons = SendToAll(NameOf(method), field.Request(kRequestBytes)); });
    const pb::ResourceUse after = Resources();
    const int refused = reasons["TOO_LARGE"];
    EXPECT_GT(refused, 0) << reasons.begin()->first;
    EXPECT_EQ(refused + reasons["OVERLOADED"], static_cast<int>(kClients))
        << reasons.begin()->first;
    EXPECT_EQ(after.requests_refused_by_count() - before.requests_refused_by_count(),
              static_cast<uint64_t>(refused));
    EXPECT_EQ(after.requests_parsed() - before.requests_parsed(), 1U) << "some were parsed";
    EXPECT_LE(absl::FDivDuration(took, receiving_), kMostToReceiving) << took;
    EXPECT_LT(server_.PeakBytes() - idle_, kBudget + kClients * kRequestBytes + 64 * kMiB);
    most_taken_ = std::max(most_taken_, took);
  }

  void ExpectAllRefused(const std::vector<CountedField>& fields) {
    for (const CountedField& field : fields) ExpectRefused(field);
    EXPECT_EQ(WireClient(server_.address()).Get("one").revision(), 1U);
    std::cout << fields.size() << " fields, most processor time to that of receiving "
              << absl::FDivDuration(most_taken_, receiving_) << " of at most " << kMostToReceiving
              << ", of which one is " << receiving_ << ", peak "
              << (server_.PeakBytes() - idle_) / kMiB << " MiB\n";
  }

  TestFolder folder_;
  StoreUnderServer store_{GetParam()};
  ServerProcess server_{folder_, store_.Settings({.more = "limits:\n  memory_budget: 512MiB\n"})};
  std::unique_ptr<pb::AdminService::Stub> admin_;
  size_t idle_ = 0;
  absl::Duration receiving_;  // as many bytes, without a count
  absl::Duration most_taken_;
};

using LongCountedElements = CountedElements;

// One field of each method that has any.
TEST_P(CountedElements, AreRefusedBeforeParsing) {
  std::vector<CountedField> fields = AllCountedFields();
  const auto same = [](const auto& one, const auto& other) { return one.method == other.method; };
  fields.erase(std::unique(fields.begin(), fields.end(), same), fields.end());
  ExpectAllRefused(fields);
}

TEST_P(LongCountedElements, OfEachFieldAreRefusedBeforeParsing) {
  const std::vector<CountedField> fields = AllCountedFields();
  EXPECT_GE(fields.size(), kRepeatedLimits.size()) << "each of those is a field of some request";
  ExpectAllRefused(fields);
}

// What is refused here never reaches a store.
INSTANTIATE_TEST_SUITE_P(Stores, CountedElements, ::testing::Values(StoreKind::kFiles),
                         NameOfStore);
INSTANTIATE_TEST_SUITE_P(Stores, LongCountedElements, EachStore(), NameOfStore);

TEST(Amplified, WhatIsNoMessageIsRefusedByName) {
  TestFolder folder;
  ServerProcess server(folder);
  ASSERT_TRUE(server.Start()) << server.Log();
  // A text that is not UTF-8, a field that ends early, and no field at all.
  for (const std::string bytes : {"\x12\x01\xff", "\x12\x7fone", "\x07"}) {
    const auto reasons = SendAll(server.address(), kCommitTurn, {bytes});
    EXPECT_EQ(reasons.begin()->first, "INVALID_FIELD") << bytes;
  }
}

}  // namespace
}  // namespace holdfast::testing

// Requests that are small on the wire and large in memory, from many clients at once: the server
// stays within what its configuration gives it, and says why it refuses.
#include "session/limits.h"
#include "tests/support/channel.h"
#include "tests/support/child_process.h"
#include "tests/support/requests.h"
#include "tests/support/server_process.h"
#include "tests/support/wire_client.h"

#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/mutex.h"
#include "grpcpp/generic/generic_stub.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <map>
#include <string>
#include <vector>

namespace holdfast::testing {
namespace {

using Stub = WireClient::Stub;

constexpr char kCommitTurn[] = "SessionService/CommitTurn";

// The most memory that the server has had.
size_t PeakBytes(const ServerProcess& server) {
  const std::string status = ReadText("/proc/" + std::to_string(server.pid()) + "/status");
  const size_t at = status.find("VmHWM:");
  return at == std::string::npos ? 0 : std::strtoull(status.c_str() + at + 6, nullptr, 10) * kKiB;
}

// A CommitTurnRequest of so many bytes: slots without a byte, each two bytes here and a message of
// its own in memory.
std::string ManySlots(size_t bytes) {
  std::string request("\x12\x03one");  // session_id
  request.reserve(bytes);
  while (request.size() + 2 <= bytes) request.append("\x3a\x00", 2);
  return request;
}

// The length of `bytes` as the wire has it.
std::string LengthOf(const std::string& bytes) {
  std::string out;
  size_t left = bytes.size();
  for (; left >= 128; left /= 128) out += static_cast<char>(left % 128 + 128);
  return out + static_cast<char>(left);
}

// How often each reason came, and how long the slowest answer took.
struct Answers {
  std::map<std::string, int> reasons;
  absl::Duration slowest;
};

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
  const absl::Time begun = absl::Now();
  for (size_t i = 0; i < sent.size(); ++i) {
    stubs[i]->UnaryCall(&sent[i].context, "/holdfast.v1." + method, {}, &sent[i].request,
                        &sent[i].reply, [&](const grpc::Status& status) {
                          {
                            const absl::MutexLock lock(&mutex);
                            const Verdict verdict = VerdictOf(status);
                            ++answers.reasons[verdict.reason];
                            answers.slowest = std::max(answers.slowest, absl::Now() - begun);
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
  const size_t idle = PeakBytes(server);
  const auto send = [&](size_t bytes) {
    auto reasons =
        SendAll(server.address(), kCommitTurn, std::vector<std::string>(kClients, ManySlots(bytes)))
            .reasons;
    // What came waits as it came: everything else is within the budget.
    EXPECT_LT(PeakBytes(server) - idle, kBudget + kClients * bytes + 64 * kMiB) << bytes;
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

// Elements without a byte, of every repeated field of every unary method: they are counted before
// anything is parsed, so that they take neither memory nor time.
TEST(Amplified, ElementsAreCountedOnTheWire) {
  constexpr size_t kClients = 32;
  constexpr size_t kBudget = 512 * kMiB;
  constexpr absl::Duration kAtMost =
      absl::Seconds(20);  // a second, on a machine without neighbours
  const struct {
    const char* method;
    const char* element;  // its tag and its length, 0
    const char* inside;   // the tag of the message that it is in
  } kCases[] = {
      {"SessionService/CreateSession", "\x22", ""},
      {"SessionService/CreateSession", "\x2a", ""},
      {"SessionService/CreateSession", "\x32", ""},
      {"SessionService/UpdateSession", "\x1a", ""},
      {"SessionService/UpdateSession", "\x0a", "\x22"},
      {"SessionService/ListSessions", "\x22", ""},
      {"SessionService/ResumeSession", "\x5a", ""},
      {"SessionService/ResumeSession", "\x2a", "\x52"},
      {"SessionService/AppendJournal", "\x1a", ""},
      {"SessionService/CommitTurn", "\x32", ""},
      {"SessionService/CommitTurn", "\x42", ""},
      {"SessionService/CloseSession", "\x12", "\x2a"},
      {"SessionService/RenewLeases", "\x0a", ""},
      {"SessionService/ReadSlots", "\x1a", ""},
      {"SessionService/ReadSlots", "\x2a", ""},
      {"SessionService/AppendAudit", "\x32", ""},
      {"StoreService/Write", "\x3a", ""},
      {"StoreService/Write", "\x4a", ""},
  };
  TestFolder folder;
  ServerProcess server(folder, {.more = "limits:\n  memory_budget: 512MiB\n"});
  ASSERT_TRUE(server.Start()) << server.Log();
  WireClient client(server.address());
  client.Must(&Stub::CreateSession, test::CreateRequest("one"));
  const size_t idle = PeakBytes(server);
  for (const auto& one : kCases) {
    SCOPED_TRACE(one.method);
    std::string request;
    // A listing's are numbers, which have no length of their own.
    const bool packed = std::string_view(one.method) == "SessionService/ListSessions";
    const size_t wanted = kUnaryRequestBytes - kKiB;
    if (packed) {
      request.assign(wanted, '\1');
    } else {
      while (request.size() + 2 <= wanted) request.append(one.element).append(1, '\0');
    }
    const std::string tag = packed ? one.element : one.inside;
    if (!tag.empty()) request = tag + LengthOf(request) + request;
    const Answers answers =
        SendAll(server.address(), one.method, std::vector<std::string>(kClients, request));
    auto reasons = answers.reasons;
    EXPECT_GT(reasons["TOO_LARGE"], 0);
    EXPECT_EQ(reasons["TOO_LARGE"] + reasons["OVERLOADED"], static_cast<int>(kClients))
        << reasons.begin()->first;
    EXPECT_LT(answers.slowest, kAtMost);
    EXPECT_LT(PeakBytes(server) - idle, kBudget + kClients * request.size() + 64 * kMiB);
  }
  EXPECT_EQ(client.Get("one").revision(), 1U);
}

TEST(Amplified, WhatIsNoMessageIsRefusedByName) {
  TestFolder folder;
  ServerProcess server(folder);
  ASSERT_TRUE(server.Start()) << server.Log();
  // A text that is not UTF-8, a field that ends early, and no field at all.
  for (const std::string bytes : {"\x12\x01\xff", "\x12\x7fone", "\x07"}) {
    const auto reasons = SendAll(server.address(), kCommitTurn, {bytes}).reasons;
    EXPECT_EQ(reasons.begin()->first, "INVALID_FIELD") << bytes;
  }
}

}  // namespace
}  // namespace holdfast::testing

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

#include <cstdlib>
#include <deque>
#include <map>
#include <string>
#include <vector>

namespace holdfast::testing {
namespace {

using Stub = WireClient::Stub;

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

// Sends `requests`, each on a connection of its own, all at once; how often each reason came.
std::map<std::string, int> SendAll(const std::string& address,
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
  std::map<std::string, int> reasons;
  for (const std::string& request : requests) {
    Sent& call = sent.emplace_back();
    const grpc::Slice slice(request);
    call.request = grpc::ByteBuffer(&slice, 1);
    call.context.set_deadline(absl::ToChronoTime(absl::Now() + WireClient::kPatience));
    stubs.push_back(std::make_unique<grpc::GenericStub>(Connected(address)));
  }
  for (size_t i = 0; i < sent.size(); ++i) {
    stubs[i]->UnaryCall(&sent[i].context, "/holdfast.v1.SessionService/CommitTurn", {},
                        &sent[i].request, &sent[i].reply, [&](const grpc::Status& status) {
                          {
                            const absl::MutexLock lock(&mutex);
                            const Verdict verdict = VerdictOf(status);
                            ++reasons[verdict.reason];
                            EXPECT_EQ(verdict.reason == "OVERLOADED",
                                      verdict.retry_after.has_value());
                          }
                          left.DecrementCount();
                        });
  }
  left.Wait();
  return reasons;
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
    auto reasons = SendAll(server.address(), std::vector<std::string>(kClients, ManySlots(bytes)));
    // What came waits as it came: everything else is within the budget.
    EXPECT_LT(PeakBytes(server) - idle, kBudget + kClients * bytes + 64 * kMiB) << bytes;
    return reasons;
  };
  // One of these is let in at a time.
  auto reasons = send(kUnaryRequestBytes - kKiB);
  EXPECT_GT(reasons["INVALID_FIELD"], 0);
  EXPECT_EQ(reasons["INVALID_FIELD"] + reasons["OVERLOADED"], static_cast<int>(kClients));
  // None of these is even parsed.
  reasons = send(kTransportMessageBytes - kKiB);
  EXPECT_EQ(reasons["TOO_LARGE"], static_cast<int>(kClients));
  EXPECT_EQ(client.Get("one").revision(), 1U);
}

TEST(Amplified, WhatIsNoMessageIsRefusedByName) {
  TestFolder folder;
  ServerProcess server(folder);
  ASSERT_TRUE(server.Start()) << server.Log();
  // A text that is not UTF-8, a field that ends early, and no field at all.
  for (const std::string bytes : {"\x12\x01\xff", "\x12\x7fone", "\x07"}) {
    const auto reasons = SendAll(server.address(), {bytes});
    EXPECT_EQ(reasons.begin()->first, "INVALID_FIELD") << bytes;
  }
}

}  // namespace
}  // namespace holdfast::testing

// A real server without something that it needs: disk space, also over a restart, or descriptors.
// What it has is served, what it cannot do is refused, and it goes on by itself once it can.
#include "holdfast/v1/admin_service.grpc.pb.h"
#include "tests/support/channel.h"
#include "tests/support/requests.h"
#include "tests/support/server_process.h"
#include "tests/support/small_disk.h"
#include "tests/support/wait.h"
#include "tests/support/wire_client.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <sys/resource.h>
#include <vector>

namespace holdfast::testing {
namespace {

using Stub = WireClient::Stub;
using test::BeginRequest;
using test::CommitRequest;
using test::CreateRequest;
using test::ForceRequest;
using ::testing::Contains;
using ::testing::HasSubstr;

pb::StatusResponse StatusOf(const std::string& address) {
  const auto stub = pb::AdminService::NewStub(Connected(address));
  grpc::ClientContext context;
  pb::StatusResponse response;
  EXPECT_TRUE(stub->Status(&context, pb::StatusRequest(), &response).ok());
  return response;
}

std::vector<std::string> WarningsOf(const std::string& address) {
  const pb::StatusResponse status = StatusOf(address);
  return {status.warnings().begin(), status.warnings().end()};
}

TEST(StarvedServer, ServesWhatItHasFromAFullDiskAfterARestart) {
  constexpr int kSessions = 8;
  const TestFolder folder;
  const test::SmallDisk disk("6m");
  const auto filler = disk.path() / "filler";
  ServerProcess server(folder, {.root = disk.path() / "data"});
  ASSERT_TRUE(server.Start()) << server.Log();
  auto client = std::make_unique<WireClient>(server.address());
  const auto name = [](int at) { return "s" + std::to_string(at); };
  for (int at = 0; at < kSessions; ++at) {
    const auto created = client->Must(&Stub::CreateSession, CreateRequest(name(at)));
    const auto begun =
        client->Must(&Stub::BeginTurn, BeginRequest(name(at), created.lease_token()));
    client->Must(&Stub::CommitTurn, CommitRequest(name(at), created.lease_token(), begun.turn(),
                                                  std::string(10'000, 'm')));
  }
  std::ofstream ballast(filler, std::ios::binary);
  const std::string piece(1024, 'x');
  while (ballast.write(piece.data(), static_cast<std::streamsize>(piece.size())).flush()) {
  }
  ballast.close();
  // Until there is no room in a journal either.
  std::string refused = "OK";
  while (refused == "OK") {
    refused = client->Ask(&Stub::ResumeSession, ForceRequest(name(0))).verdict.reason;
  }
  EXPECT_EQ(refused, "STORAGE_FULL");
  EXPECT_THAT(WarningsOf(server.address()), Contains(HasSubstr("no space is left")));
  server.Kill();

  ASSERT_TRUE(server.Start()) << server.Log();
  client = std::make_unique<WireClient>(server.address());
  for (int at = 0; at < kSessions; ++at) {
    EXPECT_EQ(client->Get(name(at)).message_count(), 1);
    EXPECT_EQ(client->ReadWhole(name(at)).reason, "OK");
  }
  const Verdict full = client->Ask(&Stub::ResumeSession, ForceRequest(name(1))).verdict;
  EXPECT_EQ(full.reason, "STORAGE_FULL") << full.message;
  EXPECT_TRUE(full.retry_after.has_value());
  EXPECT_TRUE(StatusOf(server.address()).serving());
  EXPECT_THAT(WarningsOf(server.address()), Contains(HasSubstr("no space is left")));
  EXPECT_TRUE(server.AwaitLog("no space is left"));

  std::filesystem::remove(filler);
  EXPECT_TRUE(WaitUntil([&] {
    return client->Ask(&Stub::ResumeSession, ForceRequest(name(1))).verdict.reason == "OK";
  })) << "there is room, and it does not go on";
  client->Must(&Stub::CreateSession, CreateRequest("fresh"));
  EXPECT_THAT(WarningsOf(server.address()), ::testing::IsEmpty());
  EXPECT_EQ(server.Stop().exit_code, 0);
}

TEST(StarvedServer, OutlivesAProcessWithoutDescriptors) {
  const TestFolder folder;
  ServerProcess server(folder);
  ASSERT_TRUE(server.Start()) << server.Log();
  {
    WireClient before(server.address());
    before.Must(&Stub::CreateSession, CreateRequest("unopened"));
  }
  server.Kill();
  ASSERT_TRUE(server.Start()) << server.Log();
  WireClient client(server.address());
  const auto created = client.Must(&Stub::CreateSession, CreateRequest("open"));
  const std::string& token = created.lease_token();
  // What is open stays open, and nothing more can be opened.
  rlimit limit{};
  ASSERT_EQ(prlimit(server.pid(), RLIMIT_NOFILE, nullptr, &limit), 0);
  const rlimit low{.rlim_cur = 3, .rlim_max = limit.rlim_max};
  ASSERT_EQ(prlimit(server.pid(), RLIMIT_NOFILE, &low, nullptr), 0);

  for (int turn = 0; turn < 5; ++turn) {
    const auto begun = client.Must(&Stub::BeginTurn, BeginRequest("open", token));
    client.Must(&Stub::CommitTurn, CommitRequest("open", token, begun.turn(), "said"));
  }
  const auto resume = ForceRequest("unopened");
  const auto create = CreateRequest("third");
  const Verdict resumed = client.Ask(&Stub::ResumeSession, resume).verdict;
  EXPECT_EQ(resumed.reason, "STORE_UNAVAILABLE") << resumed.message;
  EXPECT_EQ(resumed.facts.at("outcome"), "known");
  const Verdict made = client.Ask(&Stub::CreateSession, create).verdict;
  EXPECT_EQ(made.reason, "STORE_UNAVAILABLE") << made.message;
  EXPECT_EQ(made.facts.at("outcome"), "known");
  ASSERT_TRUE(server.Running()) << server.Log();

  ASSERT_EQ(prlimit(server.pid(), RLIMIT_NOFILE, &limit, nullptr), 0);
  client.Must(&Stub::ResumeSession, resume);
  client.Must(&Stub::CreateSession, create);
  EXPECT_EQ(client.Get("open").message_count(), 5);
  EXPECT_EQ(server.Stop().exit_code, 0);
}

}  // namespace
}  // namespace holdfast::testing

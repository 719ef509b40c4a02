// A client that calls and never reads: the replies that the server keeps for it count towards its
// memory budget, and do not stay for as long as the connection does.
#include "holdfast/v1/admin_service.grpc.pb.h"
#include "session/limits.h"
#include "tests/support/channel.h"
#include "tests/support/raw_http2.h"
#include "tests/support/raw_socket.h"
#include "tests/support/requests.h"
#include "tests/support/server_process.h"
#include "tests/support/wait.h"
#include "tests/support/wire_client.h"

#include "gtest/gtest.h"

#include <cstdint>
#include <memory>
#include <string>

namespace holdfast::testing {
namespace {

using Stub = WireClient::Stub;

constexpr char kSilentReader[] = "127.0.0.2";
constexpr uint32_t kUnreadCalls = 20;
constexpr size_t kUnreadMessageBytes = 512 * kKiB;

class UnreadReplies : public ::testing::Test {
 protected:
  void Start(const std::string& limits) {
    server_ =
        std::make_unique<ServerProcess>(folder_, ServerSettings{.more = "limits:\n" + limits});
    ASSERT_TRUE(server_->Start()) << server_->Log();
    client_ = std::make_unique<WireClient>(server_->address());
    admin_ = pb::AdminService::NewStub(Connected(server_->address()));
    const std::string token =
        client_->Must(&Stub::CreateSession, test::CreateRequest("large")).lease_token();
    client_->Must(&Stub::BeginTurn, test::BeginRequest("large", token));
    client_->Must(&Stub::CommitTurn,
                  test::CommitRequest("large", token, 1, std::string(kUnreadMessageBytes, 'x')));
  }

  // Reads of the session whose replies find no room at their client.
  static void SendReads(RawSocket& socket) {
    pb::ListMessagesRequest request;
    request.set_session_id("large");
    std::string frames = http2::OpeningWithoutWindow();
    for (uint32_t call = 0; call < kUnreadCalls; ++call) {
      frames += http2::Headers(2 * call + 1, "/holdfast.v1.SessionService/ListMessages");
      frames += http2::LastMessage(2 * call + 1, request.SerializeAsString());
    }
    EXPECT_TRUE(socket.Send(frames));
  }

  pb::StatusResponse Status() {
    grpc::ClientContext context;
    pb::StatusResponse status;
    EXPECT_TRUE(admin_->Status(&context, {}, &status).ok());
    return status;
  }

  ServerProcess& server() { return *server_; }

 private:
  TestFolder folder_;
  std::unique_ptr<ServerProcess> server_;
  std::unique_ptr<WireClient> client_;
  std::unique_ptr<pb::AdminService::Stub> admin_;
};

TEST_F(UnreadReplies, CountTowardsTheMemoryBudget) {
  Start("  stream_write_timeout: 1h\n");
  {
    RawSocket socket(server().address(), kSilentReader);
    SendReads(socket);
    EXPECT_TRUE(WaitUntil([&] {
      const pb::StatusResponse status = Status();
      return status.calls_in_progress() == kUnreadCalls + 1 &&
             static_cast<size_t>(status.resources().memory_bytes()) >=
                 kUnreadCalls * kUnreadMessageBytes;
    })) << Status().ShortDebugString();
  }
  EXPECT_EQ(server().Stop().exit_code, 0);
}

TEST_F(UnreadReplies, AreCancelledAfterTheWriteTimeout) {
  Start("  stream_write_timeout: 1s\n");
  RawSocket socket(server().address(), kSilentReader);
  SendReads(socket);
  EXPECT_TRUE(WaitUntil([&] {
    // The log has a line of each: their work was done.
    const std::string log = server().Log();
    size_t lines = 0;
    for (size_t at = 0; (at = log.find("\"method\":\"ListMessages\"", at)) != std::string::npos;
         ++at) {
      ++lines;
    }
    return lines == kUnreadCalls && Status().calls_in_progress() == 1;
  })) << Status().ShortDebugString();
  EXPECT_EQ(server().Stop().exit_code, 0);
}

}  // namespace
}  // namespace holdfast::testing

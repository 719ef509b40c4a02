// The command line against a real server of the test's own.
#ifndef HOLDFAST_TESTS_CLI_END_TO_END_H_
#define HOLDFAST_TESTS_CLI_END_TO_END_H_

#include "cli/connection.h"
#include "cli/request_id.h"
#include "tests/cli/command_line.h"
#include "tests/support/server_process.h"

#include <cstdint>
#include <fstream>
#include <string>

namespace holdfast::cli {

constexpr char kOwn[] = "tests/data/conversation.jsonl";

class EndToEnd : public CommandLine {
 protected:
  void SetUp() override { ASSERT_TRUE(server_.Start()) << server_.Log(); }

  [[nodiscard]] const std::string& address() const override { return server_.address(); }

  // Begins a turn, as the holder's own program would.
  uint64_t BeginTurn(const std::string& session, const std::string& token) const {
    v1::BeginTurnRequest request;
    request.set_request_id(NewRequestId());
    request.set_session_id(session);
    request.set_lease_token(token);
    request.set_source(v1::TURN_SOURCE_USER);
    v1::BeginTurnResponse reply;
    grpc::ClientContext context;
    const grpc::Status status =
        Connection(server_.address()).sessions().BeginTurn(&context, request, &reply);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return reply.turn();
  }

  // A recording in a file of its own.
  std::string Recording(const std::string& name, const std::string& text) const {
    std::ofstream(folder_.File(name)) << text;
    return folder_.File(name);
  }

  ::holdfast::testing::TestFolder folder_;
  ::holdfast::testing::ServerProcess server_{folder_};
};

}  // namespace holdfast::cli

#endif  // HOLDFAST_TESTS_CLI_END_TO_END_H_

// The command line against a real server of the test's own.
#ifndef HOLDFAST_TESTS_CLI_END_TO_END_H_
#define HOLDFAST_TESTS_CLI_END_TO_END_H_

#include "cli/app.h"
#include "cli/connection.h"
#include "cli/exit_code.h"
#include "cli/file_stream.h"
#include "cli/request_id.h"
#include "tests/support/server_process.h"

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include <cstdint>
#include <fcntl.h>
#include <fstream>
#include <ostream>
#include <sstream>
#include <string>
#include <unistd.h>
#include <vector>

namespace holdfast::cli {

constexpr char kOwn[] = "tests/data/conversation.jsonl";

struct Ran {
  int code = 0;
  std::string out;
  std::string err;
};

// A number of 64 bits, which JSON gives as a string.
inline uint64_t Number(const nlohmann::json& text) { return std::stoull(text.get<std::string>()); }

class EndToEnd : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(server_.Start()) << server_.Log(); }

  Ran Holdfast(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"--address", server_.address()});
    std::ostringstream out;
    std::ostringstream err;
    const int code = cli::Run(arguments, out, err);
    return {.code = code, .out = out.str(), .err = err.str()};
  }

  // The same with an output that takes no byte.
  Ran HoldfastIntoAFullDisk(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"--address", server_.address()});
    const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    FileBuffer buffer(full);
    std::ostream out(&buffer);
    std::ostringstream err;
    const int code = cli::Run(arguments, out, err);
    close(full);
    return {.code = code, .out = "", .err = err.str()};
  }

  // The reply of a command that must succeed.
  nlohmann::json Json(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"--output", "json"});
    const Ran ran = Holdfast(arguments);
    EXPECT_EQ(ran.code, kDone) << ran.out;
    return nlohmann::json::parse(ran.out);
  }

  // The reason why a command was refused, and that it exits so.
  std::string Reason(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"--output", "json"});
    const Ran ran = Holdfast(arguments);
    EXPECT_EQ(ran.code, kRefused) << ran.out;
    return nlohmann::json::parse(ran.out).value("reason", "none");
  }

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

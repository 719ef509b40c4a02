// A secret that the server knows, sent in every field of every method that writes, over a real
// socket to a server on files: each is refused by its place, and nothing on disk or in the log ever
// holds the secret.
#include "tests/support/channel.h"
#include "tests/support/known_secret.h"
#include "tests/support/requests.h"
#include "tests/support/server_process.h"
#include "tests/support/wire_client.h"

#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::testing {
namespace {

using Stub = WireClient::Stub;

constexpr char kMarker[] = "nothing secret about this";

class KnownSecret : public ::testing::Test {
 protected:
  KnownSecret()
      : server_(folder_, {.more = "secrets: {known: ['file:" + folder_.File("secret") + "']}\n"}) {}

  void SetUp() override {
    std::ofstream(folder_.File("secret")) << kCanary << "\n";
    ASSERT_TRUE(server_.Start()) << server_.Log();
    channel_ = Connected(server_.address());
    client_ = std::make_unique<WireClient>(server_.address());
    pb::CreateSessionRequest create = test::CreateRequest("here");
    create.add_messages()->set_data(kMarker);
    token_ = client_->Must(&Stub::CreateSession, create).lease_token();
  }

  // The files of the server that contain `text`.
  std::vector<std::string> FilesWith(const std::string& text) {
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path())) {
      if (!entry.is_regular_file() || entry.path() == folder_.File("secret")) continue;
      if (absl::StrContains(ReadText(entry.path()), text)) files.push_back(entry.path());
    }
    return files;
  }

  const TestFolder folder_;
  ServerProcess server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<WireClient> client_;
  std::string token_;
};

TEST_F(KnownSecret, IsRefusedInEveryFieldAndStoredNowhere) {
  ExpectRefusedEverywhere(server_.address(), "here", token_);

  // The session goes on with what is no secret, and then all that is written is looked through.
  client_->Must(&Stub::BeginTurn, test::BeginRequest("here", token_));
  client_->Must(&Stub::CommitTurn, test::CommitRequest("here", token_, 1, kMarker));
  EXPECT_EQ(server_.Stop().exit_code, 0);
  EXPECT_THAT(FilesWith(kCanary), ::testing::IsEmpty());
  EXPECT_THAT(FilesWith(kTracedId), ::testing::Not(::testing::IsEmpty()))
      << "a trace id that is no secret is logged";
  EXPECT_THAT(FilesWith(kMarker), ::testing::Not(::testing::IsEmpty()));
  EXPECT_TRUE(absl::StrContains(server_.Log(), "SECRET_LEAK")) << "the log is looked through";
}

TEST_F(KnownSecret, ThatIsATraceIsNotTaken) {
  server_.Stop();
  std::ofstream(folder_.File("secret")) << kTracedId << "\n";
  ASSERT_TRUE(server_.Start()) << server_.Log();
  channel_ = Connected(server_.address());  // the stop ended its connection
  grpc::ClientContext context;
  context.AddMetadata("traceparent", kTraced);
  pb::CreateSessionResponse reply;
  EXPECT_TRUE(Stub(channel_).CreateSession(&context, test::CreateRequest("traced"), &reply).ok());
  server_.Stop();
  EXPECT_THAT(FilesWith(kTracedId), ::testing::IsEmpty());
}

TEST_F(KnownSecret, ThatIsMissingEndsTheStart) {
  server_.Stop();
  std::filesystem::remove(folder_.File("secret"));
  EXPECT_FALSE(server_.Start());
  EXPECT_TRUE(absl::StrContains(server_.Log(), "secrets.known[0]: the file")) << server_.Log();
}

}  // namespace
}  // namespace holdfast::testing

// The service config names every method once, retries what docs/api.md says may be sent again, is
// taken by gRPC, and is what this client follows.
#include "cli/service_config.h"

#include "cli/retry.h"
#include "holdfast/v1/admin_service.grpc.pb.h"
#include "holdfast/v1/session_service.grpc.pb.h"
#include "session/limits.h"
#include "tests/support/channel.h"
#include "tests/support/golden.h"

#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include <atomic>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace holdfast::cli {
namespace {

using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr char kSameRequest[] = "with the same request id";

// "holdfast.v1.SessionService/GetSession" -> the entry that names it.
std::map<std::string, nlohmann::json> EntriesByMethod() {
  std::map<std::string, nlohmann::json> entries;
  const auto config = nlohmann::json::parse(ServiceConfigJson());
  for (const auto& entry : config.at("methodConfig")) {
    for (const auto& name : entry.at("name")) {
      const std::string method =
          name.at("service").get<std::string>() + "/" + name.at("method").get<std::string>();
      EXPECT_TRUE(entries.emplace(method, entry).second) << method << " is named twice";
    }
  }
  return entries;
}

std::map<std::string, const google::protobuf::MethodDescriptor*> Methods() {
  std::map<std::string, const google::protobuf::MethodDescriptor*> methods;
  const auto& pool = *google::protobuf::DescriptorPool::generated_pool();
  for (const auto& file : std::filesystem::directory_iterator("protos/holdfast/v1")) {
    if (file.path().extension() != ".proto") continue;
    const auto* proto = pool.FindFileByName("holdfast/v1/" + file.path().filename().string());
    for (int s = 0; proto != nullptr && s < proto->service_count(); ++s) {
      for (int m = 0; m < proto->service(s)->method_count(); ++m) {
        const auto* method = proto->service(s)->method(m);
        methods[method->service()->full_name() + "/" + method->name()] = method;
      }
    }
  }
  return methods;
}

// gRPC code -> what the table of reasons in docs/api.md tells a client to do, over its reasons.
std::map<std::string, std::set<std::string>> AdviceByCode() {
  std::map<std::string, std::set<std::string>> advice;
  for (const absl::string_view line : absl::StrSplit(test::ReadProjectFile("docs/api.md"), '\n')) {
    const std::vector<std::string> cells = absl::StrSplit(line, " | ");
    // A reason that only a stream has comes with another advice, and streams are not retried.
    if (cells.size() < 5 || cells[0].find("| `") != 0 || cells[3] == "from the cursor") continue;
    advice[cells[1]].insert(cells[3]);
  }
  return advice;
}

TEST(ServiceConfig, NamesEveryMethodOnceAndNoOther) {
  const auto entries = EntriesByMethod();
  const auto methods = Methods();
  EXPECT_GE(methods.size(), 21);
  for (const auto& [name, method] : methods) EXPECT_EQ(entries.count(name), 1) << name;
  for (const auto& [name, entry] : entries) EXPECT_EQ(methods.count(name), 1) << name;
}

// A stream goes on from its last item, which only its reader knows.
TEST(ServiceConfig, RetriesWhatIsNoStream) {
  const auto entries = EntriesByMethod();
  for (const auto& [name, method] : Methods()) {
    const bool stream = method->client_streaming() || method->server_streaming();
    ASSERT_EQ(entries.count(name), 1) << name;
    EXPECT_EQ(entries.at(name).contains("retryPolicy"), !stream) << name;
    EXPECT_EQ(entries.at(name).contains("timeout"), !stream) << name;
    EXPECT_EQ(entries.at(name).value("waitForReady", false), !stream) << name;
  }
}

// A call has its time, and one that waits by its caller's wish has that much longer.
TEST(ServiceConfig, GivesACallItsDefaultDeadlineAndWhatItMayWait) {
  for (const auto& [name, entry] : EntriesByMethod()) {
    if (!entry.contains("timeout")) continue;
    const std::string text = entry.at("timeout").get<std::string>();
    absl::Duration timeout;
    ASSERT_TRUE(absl::ParseDuration(text, &timeout)) << name << " " << text;
    const bool waits = name == "holdfast.v1.SessionService/CloseSession";
    EXPECT_GE(timeout, kDefaultDeadline) << name;
    EXPECT_EQ(timeout > kDefaultDeadline + kDrainMost, waits) << name;
  }
}

TEST(ServiceConfig, RetriesTheCodesThatTheApiSaysToSendAgain) {
  auto advice = AdviceByCode();
  EXPECT_GE(advice.size(), 12);
  std::set<std::string> again;  // codes all of whose reasons may be sent again as they are
  for (const auto& [code, words] : advice) {
    if (words == std::set<std::string>{kSameRequest}) again.insert(code);
  }
  for (const auto& [name, entry] : EntriesByMethod()) {
    if (!entry.contains("retryPolicy")) continue;
    std::set<std::string> left = again;
    for (const auto& code : entry["retryPolicy"]["retryableStatusCodes"]) {
      EXPECT_EQ(left.erase(code.get<std::string>()), 1) << name << " " << code;
    }
    // Nobody waits any more for what was cancelled or came too late, and a person looks at a
    // defect first.
    EXPECT_THAT(left, UnorderedElementsAre("CANCELLED", "DEADLINE_EXCEEDED", "INTERNAL")) << name;
  }
}

// Says UNAVAILABLE until it has been asked often enough.
class Reluctant final : public v1::AdminService::Service {
 public:
  grpc::Status Echo(grpc::ServerContext*, const v1::EchoRequest*, v1::EchoResponse*) override {
    return ++asked_ < 3 ? grpc::Status(grpc::StatusCode::UNAVAILABLE, "not yet") : grpc::Status::OK;
  }
  [[nodiscard]] int asked() const { return asked_; }

 private:
  std::atomic<int> asked_ = 0;
};

TEST(ServiceConfig, IsTakenAndFollowedByGrpc) {
  Reluctant service;
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  grpc::ChannelArguments arguments;
  arguments.SetServiceConfigJSON(ServiceConfigJson());
  const auto channel = testing::Connected("127.0.0.1:" + std::to_string(port), arguments);
  grpc::ClientContext context;
  v1::EchoResponse reply;
  const grpc::Status status = v1::AdminService::NewStub(channel)->Echo(&context, {}, &reply);
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(service.asked(), 3);
}

TEST(ServiceConfig, IsTheFileAndWhatThisClientWaits) {
  EXPECT_EQ(ServiceConfigJson(), test::ReadProjectFile("protos/holdfast/v1/service_config.json"));
  const auto policy = nlohmann::json::parse(ServiceConfigJson())["methodConfig"][0]["retryPolicy"];
  const RetryPolicy mine;
  EXPECT_EQ(absl::FormatDuration(mine.first_pause), "100ms");
  EXPECT_EQ(policy["initialBackoff"], "0.1s");
  EXPECT_EQ(absl::FormatDuration(mine.longest_pause), policy["maxBackoff"]);
  EXPECT_EQ(ServiceBackoff().growth, policy["backoffMultiplier"].get<double>());
}

}  // namespace
}  // namespace holdfast::cli

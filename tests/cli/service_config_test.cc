// The service config names every method once and retries what the reasons of the API allow. gRPC
// accepts it, and the command line follows it.
#include "cli/service_config.h"

#include "cli/retry.h"
#include "holdfast/v1/admin_service.grpc.pb.h"
#include "session/limits.h"
#include "tests/support/channel.h"
#include "tests/support/golden.h"
#include "tests/support/method_rules.h"

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include <atomic>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace holdfast::cli {
namespace {

using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

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
  for (const auto* method : test::ApiMethods()) {
    methods[method->service()->full_name() + "/" + method->name()] = method;
  }
  return methods;
}

// gRPC status -> the advice of all reasons that have it.
std::map<std::string, std::set<v1::Retry>> AdviceByStatus() {
  std::map<std::string, std::set<v1::Retry>> advice;
  for (const ReasonRow& row : kReasonRows) {
    const v1::ReasonRules& rules = test::RulesOf(row.reason);
    // Only streams are refused so, and the library repeats no stream.
    if (rules.retry() == v1::RETRY_FROM_CURSOR) continue;
    advice[rules.status()].insert(rules.retry());
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

// A call has the default deadline, and one that waits on request has that much longer.
TEST(ServiceConfig, GivesACallItsDefaultDeadlineAndWhatItMayWait) {
  for (const auto& [name, entry] : EntriesByMethod()) {
    if (!entry.contains("timeout")) continue;
    const std::string text = entry.at("timeout").get<std::string>();
    absl::Duration timeout;
    ASSERT_TRUE(absl::ParseDuration(text, &timeout)) << name << " " << text;
    const bool waits = name == "holdfast.v1.SessionService/CloseSession" ||
                       name == "holdfast.v1.SessionService/ResumeSession";
    EXPECT_GE(timeout, kDefaultDeadline) << name;
    EXPECT_EQ(timeout > kDefaultDeadline + kWaitMost, waits) << name;
  }
}

TEST(ServiceConfig, RetriesTheStatusesWhoseReasonsAllAllowIt) {
  const auto advice = AdviceByStatus();
  EXPECT_GE(advice.size(), 12);
  std::set<std::string> again;  // statuses all of whose reasons allow the same request again
  for (const auto& [status, retries] : advice) {
    if (retries == std::set<v1::Retry>{v1::RETRY_SAME_REQUEST_ID}) again.insert(status);
  }
  for (const auto& [name, entry] : EntriesByMethod()) {
    if (!entry.contains("retryPolicy")) continue;
    std::set<std::string> left = again;
    for (const auto& code : entry["retryPolicy"]["retryableStatusCodes"]) {
      EXPECT_EQ(left.erase(code.get<std::string>()), 1) << name << " " << code;
    }
    // The caller no longer waits after CANCELLED or DEADLINE_EXCEEDED, and a defect (INTERNAL) may
    // repeat itself.
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

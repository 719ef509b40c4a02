// What the server offers: every method answers, reflection shows it, health says it.
#include "holdfast/version.h"
#include "server/healthcheck.h"
#include "tests/rpc/served.h"
#include "tests/support/details.h"
#include "tests/support/golden.h"

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <grpcpp/generic/generic_stub.h>

#include <set>
#include <string>

namespace holdfast::test {
namespace {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;
using ::testing::HasSubstr;

class SurfaceRpc : public Served {
 protected:
  // Sends an empty request to a method by its name and answers the status.
  grpc::Status SendEmpty(const std::string& method) {
    grpc::GenericStub stub(channel());
    grpc::CompletionQueue queue;
    grpc::ClientContext context;
    const auto call = stub.PrepareCall(&context, method, &queue);
    grpc::ByteBuffer response;
    grpc::Status status;
    int step = 0;
    void* tag = nullptr;
    bool ok = false;
    call->StartCall(&step);
    queue.Next(&tag, &ok);
    call->WriteLast(grpc::ByteBuffer(nullptr, 0), grpc::WriteOptions(), &step);
    queue.Next(&tag, &ok);
    do {
      call->Read(&response, &step);
      queue.Next(&tag, &ok);
    } while (ok);
    call->Finish(&status, &step);
    queue.Next(&tag, &ok);
    queue.Shutdown();
    while (queue.Next(&tag, &ok)) {
    }
    return status;
  }

  // Sends one encoded request to the reflection service and answers the encoded response.
  std::string Reflect(const std::string& request) {
    grpc::GenericStub stub(channel());
    grpc::CompletionQueue queue;
    grpc::ClientContext context;
    const auto call = stub.PrepareCall(
        &context, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", &queue);
    const grpc::Slice slice(request);
    grpc::ByteBuffer response;
    grpc::Status status;
    int step = 0;
    void* tag = nullptr;
    bool ok = false;
    call->StartCall(&step);
    queue.Next(&tag, &ok);
    call->WriteLast(grpc::ByteBuffer(&slice, 1), grpc::WriteOptions(), &step);
    queue.Next(&tag, &ok);
    call->Read(&response, &step);
    queue.Next(&tag, &ok);
    call->Finish(&status, &step);
    queue.Next(&tag, &ok);
    queue.Shutdown();
    while (queue.Next(&tag, &ok)) {
    }
    EXPECT_TRUE(status.ok()) << status.error_message();
    grpc::Slice whole;
    EXPECT_TRUE(response.DumpToSingleSlice(&whole).ok());
    return {reinterpret_cast<const char*>(whole.begin()), whole.size()};
  }

  grpc::Status AskHealthOf(const std::string& service, HealthCheckResponse& response) {
    grpc::ClientContext context;
    HealthCheckRequest request;
    request.set_service(service);
    return health().Check(&context, request, &response);
  }
};

TEST_F(SurfaceRpc, EveryMethodOfEveryServiceAnswers) {
  int methods = 0;
  for (const char* name : {"holdfast.v1.SessionService", "holdfast.v1.StoreService",
                           "holdfast.v1.ItemService", "holdfast.v1.AdminService"}) {
    const auto* service =
        google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(name);
    ASSERT_NE(service, nullptr);
    for (int i = 0; i < service->method_count(); ++i, ++methods) {
      const std::string method = service->method(i)->name();
      const grpc::Status status = SendEmpty("/" + std::string(name) + "/" + method);
      EXPECT_NE(status.error_code(), grpc::StatusCode::UNIMPLEMENTED) << method;
      // An empty request is refused for a field of it, or it is a question that needs none.
      const std::set<std::string> asks_nothing = {
          "ListSessions",  "RenewLeases", "Status",          "Echo",
          "DescribeStore", "CheckStore",  "BatchGetSessions"};
      EXPECT_EQ(status.ok(), asks_nothing.contains(method)) << method;
      EXPECT_EQ(ReasonOf(status), status.ok() ? "" : "INVALID_FIELD") << method;
    }
  }
  EXPECT_EQ(methods, 41);
}

TEST_F(SurfaceRpc, AMethodThatIsNoneIsUnimplemented) {
  EXPECT_EQ(SendEmpty("/holdfast.v1.SessionService/Nothing").error_code(),
            grpc::StatusCode::UNIMPLEMENTED);
}

TEST_F(SurfaceRpc, HealthIsPerService) {
  HealthCheckResponse response;
  for (const char* service : {"", "holdfast.v1.SessionService", "holdfast.v1.StoreService",
                              "holdfast.v1.AdminService", "liveness"}) {
    ASSERT_TRUE(AskHealthOf(service, response).ok()) << service;
    EXPECT_EQ(response.status(), HealthCheckResponse::SERVING) << service;
  }
  EXPECT_EQ(AskHealthOf("another.Service", response).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(SurfaceRpc, ReflectionShowsEveryServiceHealthToo) {
  const std::string services = Reflect("\x3a\x01*");  // list_services: "*"
  for (const char* name : {"holdfast.v1.SessionService", "holdfast.v1.StoreService",
                           "holdfast.v1.AdminService", "grpc.health.v1.Health"}) {
    EXPECT_NE(services.find(name), std::string::npos) << name;
    // file_containing_symbol: the name; the answer is the file's descriptor.
    const std::string symbol = name;
    const std::string file =
        Reflect(std::string("\x22") + static_cast<char>(symbol.size()) + symbol);
    EXPECT_NE(file.find(".proto"), std::string::npos) << name;
  }
}

TEST_F(SurfaceRpc, HealthcheckSaysWhatItFinds) {
  EXPECT_TRUE(AskHealth({.address = app().address()}).ok());
  const std::string address = app().address();
  Stop();
  EXPECT_EQ(AskHealth({.address = address}).code(), absl::StatusCode::kUnavailable);
}

TEST_F(SurfaceRpc, TheStartLogsWhatTheContainerLeaves) {
  container() = {.memory_bytes = 1024 * kMiB, .cores = 0.5};
  app();
  const std::string line = AwaitLog("\"serving\"");
  EXPECT_THAT(line, HasSubstr("\"cores\":1,\"container_cores\":0.5,\"container_bytes\":1073741824,"
                              "\"memory_budget_bytes\":536870912,"
                              "\"process_limit_bytes\":805306368}"));
  EXPECT_EQ(LogLines().size(), 1) << "no warning";
}

TEST_F(SurfaceRpc, TheStartWarnsOfABudgetThatDoesNotFitTheContainer) {
  container() = {.memory_bytes = 1024 * kMiB};
  config().limits.memory_budget = 513 * kMiB;
  app();
  EXPECT_THAT(AwaitLog("more than half of the container's memory"),
              HasSubstr("\"memory_budget_bytes\":537919488,\"container_bytes\":1073741824}"));
}

TEST_F(SurfaceRpc, StatusSaysWhatServes) {
  grpc::ClientContext context;
  pb::StatusResponse response;
  ASSERT_TRUE(admin().Status(&context, {}, &response).ok());
  EXPECT_EQ(response.version(), kVersion);
  EXPECT_EQ(response.store_name(), "local");
  EXPECT_EQ(response.store_id(), disk().store.value());
  EXPECT_TRUE(response.serving());
  EXPECT_EQ(response.workers(), 4);
  EXPECT_EQ(response.calls_in_progress(), 1);
  EXPECT_GT(response.resources().memory_bytes(), 0);
  EXPECT_EQ(response.resources().staged_bytes(), 0);
  EXPECT_EQ(response.resources().streams(), 0);
  EXPECT_EQ(response.resources().watchers(), 0);
  EXPECT_EQ(response.resources().connections(), 1);
  EXPECT_GT(response.resources().requests_parsed(), 0);
}

TEST_F(SurfaceRpc, EchoAnswersWhatItWasSent) {
  grpc::ClientContext context;
  pb::EchoRequest request;
  request.set_payload("payload");
  pb::EchoResponse response;
  ASSERT_TRUE(admin().Echo(&context, request, &response).ok());
  EXPECT_EQ(response.payload(), "payload");
}

TEST_F(SurfaceRpc, TheVersionIsTheProjects) {
  EXPECT_NE(ReadProjectFile("CMakeLists.txt").find(absl::StrCat("VERSION ", kVersion, " ")),
            std::string::npos);
}

TEST_F(SurfaceRpc, TheReadyLineNamesEverything) {
  const std::string line = app().ReadyLine();
  EXPECT_EQ(line.find("holdfastd ready: address=127.0.0.1:"), 0) << line;
  EXPECT_NE(line.find(" store=local "), std::string::npos) << line;
  EXPECT_NE(line.find(" store_id=" + disk().store.value() + " pid="), std::string::npos) << line;
}

}  // namespace
}  // namespace holdfast::test

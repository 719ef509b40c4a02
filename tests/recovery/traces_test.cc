// The spans of a real server process: they are exported when it is asked to stop, and the variables
// of OpenTelemetry configure it.
#include "tests/support/requests.h"
#include "tests/support/server_process.h"
#include "tests/support/trace_collector.h"
#include "tests/support/wire_client.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Pair;

// Variables of the environment of processes that are started while this lives.
class Variables final {
 public:
  // NOLINTBEGIN(concurrency-mt-unsafe): no other thread reads the environment
  explicit Variables(std::map<std::string, std::string> values) : values_(std::move(values)) {
    for (const auto& [name, value] : values_) setenv(name.c_str(), value.c_str(), 1);
  }
  Variables(const Variables&) = delete;
  Variables& operator=(const Variables&) = delete;
  ~Variables() {
    for (const auto& [name, value] : values_) unsetenv(name.c_str());
  }
  // NOLINTEND(concurrency-mt-unsafe)

 private:
  const std::map<std::string, std::string> values_;
};

TEST(Traces, AStoppedServerHasExportedEverySpan) {
  TestFolder folder;
  TraceCollector collector;
  const Variables variables(
      {{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://" + collector.address()},
       {"OTEL_SERVICE_NAME", "sessions"},
       {"OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=the%20test"}});
  ServerProcess server(folder, {.more = "telemetry: {otlp_endpoint: 'absent.invalid:1'}\n"});
  ASSERT_TRUE(server.Start());
  constexpr int kCalls = 30;
  {
    WireClient client(server.address());
    for (int i = 0; i < kCalls; ++i) {
      const auto answer =
          client.Ask(&WireClient::Stub::CreateSession, test::CreateRequest(absl::StrCat("s", i)));
      ASSERT_EQ(answer.verdict.reason, "OK");
    }
  }
  EXPECT_EQ(server.Stop().exit_code, 0);
  std::vector<ExportedSpan> spans = collector.Spans();
  const size_t exported = spans.size();
  std::erase_if(
      spans, [](const ExportedSpan& span) { return !AttributesOf(span).contains("session.id"); });
  // Of each the call, the store's part and the transition.
  EXPECT_EQ(spans.size(), 3 * kCalls);
  EXPECT_THAT(collector.Resource(),
              AllOf(Contains(Pair("service.name", "sessions")),
                    Contains(Pair("deployment.environment.name", "the test"))));
  EXPECT_THAT(server.Log(), HasSubstr(absl::StrCat("\"exported\":", exported, ",")));
  EXPECT_THAT(server.Log(), HasSubstr("\"dropped_stopped\":0"));
}

}  // namespace
}  // namespace holdfast::testing

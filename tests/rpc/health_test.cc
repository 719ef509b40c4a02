// The health service: what it says, to how many at once, and until when.
#include "session/limits.h"
#include "tests/rpc/served.h"
#include "tests/support/details.h"

#include <memory>
#include <string>
#include <vector>

namespace holdfast::test {
namespace {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

class HealthRpc : public Served {
 protected:
  struct Watch {
    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientReader<HealthCheckResponse>> reader;

    // The next status; UNKNOWN when the stream has ended.
    HealthCheckResponse::ServingStatus Next() {
      HealthCheckResponse response;
      return reader->Read(&response) ? response.status() : HealthCheckResponse::UNKNOWN;
    }
  };

  std::unique_ptr<Watch> StartWatch(const std::string& service = "") {
    auto watch = std::make_unique<Watch>();
    HealthCheckRequest request;
    request.set_service(service);
    watch->reader = health().Watch(&watch->context, request);
    return watch;
  }
};

TEST_F(HealthRpc, AWatchTellsWhatChangesAndEndsWithTheServer) {
  const auto watch = StartWatch("holdfast.v1.SessionService");
  EXPECT_EQ(watch->Next(), HealthCheckResponse::SERVING);
  app().RequestStop();
  EXPECT_EQ(watch->Next(), HealthCheckResponse::NOT_SERVING);
  EXPECT_EQ(watch->Next(), HealthCheckResponse::UNKNOWN);
  EXPECT_EQ(ReasonOf(watch->reader->Finish()), "STORE_UNAVAILABLE");
  EXPECT_EQ(Stop(), 0);
}

TEST_F(HealthRpc, AWatchOfAServiceThatIsNoneIsNotFound) {
  const auto watch = StartWatch("another.Service");
  EXPECT_EQ(watch->Next(), HealthCheckResponse::UNKNOWN);
  EXPECT_EQ(watch->reader->Finish().error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(HealthRpc, MoreWatchesThanTheLimitAreRefusedUntilOneEnds) {
  std::vector<std::unique_ptr<Watch>> watches;
  for (size_t i = 0; i < kHealthWatches; ++i) {
    watches.push_back(StartWatch());
    ASSERT_EQ(watches.back()->Next(), HealthCheckResponse::SERVING);
  }
  const auto refused = StartWatch();
  ASSERT_EQ(refused->Next(), HealthCheckResponse::UNKNOWN) << "it is one too many";
  EXPECT_EQ(ReasonOf(refused->reader->Finish()), "OVERLOADED");

  watches.back()->context.TryCancel();
  EXPECT_EQ(watches.back()->reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
  watches.pop_back();
  while (StartWatch()->Next() != HealthCheckResponse::SERVING) {
  }
  for (const auto& watch : watches) watch->context.TryCancel();
}

TEST_F(HealthRpc, RefusesALargeRequest) {
  HealthCheckRequest large;
  large.set_service(std::string(kProbeRequestBytes + 1, 'x'));
  grpc::ClientContext context;
  HealthCheckResponse response;
  EXPECT_EQ(ReasonOf(health().Check(&context, large, &response)), "TOO_LARGE");
  const auto watch = StartWatch(large.service());
  ASSERT_EQ(watch->Next(), HealthCheckResponse::UNKNOWN);
  EXPECT_EQ(ReasonOf(watch->reader->Finish()), "TOO_LARGE");
}

// A check must not wait for the store, or a store that hangs would look like a server that does.
TEST_F(HealthRpc, ACheckDoesNotAskTheStore) {
  Create("one");
  script().Hold();
  grpc::ClientContext context;
  HealthCheckResponse response;
  EXPECT_TRUE(health().Check(&context, {}, &response).ok());
  EXPECT_EQ(response.status(), HealthCheckResponse::SERVING);
  script().Release();
}

}  // namespace
}  // namespace holdfast::test

#include "server/healthcheck.h"

#include "platform/clock.h"

#include "absl/time/time.h"
#include <grpc/health/v1/health.grpc.pb.h>
#include <grpcpp/grpcpp.h>

namespace holdfast {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(3);

std::string Reachable(const std::string& address) {
  const size_t port = address.rfind(':') + 1;
  const std::string host = address.substr(0, port);
  if (host == "0.0.0.0:") return "127.0.0.1:" + address.substr(port);
  if (host == "[::]:") return "[::1]:" + address.substr(port);
  return address;
}

}  // namespace

absl::Status AskHealth(const HealthQuery& query) {
  const std::string target = Reachable(query.address);
  const auto stub = grpc::health::v1::Health::NewStub(
      grpc::CreateChannel(target, grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(SystemClock().Wall() + kPatience));
  context.set_wait_for_ready(false);
  grpc::health::v1::HealthCheckRequest request;
  request.set_service(query.service);
  grpc::health::v1::HealthCheckResponse response;
  const grpc::Status asked = stub->Check(&context, request, &response);
  if (!asked.ok()) return absl::UnavailableError(target + ": no answer: " + asked.error_message());
  if (response.status() != grpc::health::v1::HealthCheckResponse::SERVING) {
    return absl::UnavailableError(target + ": not serving");
  }
  return absl::OkStatus();
}

}  // namespace holdfast

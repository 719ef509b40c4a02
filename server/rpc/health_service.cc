#include "server/rpc/health_service.h"

#include "server/rpc/call/status.h"
#include "server/rpc/call/unary_reactor.h"
#include "session/limits.h"
#include "session/refusal.h"

#include <algorithm>

namespace holdfast {
namespace {

class CheckReactor final : public UnaryReactor {
 public:
  CheckReactor(Edge& edge, grpc::CallbackServerContext& context, const Bytes& request)
      : UnaryReactor(edge, context) {
    CountMessage(edge, context, 0);
    if (edge.resets != nullptr && (!request.Valid() || context.IsCancelled())) {
      edge.resets->Count(context.peer(), edge.clock.SinceBoot());
    }
  }
};

}  // namespace

HealthService::Subject HealthService::SubjectOf(const Bytes& request) const {
  if (request.Length() > kProbeRequestBytes) {
    return {.status = ToGrpcStatus(TooLarge("request", kProbeRequestBytes, request.Length()), {})};
  }
  Received<grpc::health::v1::HealthCheckRequest> received;
  if (const absl::Status parsed = received.Parse(request, kMiB); !parsed.ok()) {
    return {.status = ToGrpcStatus(RefusalOf(parsed), {})};
  }
  const std::string& name = (*received).service();
  if (name == kLiveness) return {.subject = HealthSubject::kLiveness};
  if (std::ranges::find(services_, name) != services_.end()) return {};
  return {.status = {grpc::StatusCode::NOT_FOUND, "this server has no service of this name"}};
}

grpc::ServerUnaryReactor* HealthService::Check(grpc::CallbackServerContext* context,
                                               const Bytes* request, Bytes* response) {
  auto* const reactor = MakeReactor<CheckReactor>(edge_, *context, *request);
  const auto [status, subject] = SubjectOf(*request);
  if (status.ok()) {
    // Liveness is evaluated now: the thread that notifies watches may be what makes no progress.
    *response =
        HealthResponse(subject == HealthSubject::kLiveness ? Alive() : watches_.serving(subject));
  }
  reactor->Answer(status);
  return reactor;
}

grpc::ServerWriteReactor<Bytes>* HealthService::Watch(grpc::CallbackServerContext* context,
                                                      const Bytes* request) {
  const auto [status, subject] = SubjectOf(*request);
  if (!status.ok()) return RefuseHealthWatch(status);
  return StartHealthWatch(edge_, *context, watches_, subject);
}

}  // namespace holdfast

#include "server/rpc/health_service.h"

#include "server/rpc/status.h"
#include "server/rpc/unary_reactor.h"
#include "session/limits.h"
#include "session/refusal.h"
#include "session/saboteur.h"

#include <algorithm>

namespace holdfast {
namespace {

class CheckReactor final : public UnaryReactor {
 public:
  CheckReactor(Edge& edge, grpc::CallbackServerContext& context) : UnaryReactor(edge, context) {
    CountMessage(edge, context, 0);
    if (edge.resets != nullptr && context.IsCancelled()) {
      edge.resets->Count(context.peer(), edge.clock.SinceBoot());
    }
  }
};

}  // namespace

grpc::Status HealthService::CheckRequest(const Bytes& request) const {
  if (request.Length() > kProbeRequestBytes && !Sabotaged(Saboteur::kNoProbeBounds)) {
    return ToGrpcStatus(TooLarge("request", kProbeRequestBytes, request.Length()), {});
  }
  Received<grpc::health::v1::HealthCheckRequest> received;
  if (const absl::Status parsed = received.Parse(request, kMiB); !parsed.ok()) {
    return ToGrpcStatus(parsed, {});
  }
  if (std::find(services_.begin(), services_.end(), (*received).service()) == services_.end()) {
    return {grpc::StatusCode::NOT_FOUND, "this server has no service of this name"};
  }
  return grpc::Status::OK;
}

grpc::ServerUnaryReactor* HealthService::Check(grpc::CallbackServerContext* context,
                                               const Bytes* request, Bytes* response) {
  auto* const reactor = MakeReactor<CheckReactor>(edge_, *context);
  const grpc::Status status = CheckRequest(*request);
  if (status.ok()) *response = HealthResponse(watches_.serving());
  reactor->Answer(status);
  return reactor;
}

grpc::ServerWriteReactor<Bytes>* HealthService::Watch(grpc::CallbackServerContext* context,
                                                      const Bytes* request) {
  const grpc::Status status = CheckRequest(*request);
  if (!status.ok()) return RefuseHealthWatch(status);
  return StartHealthWatch(edge_, *context, watches_);
}

}  // namespace holdfast

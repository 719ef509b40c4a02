#include "server/rpc/health_service.h"

#include <algorithm>

namespace holdfast {
namespace {

grpc::Status NotKnown() {
  return {grpc::StatusCode::NOT_FOUND, "this server has no service of this name"};
}

}  // namespace

bool HealthService::Knows(const std::string& service) const {
  return std::find(services_.begin(), services_.end(), service) != services_.end();
}

grpc::ServerUnaryReactor* HealthService::Check(grpc::CallbackServerContext* context,
                                               const Request* request, Response* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  if (!Knows(request->service())) {
    reactor->Finish(NotKnown());
    return reactor;
  }
  response->set_status(HealthStatus(watches_.serving()));
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

grpc::ServerWriteReactor<HealthService::Response>* HealthService::Watch(
    grpc::CallbackServerContext*, const Request* request) {
  if (!Knows(request->service())) return RefuseHealthWatch(NotKnown());
  return StartHealthWatch(watches_);
}

}  // namespace holdfast

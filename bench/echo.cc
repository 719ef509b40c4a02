#include "bench/echo.h"

#include "bench/served.h"

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>

#include <iostream>

namespace holdfast::bench {
namespace {

class BareEcho final : public v1::AdminService::CallbackService {
 public:
  grpc::ServerUnaryReactor* Echo(grpc::CallbackServerContext* context,
                                 const v1::EchoRequest* request,
                                 v1::EchoResponse* response) override {
    response->set_payload(request->payload());
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
};

}  // namespace

void EchoSlot::Start(grpc::CompletionQueue& queue, void* tag) {
  request_.set_payload(fresh_.Take(bytes_));
  call_.Start(queue, tag,
              [this](auto* context, auto* by) { return stub_.AsyncEcho(context, request_, by); });
}

absl::Status EchoSlot::End() {
  if (!call_.status().ok()) return FailedCall("Echo", call_.status());
  const bool same = call_.response().payload() == request_.payload();
  return same ? absl::OkStatus() : absl::DataLossError("Echo changed bytes");
}

int ServeBareEcho() {
  BareEcho service;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr || port == 0) return 1;
  std::cout << "ready: address=127.0.0.1:" << port << std::endl;
  server->Wait();
  return 0;
}

}  // namespace holdfast::bench

#include "bench/echo.h"

#include "bench/served.h"

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>

#include <iostream>
#include <utility>

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

void EchoSlot::Start(Done done) {
  request_.set_payload(fresh_.Take(bytes_));
  context_.emplace();
  stub_.async()->Echo(&*context_, &request_, &response_,
                      [this, done = std::move(done)](const grpc::Status& status) {
                        if (!status.ok()) return done(FailedCall("Echo", status));
                        const bool same = response_.payload() == request_.payload();
                        done(same ? absl::OkStatus() : absl::DataLossError("Echo changed bytes"));
                      });
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

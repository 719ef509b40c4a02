#include "bench/echo.h"

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>

#include <iostream>
#include <utility>

namespace holdfast::bench {
namespace {

// Of no field of EchoRequest, and short enough for a tag of one byte, as that of a payload.
constexpr int kUnknownField = 15;

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
  request_.Clear();
  if (reply_ == EchoReply::kBytes) {
    request_.set_payload(fresh_.Take(bytes_));
  } else {
    request_.GetReflection()->MutableUnknownFields(&request_)->AddLengthDelimited(
        kUnknownField, fresh_.Take(bytes_));
  }
  call_.Start(queue, tag,
              [this](auto* context, auto* by) { return stub_.AsyncEcho(context, request_, by); });
}

absl::Status EchoSlot::End() {
  if (!call_.status().ok()) return FailedCall("Echo", call_.status());
  const bool right = call_.response().payload() == request_.payload();
  return right ? absl::OkStatus() : absl::DataLossError("Echo changed bytes");
}

std::vector<std::unique_ptr<EchoSlot>> MakeEchoes(v1::AdminService::Stub& stub, size_t count,
                                                  EchoReply reply, size_t bytes) {
  std::vector<std::unique_ptr<EchoSlot>> slots;
  for (size_t at = 0; at < count; ++at) {
    slots.push_back(std::make_unique<EchoSlot>(stub, reply, bytes));
  }
  return slots;
}

Contender EmptyEcho(std::string name, Served& served, size_t in_flight, size_t bytes) {
  using Slots = std::vector<std::unique_ptr<EchoSlot>>;
  const auto slots = std::make_shared<const Slots>(
      MakeEchoes(served.admin(), in_flight, EchoReply::kNothing, bytes));
  return {.name = std::move(name),
          .run = [slots](uint64_t count) { return Drive(SlotsOf(*slots), count); },
          .process = &served.process()};
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

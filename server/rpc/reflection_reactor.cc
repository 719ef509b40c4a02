#include "server/rpc/reflection_reactor.h"

#include "server/rpc/admission.h"
#include "server/rpc/status.h"

namespace holdfast {
namespace {

// A read and a write are never under way together.
class Reactor final
    : public grpc::ServerBidiReactor<ReflectionService::Request, ReflectionService::Response> {
 public:
  Reactor(const std::vector<std::string>& services, std::atomic<size_t>& streams)
      : services_(services), streams_(streams) {
    if (streams_.fetch_add(1) < kReflectionStreams) {
      StartRead(&request_);
    } else {
      Finish(ToGrpcStatus(Overloaded("reflection.streams"), {}));
    }
  }

  void OnReadDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::OK);
    response_ = Reflect(services_, request_);
    StartWrite(&response_);
  }

  void OnWriteDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::CANCELLED);
    StartRead(&request_);
  }

  void OnDone() override {
    streams_.fetch_sub(1);
    delete this;
  }

 private:
  const std::vector<std::string>& services_;
  std::atomic<size_t>& streams_;
  ReflectionService::Request request_;
  ReflectionService::Response response_;
};

}  // namespace

grpc::ServerBidiReactor<ReflectionService::Request, ReflectionService::Response>* StartReflection(
    const std::vector<std::string>& services, std::atomic<size_t>& streams) {
  return new Reactor(services, streams);
}

}  // namespace holdfast

// grpc.reflection.v1alpha.ServerReflection: what this server offers, for tools that have no protos.
// The library's own has no bound, and holds a thread for each of its streams.
#ifndef HOLDFAST_SERVER_RPC_REFLECTION_SERVICE_H_
#define HOLDFAST_SERVER_RPC_REFLECTION_SERVICE_H_

#include <grpc/reflection/v1alpha/reflection.grpc.pb.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace holdfast {

// Streams of the reflection service at once. One that is idle holds one message.
inline constexpr size_t kReflectionStreams = 16;

// The answer of a server with `services` to one question.
grpc::reflection::v1alpha::ServerReflectionResponse Reflect(
    const std::vector<std::string>& services,
    const grpc::reflection::v1alpha::ServerReflectionRequest& request);

class ReflectionService final
    : public grpc::reflection::v1alpha::ServerReflection::CallbackService {
 public:
  using Request = grpc::reflection::v1alpha::ServerReflectionRequest;
  using Response = grpc::reflection::v1alpha::ServerReflectionResponse;

  // Lists `services`, and itself; the files of all messages can be asked for.
  explicit ReflectionService(std::vector<std::string> services);

  // At most kReflectionStreams at once; one more is OVERLOADED.
  grpc::ServerBidiReactor<Request, Response>* ServerReflectionInfo(
      grpc::CallbackServerContext* context) override;

 private:
  std::vector<std::string> services_;
  std::atomic<size_t> streams_ = 0;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_REFLECTION_SERVICE_H_

// grpc.reflection.v1alpha.ServerReflection: what this server offers, for tools that have no protos.
// The library's own has no bound, and holds a thread for each of its streams.
#ifndef HOLDFAST_SERVER_RPC_REFLECTION_SERVICE_H_
#define HOLDFAST_SERVER_RPC_REFLECTION_SERVICE_H_

#include "server/rpc/call/call.h"
#include "server/rpc/call/raw_methods.h"
#include "server/rpc/call/wire.h"

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

using RawReflectionService = RawMethods<
    grpc::reflection::v1alpha::ServerReflection::Service,
    grpc::reflection::v1alpha::ServerReflection::WithRawCallbackMethod_ServerReflectionInfo>;

class ReflectionService final : public RawReflectionService {
 public:
  // Lists `services`, and itself; the files of all messages can be asked for. `edge` must outlive
  // this.
  ReflectionService(Edge& edge, std::vector<std::string> services);

  // At most kReflectionStreams at once; one more is OVERLOADED. TOO_LARGE for a request over
  // kProbeRequestBytes, INVALID_FIELD for one that is none, DEADLINE for a stream whose client
  // sends nothing, or reads nothing.
  grpc::ServerBidiReactor<Bytes, Bytes>* ServerReflectionInfo(
      grpc::CallbackServerContext* context) override;

 private:
  Edge& edge_;
  std::vector<std::string> services_;
  std::atomic<size_t> streams_ = 0;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_REFLECTION_SERVICE_H_

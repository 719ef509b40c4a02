// grpc.health.v1.Health: SERVING or NOT_SERVING, the same for every service of this server. Neither
// method looks at the store, and neither writes a line in the log.
#ifndef HOLDFAST_SERVER_RPC_HEALTH_SERVICE_H_
#define HOLDFAST_SERVER_RPC_HEALTH_SERVICE_H_

#include "server/rpc/health_watch_reactor.h"

#include <grpc/health/v1/health.grpc.pb.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <string>
#include <utility>
#include <vector>

namespace holdfast {

class HealthService final : public grpc::health::v1::Health::CallbackService {
 public:
  using Request = grpc::health::v1::HealthCheckRequest;
  using Response = grpc::health::v1::HealthCheckResponse;

  // Answers for `services`, the empty name among them if it answers for the server.
  explicit HealthService(std::vector<std::string> services) : services_(std::move(services)) {}

  // What is answered from now on; those who watch are told. Any thread may call.
  void SetServing(bool serving) { watches_.SetServing(serving); }
  // Ends every watch, and those to come. Any thread may call.
  void EndWatches() { watches_.End(); }

  grpc::ServerUnaryReactor* Check(grpc::CallbackServerContext* context, const Request* request,
                                  Response* response) override;
  // At most kHealthWatches at once; one more is OVERLOADED.
  grpc::ServerWriteReactor<Response>* Watch(grpc::CallbackServerContext* context,
                                            const Request* request) override;

 private:
  [[nodiscard]] bool Knows(const std::string& service) const;

  const std::vector<std::string> services_;
  HealthWatches watches_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_HEALTH_SERVICE_H_

// grpc.health.v1.Health: SERVING or NOT_SERVING, the same for every service of this server
// (readiness), and whether the process makes progress by the name of `liveness`, which no state of
// the store changes (ADR 37). Neither method looks at the store, needs a worker or writes a
// line in the log: a check is answered while every worker is busy, on the thread that brought it,
// and therefore takes a small request alone.
#ifndef HOLDFAST_SERVER_RPC_HEALTH_SERVICE_H_
#define HOLDFAST_SERVER_RPC_HEALTH_SERVICE_H_

#include "server/rpc/call/call.h"
#include "server/rpc/call/raw_methods.h"
#include "server/rpc/call/wire.h"
#include "server/rpc/health_watch_reactor.h"
#include "server/worker_stall.h"

#include <grpc/health/v1/health.grpc.pb.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <string>
#include <utility>
#include <vector>

namespace holdfast {

using RawHealthService = RawMethods<grpc::health::v1::Health::Service,
                                    grpc::health::v1::Health::WithRawCallbackMethod_Check,
                                    grpc::health::v1::Health::WithRawCallbackMethod_Watch>;

// A name that the health service answers to, beside those of services.
inline constexpr char kLiveness[] = "liveness";

class HealthService final : public RawHealthService {
 public:
  // Answers for `services`, the empty name among them if it answers for the server, and for
  // kLiveness by `stall`. `edge` and `stall` must outlive this.
  HealthService(Edge& edge, std::vector<std::string> services, const WorkerStall& stall)
      : edge_(edge), services_(std::move(services)), stall_(stall) {}

  // Sets the status of the services and notifies the watches. Any thread may call.
  void SetServing(bool serving) { watches_.SetServing(HealthSubject::kReadiness, serving); }
  // Notifies the watches of kLiveness of its current status. Any thread may call.
  void NotifyLiveness() { watches_.SetServing(HealthSubject::kLiveness, Alive()); }
  // Ends every watch, and those to come. Any thread may call.
  void EndWatches() { watches_.End(); }

  // Both: TOO_LARGE for a request over kProbeRequestBytes, INVALID_FIELD for one that is none, and
  // NOT_FOUND, without details, for a service that is not among those of this server.
  grpc::ServerUnaryReactor* Check(grpc::CallbackServerContext* context, const Bytes* request,
                                  Bytes* response) override;
  // At most kHealthWatches at once; one more is OVERLOADED.
  grpc::ServerWriteReactor<Bytes>* Watch(grpc::CallbackServerContext* context,
                                         const Bytes* request) override;

 private:
  // What is asked about, or the status that refuses it.
  struct Subject {
    grpc::Status status;
    HealthSubject subject = HealthSubject::kReadiness;
  };
  [[nodiscard]] Subject SubjectOf(const Bytes& request) const;
  [[nodiscard]] bool Alive() const { return !stall_.Stalled(edge_.clock.SinceBoot()); }

  Edge& edge_;
  const std::vector<std::string> services_;
  const WorkerStall& stall_;
  HealthWatches watches_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_HEALTH_SERVICE_H_

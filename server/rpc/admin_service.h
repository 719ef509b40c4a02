// holdfast.v1.AdminService: facts about the server itself.
#ifndef HOLDFAST_SERVER_RPC_ADMIN_SERVICE_H_
#define HOLDFAST_SERVER_RPC_ADMIN_SERVICE_H_

#include "holdfast/v1/admin_service.grpc.pb.h"
#include "server/rpc/raw_methods.h"
#include "server/rpc/unary.h"
#include "session/store.h"

#include "absl/time/time.h"

#include <string>
#include <vector>

namespace holdfast {

namespace pb = ::holdfast::v1;

// What Status says and does not change while the server runs.
struct ServerFacts {
  std::string version;
  std::string store_name;
  absl::Duration started;  // since boot
  std::vector<std::string> warnings;
};

using RawAdminService =
    RawMethods<pb::AdminService::Service, pb::AdminService::WithRawCallbackMethod_Status,
               pb::AdminService::WithRawCallbackMethod_Echo>;

class AdminService final : public RawAdminService {
 public:
  // `edge` and `store` must outlive this.
  AdminService(Edge& edge, SessionStore& store, ServerFacts facts)
      : edge_(edge), store_(store), facts_(std::move(facts)) {}

  using Context = grpc::CallbackServerContext;
  using Reactor = grpc::ServerUnaryReactor;

  Reactor* Status(Context* context, const Bytes* request, Bytes* response) override;
  Reactor* Echo(Context* context, const Bytes* request, Bytes* response) override;

 private:
  absl::Status Describe(pb::StatusResponse& response);

  Edge& edge_;
  SessionStore& store_;
  const ServerFacts facts_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_ADMIN_SERVICE_H_

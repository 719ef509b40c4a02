// holdfast.v1.AdminService: facts about the server itself.
#ifndef HOLDFAST_SERVER_RPC_ADMIN_SERVICE_H_
#define HOLDFAST_SERVER_RPC_ADMIN_SERVICE_H_

#include "holdfast/v1/admin_service.grpc.pb.h"
#include "server/rpc/call/raw_methods.h"
#include "server/rpc/call/unary.h"
#include "session/store.h"

#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace holdfast {

namespace pb = ::holdfast::v1;

// What does not change while the server runs.
struct ServerFacts {
  std::string version;
  std::string store_name;
  absl::Duration started;             // since boot
  std::vector<std::string> warnings;  // beside those of the store, which may change
  bool echo = false;                  // whether Echo is offered
};

// What clients hold of this server; nothing once they have all gone.
struct ResourceUse {
  size_t calls = 0;
  size_t memory_bytes = 0;    // of limits.memory_budget
  uint64_t staged_bytes = 0;  // of limits.staged_bytes
  size_t streams = 0;         // watches excepted
  size_t watchers = 0;
  size_t connections = 0;  // as of the last look
  bool operator==(const ResourceUse&) const = default;
};

using RawAdminService =
    RawMethods<pb::AdminService::Service, pb::AdminService::WithRawCallbackMethod_Status,
               pb::AdminService::WithRawCallbackMethod_Echo>;

class AdminService final : public RawAdminService {
 public:
  using Resources = absl::AnyInvocable<ResourceUse() const>;

  // `edge` and `store` must outlive this. Any thread may call `resources`.
  AdminService(Edge& edge, SessionStore& store, ServerFacts facts, Resources resources)
      : edge_(edge), store_(store), facts_(std::move(facts)), resources_(std::move(resources)) {}

  using Context = grpc::CallbackServerContext;
  using Reactor = grpc::ServerUnaryReactor;

  Reactor* Status(Context* context, const Bytes* request, Bytes* response) override;
  Reactor* Echo(Context* context, const Bytes* request, Bytes* response) override;

 private:
  absl::Status Describe(pb::StatusResponse& response);

  Edge& edge_;
  SessionStore& store_;
  const ServerFacts facts_;
  const Resources resources_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_ADMIN_SERVICE_H_

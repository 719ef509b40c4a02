// holdfast.v1.StoreService: the Session Store contract on the wire, one line a method.
#ifndef HOLDFAST_SERVER_RPC_STORE_SERVICE_H_
#define HOLDFAST_SERVER_RPC_STORE_SERVICE_H_

#include "holdfast/v1/store_service.grpc.pb.h"
#include "server/rpc/call/raw_methods.h"
#include "server/rpc/call/unary.h"
#include "server/rpc/store_check.h"
#include "session/sessions.h"

namespace holdfast {

namespace pb = ::holdfast::v1;

using RawStoreService =
    RawMethods<pb::StoreService::Service, pb::StoreService::WithRawCallbackMethod_DescribeStore,
               pb::StoreService::WithRawCallbackMethod_CheckStore,
               pb::StoreService::WithRawCallbackMethod_WriteSnapshot,
               pb::StoreService::WithRawCallbackMethod_WriteSnapshotStream,
               pb::StoreService::WithRawCallbackMethod_ReadSnapshot>;

class StoreService final : public RawStoreService {
 public:
  // `edge` and `sessions` must outlive this.
  StoreService(Edge& edge, Sessions& sessions)
      : edge_(edge), sessions_(sessions), check_(sessions.store(), edge.clock) {}

  using Context = grpc::CallbackServerContext;
  using Reactor = grpc::ServerUnaryReactor;

  Reactor* DescribeStore(Context* context, const Bytes* request, Bytes* response) override;
  Reactor* CheckStore(Context* context, const Bytes* request, Bytes* response) override;
  Reactor* WriteSnapshot(Context* context, const Bytes* request, Bytes* response) override;
  grpc::ServerReadReactor<Bytes>* WriteSnapshotStream(Context* context, Bytes* response) override;
  grpc::ServerWriteReactor<Bytes>* ReadSnapshot(Context* context, const Bytes* request) override;

 private:
  Edge& edge_;
  Sessions& sessions_;
  SharedStoreCheck check_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_STORE_SERVICE_H_

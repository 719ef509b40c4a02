// holdfast.v1.StoreService: the active store as a remote host sees it.
#ifndef HOLDFAST_SERVER_RPC_STORE_SERVICE_H_
#define HOLDFAST_SERVER_RPC_STORE_SERVICE_H_

#include "holdfast/v1/store_service.grpc.pb.h"
#include "server/rpc/unary.h"
#include "session/store.h"

namespace holdfast {

namespace pb = ::holdfast::v1;

class StoreService final : public pb::StoreService::CallbackService {
 public:
  // Both must outlive this.
  StoreService(Edge& edge, SessionStore& store) : edge_(edge), store_(store) {}

  grpc::ServerUnaryReactor* DescribeStore(grpc::CallbackServerContext* context,
                                          const pb::DescribeStoreRequest* request,
                                          pb::DescribeStoreResponse* response) override;
  grpc::ServerUnaryReactor* CheckStore(grpc::CallbackServerContext* context,
                                       const pb::CheckStoreRequest* request,
                                       pb::CheckStoreResponse* response) override;

 private:
  Edge& edge_;
  SessionStore& store_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_STORE_SERVICE_H_

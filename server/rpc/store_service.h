// holdfast.v1.StoreService: the Session Store contract on the wire, one line a method.
#ifndef HOLDFAST_SERVER_RPC_STORE_SERVICE_H_
#define HOLDFAST_SERVER_RPC_STORE_SERVICE_H_

#include "holdfast/v1/store_service.grpc.pb.h"
#include "server/rpc/unary.h"
#include "session/sessions.h"

namespace holdfast {

namespace pb = ::holdfast::v1;

class StoreService final : public pb::StoreService::CallbackService {
 public:
  // `edge` and `sessions` must outlive this.
  StoreService(Edge& edge, Sessions& sessions) : edge_(edge), sessions_(sessions) {}

  grpc::ServerUnaryReactor* DescribeStore(grpc::CallbackServerContext* context,
                                          const pb::DescribeStoreRequest* request,
                                          pb::DescribeStoreResponse* response) override;
  grpc::ServerUnaryReactor* CheckStore(grpc::CallbackServerContext* context,
                                       const pb::CheckStoreRequest* request,
                                       pb::CheckStoreResponse* response) override;
  grpc::ServerUnaryReactor* Write(grpc::CallbackServerContext* context,
                                  const pb::WriteRequest* request,
                                  pb::WriteResponse* response) override;
  grpc::ServerReadReactor<pb::WriteStreamRequest>* WriteStream(
      grpc::CallbackServerContext* context, pb::WriteStreamResponse* response) override;
  grpc::ServerWriteReactor<pb::ReadResponse>* Read(grpc::CallbackServerContext* context,
                                                   const pb::ReadRequest* request) override;

 private:
  Edge& edge_;
  Sessions& sessions_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_STORE_SERVICE_H_

// holdfast.v1.ItemService on the wire, one line a method.
#ifndef HOLDFAST_SERVER_RPC_ITEM_SERVICE_H_
#define HOLDFAST_SERVER_RPC_ITEM_SERVICE_H_

#include "holdfast/v1/item_service.grpc.pb.h"
#include "server/rpc/call/raw_methods.h"
#include "server/rpc/call/unary.h"
#include "session/sessions.h"

namespace holdfast {

namespace pb = ::holdfast::v1;

using RawItemService =
    RawMethods<pb::ItemService::Service, pb::ItemService::WithRawCallbackMethod_PutItems,
               pb::ItemService::WithRawCallbackMethod_ReadItems>;

class ItemService final : public RawItemService {
 public:
  // `edge` and `sessions` must outlive this.
  ItemService(Edge& edge, Sessions& sessions) : edge_(edge), sessions_(sessions) {}

  using Context = grpc::CallbackServerContext;

  grpc::ServerUnaryReactor* PutItems(Context* context, const Bytes* request,
                                     Bytes* response) override;
  grpc::ServerWriteReactor<Bytes>* ReadItems(Context* context, const Bytes* request) override;

 private:
  Edge& edge_;
  Sessions& sessions_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_ITEM_SERVICE_H_

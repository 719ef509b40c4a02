#include "server/rpc/item_service.h"

#include "server/rpc/call/unary_command.h"
#include "server/rpc/convert/commands.h"
#include "server/rpc/read/read_items_reactor.h"

namespace holdfast {

grpc::ServerUnaryReactor* ItemService::PutItems(Context* context, const Bytes* request,
                                                Bytes* response) {
  return RunCommand<pb::PutItemsResponse>(edge_, sessions_,
                                          {"PutItems", context, request, response}, ReadPutItems,
                                          &Sessions::PutItems);
}

grpc::ServerWriteReactor<Bytes>* ItemService::ReadItems(Context* context, const Bytes* request) {
  return StartReadItems(edge_, sessions_, context, *request);
}

}  // namespace holdfast

#include "server/rpc/read/read_items_reactor.h"

#include "holdfast/v1/item_service.pb.h"
#include "server/rpc/read/item_reader.h"
#include "server/rpc/read/read_stream_reactor.h"

#include <string>

namespace holdfast {
namespace {

struct ReadItemsKind {
  using Request = pb::ReadItemsRequest;
  using Stream = ItemReader;
  static constexpr char kMethod[] = "ReadItems";
  static const std::string& SessionOf(const Request& request) { return request.session_id(); }
};

}  // namespace

grpc::ServerWriteReactor<Bytes>* StartReadItems(Edge& edge, Sessions& sessions,
                                                grpc::CallbackServerContext* context,
                                                const Bytes& request) {
  return StartReading<ReadItemsKind>(edge, sessions, context, request);
}

}  // namespace holdfast

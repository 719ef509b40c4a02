#include "server/rpc/store_service.h"

#include "server/rpc/convert_commands.h"
#include "server/rpc/convert_replies.h"
#include "server/rpc/read_session_reactor.h"
#include "server/rpc/streamed_write_reactor.h"
#include "session/status_macros.h"

namespace holdfast {

grpc::ServerUnaryReactor* StoreService::Write(grpc::CallbackServerContext* context,
                                              const pb::WriteRequest* request,
                                              pb::WriteResponse* response) {
  return RunUnary(
      edge_, Unary{"Write", context, request, response},
      [this](Call& call, const pb::WriteRequest& in, pb::WriteResponse& out) -> absl::Status {
        ASSIGN_OR_RETURN(const WriteCommand command, ReadWrite(in));
        ASSIGN_OR_RETURN(const Done done, sessions_.Write(call.caller(), command));
        WriteReply(done, out);
        return absl::OkStatus();
      });
}

grpc::ServerReadReactor<pb::WriteStreamRequest>* StoreService::WriteStream(
    grpc::CallbackServerContext* context, pb::WriteStreamResponse* response) {
  return StartWriteStream(edge_, sessions_, context, response);
}

grpc::ServerWriteReactor<pb::ReadResponse>* StoreService::Read(grpc::CallbackServerContext* context,
                                                               const pb::ReadRequest* request) {
  return StartRead(edge_, sessions_, context, *request);
}

}  // namespace holdfast

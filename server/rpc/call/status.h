// The one place where a refusal becomes what a client gets: a gRPC status with google.rpc details.
#ifndef HOLDFAST_SERVER_RPC_CALL_STATUS_H_
#define HOLDFAST_SERVER_RPC_CALL_STATUS_H_

#include "session/refusal.h"

#include <grpcpp/support/status.h>

#include <google/rpc/status.pb.h>
#include <string>

namespace holdfast {

// What the details say of the call itself.
struct CallFacts {
  std::string trace_id;  // for RequestInfo
  std::string session;   // for ResourceInfo; empty when the call names none
};

// The refusal as google.rpc.Status: ErrorInfo first, then RetryInfo, BadRequest, ResourceInfo,
// PreconditionFailure or QuotaFailure where they fit, then RequestInfo.
google::rpc::Status ToRpcStatus(const Refusal& refusal, const CallFacts& call);

// The same as the status of a call, with the details in its trailer.
grpc::Status ToGrpcStatus(const Refusal& refusal, const CallFacts& call);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_CALL_STATUS_H_

// One stream of the reflection service.
#ifndef HOLDFAST_SERVER_RPC_REFLECTION_REACTOR_H_
#define HOLDFAST_SERVER_RPC_REFLECTION_REACTOR_H_

#include "server/rpc/reflection_service.h"

#include <atomic>
#include <cstddef>
#include <string>
#include <vector>

namespace holdfast {

// Answers one question after the other, on a worker. Deletes itself when its stream has ended; all
// must outlive the transport. `streams` counts those that are open.
grpc::ServerBidiReactor<Bytes, Bytes>* StartReflection(Edge& edge,
                                                       grpc::CallbackServerContext& context,
                                                       const std::vector<std::string>& services,
                                                       std::atomic<size_t>& streams);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_REFLECTION_REACTOR_H_

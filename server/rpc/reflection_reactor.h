// One stream of the reflection service.
#ifndef HOLDFAST_SERVER_RPC_REFLECTION_REACTOR_H_
#define HOLDFAST_SERVER_RPC_REFLECTION_REACTOR_H_

#include "server/rpc/reflection_service.h"

#include <atomic>
#include <cstddef>
#include <string>
#include <vector>

namespace holdfast {

// Answers one question after the other. Deletes itself when its stream has ended; both must outlive
// the transport. `streams` counts those that are open.
grpc::ServerBidiReactor<ReflectionService::Request, ReflectionService::Response>* StartReflection(
    const std::vector<std::string>& services, std::atomic<size_t>& streams);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_REFLECTION_REACTOR_H_

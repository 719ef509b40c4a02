// Channels of tests to a server that is up.
#ifndef HOLDFAST_TESTS_SUPPORT_CHANNEL_H_
#define HOLDFAST_TESTS_SUPPORT_CHANNEL_H_

#include "grpcpp/grpcpp.h"

#include <memory>
#include <string>

namespace holdfast::testing {

// Returns a connected channel with a connection of its own. By default all channels of a process to
// one address share a socket, and gRPC 1.51 sometimes reports the first attempt as failed with the
// errno of another call ("No such file or directory"), and then retries.
// If the server does not answer within half a minute, the channel is returned as it is.
std::shared_ptr<grpc::Channel> Connected(const std::string& address,
                                         grpc::ChannelArguments arguments = {});

}  // namespace holdfast::testing

#endif  // HOLDFAST_TESTS_SUPPORT_CHANNEL_H_

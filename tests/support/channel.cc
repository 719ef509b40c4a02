#include "tests/support/channel.h"

#include <chrono>

namespace holdfast::testing {

std::shared_ptr<grpc::Channel> Connected(const std::string& address,
                                         grpc::ChannelArguments arguments) {
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 20);
  std::shared_ptr<grpc::Channel> channel =
      grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
  channel->WaitForConnected(std::chrono::system_clock::now() + std::chrono::seconds(30));
  return channel;
}

}  // namespace holdfast::testing

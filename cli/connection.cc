#include "cli/connection.h"

#include "cli/service_config.h"

#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/support/channel_arguments.h"

namespace holdfast::cli {
namespace {

constexpr int kFirstReconnectMs = 100;
// gRPC takes its least reconnect time as the time that one attempt to connect may take.
constexpr int kConnectMs = 10'000;
constexpr int kSlowestReconnectMs = 1000;
// A page of messages is at most 2 MiB, and one message may be as large as a whole request.
constexpr int kLargestReplyBytes = 16 * 1024 * 1024;

grpc::ChannelArguments Arguments() {
  grpc::ChannelArguments arguments;
  // gRPC's own steps, up to two minutes, would sleep through a server's restart.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kFirstReconnectMs);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kConnectMs);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kSlowestReconnectMs);
  // Of the service config gRPC does the time limits. Its retry policy is carried out in one place,
  // cli/retry.h, which knows reasons, RetryInfo and patience, and that it has repeated a call.
  arguments.SetServiceConfigJSON(ServiceConfigJson());
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetMaxReceiveMessageSize(kLargestReplyBytes);
  return arguments;
}

}  // namespace

Connection::Connection(const std::string& address) {
  const auto channel =
      grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), Arguments());
  sessions_ = v1::SessionService::NewStub(channel);
  store_ = v1::StoreService::NewStub(channel);
  items_ = v1::ItemService::NewStub(channel);
  admin_ = v1::AdminService::NewStub(channel);
  health_ = grpc::health::v1::Health::NewStub(channel);
}

}  // namespace holdfast::cli

// Where accepted connections become gRPC's.
#ifndef HOLDFAST_SERVER_NET_GRPC_CONNECTIONS_H_
#define HOLDFAST_SERVER_NET_GRPC_CONNECTIONS_H_

#include "server/net/acceptor.h"

#include <grpcpp/server_builder.h>

#include <memory>

namespace holdfast {

class GrpcConnections final : public ConnectionSink {
 public:
  // To be called before the server is built, with the credentials of its connections.
  GrpcConnections(grpc::ServerBuilder& builder,
                  const std::shared_ptr<grpc::ServerCredentials>& credentials)
      : acceptor_(builder.experimental().AddExternalConnectionAcceptor(
            grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD, credentials)) {
  }

  // While the server does not run, the connection is closed.
  void Take(int listener, Descriptor connection) override {
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters parameters;
    parameters.listener_fd = listener;
    parameters.fd = connection.Release();
    acceptor_->HandleNewConnection(&parameters);
  }

 private:
  const std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_NET_GRPC_CONNECTIONS_H_

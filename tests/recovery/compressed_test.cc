// Messages that are small while they are compressed and large once they are inflated: they are
// refused before anything is inflated.
#include "holdfast/v1/admin_service.grpc.pb.h"
#include "session/limits.h"
#include "tests/support/channel.h"
#include "tests/support/requests.h"
#include "tests/support/server_process.h"
#include "tests/support/wire_client.h"

#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"

#include <string>

namespace holdfast::testing {
namespace {

class Compressed : public ::testing::TestWithParam<grpc_compression_algorithm> {};

TEST_P(Compressed, MessagesAreRefusedBeforeTheyAreInflated) {
  constexpr size_t kInflated = 512 * kMiB;
  const TestFolder folder;
  ServerProcess server(folder);
  ASSERT_TRUE(server.Start()) << server.Log();
  const size_t idle = server.PeakBytes();
  const auto stub = pb::AdminService::NewStub(Connected(server.address()));
  pb::EchoRequest request;
  request.set_payload(std::string(kInflated, 'x'));
  grpc::ClientContext context;
  context.set_compression_algorithm(GetParam());
  pb::EchoResponse response;
  const grpc::Status status = stub->Echo(&context, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED) << status.error_message();
  EXPECT_LT(server.PeakBytes() - idle, kInflated / 4);

  WireClient client(server.address());
  client.Must(&WireClient::Stub::CreateSession, test::CreateRequest("one"));
  EXPECT_EQ(server.Stop().exit_code, 0);
}

INSTANTIATE_TEST_SUITE_P(By, Compressed,
                         ::testing::Values(GRPC_COMPRESS_GZIP, GRPC_COMPRESS_DEFLATE),
                         [](const auto& by) {
                           return by.param == GRPC_COMPRESS_GZIP ? "Gzip" : "Deflate";
                         });

}  // namespace
}  // namespace holdfast::testing

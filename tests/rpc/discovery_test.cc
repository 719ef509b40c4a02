// The metadata by which a client learns what a server can do.
#include "server/rpc/call/discovery.h"

#include "tests/rpc/served.h"
#include "tests/support/details.h"

#include <gmock/gmock.h>

#include <map>
#include <string>

namespace holdfast::test {
namespace {

using ::testing::Contains;
using ::testing::Pair;

class DiscoveryRpc : public Served {
 protected:
  using Metadata = std::multimap<grpc::string_ref, grpc::string_ref>;

  static void ExpectThem(const Metadata& metadata) {
    std::map<std::string, std::string> headers;
    for (const auto& [name, value] : metadata) {
      headers[std::string(name.data(), name.size())] = std::string(value.data(), value.size());
    }
    EXPECT_THAT(headers, Contains(Pair(kApiHeader, kApiVersion)));
    EXPECT_THAT(headers, Contains(Pair(kFeaturesHeader, kFeatures)));
  }
};

TEST_F(DiscoveryRpc, EveryReplySaysWhatTheServerCanDo) {
  Create("one");
  pb::GetSessionRequest request;
  pb::GetSessionResponse response;
  request.set_session_id("one");
  grpc::ClientContext unary;
  ASSERT_TRUE(sessions().GetSession(&unary, request, &response).ok());
  ExpectThem(unary.GetServerInitialMetadata());
  pb::ReadSessionRequest read;
  read.set_session_id("one");
  grpc::ClientContext stream;
  const auto reader = sessions().ReadSession(&stream, read);
  reader->WaitForInitialMetadata();
  ExpectThem(stream.GetServerInitialMetadata());
  pb::ReadSessionResponse piece;
  while (reader->Read(&piece)) {
  }
  EXPECT_TRUE(reader->Finish().ok());
}

// gRPC repeats a refused call only where no initial metadata has arrived.
TEST_F(DiscoveryRpc, ARefusalSaysItInItsTrailer) {
  pb::GetSessionRequest request;
  pb::GetSessionResponse response;
  request.set_session_id("none");
  grpc::ClientContext context;
  EXPECT_EQ(ReasonOf(sessions().GetSession(&context, request, &response)), "SESSION_NOT_FOUND");
  EXPECT_TRUE(context.GetServerInitialMetadata().empty());
  ExpectThem(context.GetServerTrailingMetadata());
}

}  // namespace
}  // namespace holdfast::test

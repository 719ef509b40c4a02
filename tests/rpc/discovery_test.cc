// The initial metadata by which a client learns what a server can do.
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
  static std::map<std::string, std::string> HeadersOf(const grpc::ClientContext& context) {
    std::map<std::string, std::string> headers;
    for (const auto& [name, value] : context.GetServerInitialMetadata()) {
      headers[std::string(name.data(), name.size())] = std::string(value.data(), value.size());
    }
    return headers;
  }

  static void ExpectThem(const grpc::ClientContext& context) {
    const auto headers = HeadersOf(context);
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
  ExpectThem(unary);
  pb::ReadSessionRequest read;
  read.set_session_id("one");
  grpc::ClientContext stream;
  const auto reader = sessions().ReadSession(&stream, read);
  reader->WaitForInitialMetadata();
  ExpectThem(stream);
  pb::ReadSessionResponse piece;
  while (reader->Read(&piece)) {
  }
  EXPECT_TRUE(reader->Finish().ok());
}

TEST_F(DiscoveryRpc, ARefusalSaysItToo) {
  pb::GetSessionRequest request;
  pb::GetSessionResponse response;
  request.set_session_id("none");
  grpc::ClientContext context;
  EXPECT_EQ(ReasonOf(sessions().GetSession(&context, request, &response)), "SESSION_NOT_FOUND");
  ExpectThem(context);
}

}  // namespace
}  // namespace holdfast::test

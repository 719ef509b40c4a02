// A repeat of a grant is answered with the lease's token, so nothing that others read names the
// request of a grant.
#include "tests/support/token_theft.h"

#include "tests/support/requests.h"
#include "tests/support/server_process.h"
#include "tests/support/wire_client.h"

#include "gtest/gtest.h"

namespace holdfast::testing {
namespace {

using Stub = WireClient::Stub;

TEST(TokenTheft, NothingThatIsReadYieldsATokenOrWrites) {
  const TestFolder folder;
  ServerProcess server(folder);
  ASSERT_TRUE(server.Start()) << server.Log();
  ExpectNoTokenIsStolen(server.address());
}

TEST(TokenTheft, RejectsARequestIdInWhatEveryReaderSees) {
  const TestFolder folder;
  ServerProcess server(folder);
  ASSERT_TRUE(server.Start()) << server.Log();
  WireClient client(server.address());
  const auto create = [](auto alter) {
    pb::CreateSessionRequest request = test::CreateRequest("session");
    alter(request, request.request_id());
    return request;
  };
  using Create = pb::CreateSessionRequest;
  const auto expect_refused = [&](const char* field, const Create& request) {
    const Verdict verdict = client.Ask(&Stub::CreateSession, request).verdict;
    ASSERT_EQ(verdict.reason, "INVALID_FIELD") << field;
    EXPECT_EQ(verdict.facts.at("field"), field);
  };
  expect_refused("session_id", create([](Create& request, const std::string& id) {
                   request.set_session_id("s-" + id);
                 }));
  expect_refused("holder", create([](Create& request, const std::string& id) {
                   request.set_holder("agent of " + id);
                 }));
  expect_refused("manifest.project_root", create([](Create& request, const std::string& id) {
                   request.mutable_manifest()->set_project_root("/projects/" + id);
                 }));
  expect_refused("attributes.run", create([](Create& request, const std::string& id) {
                   (*request.mutable_attributes())["run"] = id;
                 }));

  client.Must(&Stub::CreateSession, test::CreateRequest("session"));
  pb::ResumeSessionRequest resume = test::ForceRequest("session");
  resume.mutable_force()->set_reason("run " + resume.request_id());
  Verdict verdict = client.Ask(&Stub::ResumeSession, resume).verdict;
  ASSERT_EQ(verdict.reason, "INVALID_FIELD");
  EXPECT_EQ(verdict.facts.at("field"), "force.reason");
  resume = test::ForceRequest("session");
  resume.set_holder(resume.request_id());
  verdict = client.Ask(&Stub::ResumeSession, resume).verdict;
  ASSERT_EQ(verdict.reason, "INVALID_FIELD");
  EXPECT_EQ(verdict.facts.at("field"), "holder");
}

}  // namespace
}  // namespace holdfast::testing

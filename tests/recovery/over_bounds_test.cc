// A session that was written before there were bounds: it is read, resumed and closed, may shrink,
// and no longer grows.
#include "session/limits.h"
#include "session/saboteur.h"
#include "tests/support/requests.h"
#include "tests/support/server_process.h"
#include "tests/support/wire_client.h"

#include "gtest/gtest.h"

#include <cstdlib>
#include <memory>
#include <string>

namespace holdfast::testing {
namespace {

using Stub = WireClient::Stub;

constexpr char kSessionOverBounds[] = "over";

pb::UpdateSessionRequest Update() {
  pb::UpdateSessionRequest request;
  request.set_request_id(test::NewRequestId());
  request.mutable_session()->set_session_id(kSessionOverBounds);
  return request;
}

pb::UpdateSessionRequest AttributeUpdate(const std::string& key, const std::string& value) {
  pb::UpdateSessionRequest request = Update();
  (*request.mutable_session()->mutable_attributes())[key] = value;
  request.mutable_update_mask()->add_paths("attributes." + key);
  return request;
}

pb::CommitTurnRequest WithSlots(const std::string& token, uint64_t turn, size_t first,
                                size_t last) {
  pb::CommitTurnRequest commit = test::CommitRequest(kSessionOverBounds, token, turn, "said");
  for (size_t i = first; i < last; ++i) {
    pb::Slot& slot = *commit.add_slots();
    slot.set_owner("owner-" + std::to_string(i));
    slot.set_version("1.0.0");
    slot.set_drift_policy(pb::DRIFT_POLICY_WARN);
  }
  return commit;
}

class OverBounds : public ::testing::Test {
 protected:
  void Start() {
    ASSERT_TRUE(server_.Start()) << server_.Log();
    client_ = std::make_unique<WireClient>(server_.address());
  }
  // The program as it was before it had bounds.
  void StartWithoutBounds() {
    setenv("HOLDFAST_SABOTEUR", "no_bounds", 1);
    Start();
    unsetenv("HOLDFAST_SABOTEUR");
  }
  WireClient& client() { return *client_; }
  ServerProcess& server() { return server_; }
  uint64_t Begin(const std::string& token) {
    return client().Must(&Stub::BeginTurn, test::BeginRequest(kSessionOverBounds, token)).turn();
  }

 private:
  const TestFolder folder_;
  ServerProcess server_{folder_};
  std::unique_ptr<WireClient> client_;
};

TEST_F(OverBounds, OnlyGrowthIsRefused) {
  if (!kTestBuild) GTEST_SKIP() << "this build writes no session beyond its bounds";
  StartWithoutBounds();
  std::string token =
      client().Must(&Stub::CreateSession, test::CreateRequest(kSessionOverBounds)).lease_token();
  constexpr size_t kOver = kAttributesPerSession + 36;
  for (size_t i = 0; i < kOver; ++i) {
    client().Must(&Stub::UpdateSession, AttributeUpdate("key-" + std::to_string(i), "x"));
  }
  for (size_t first = 0; first <= kSlotsPerSession; first += kSlotsPerChange) {
    client().Must(&Stub::CommitTurn,
                  WithSlots(token, Begin(token), first, first + kSlotsPerChange));
  }
  server().Kill();
  Start();

  EXPECT_EQ(client().Get(kSessionOverBounds).attributes_size(), kOver);
  const Verdict more = client().Ask(&Stub::UpdateSession, AttributeUpdate("more", "x")).verdict;
  EXPECT_EQ(more.reason, "TOO_LARGE");
  EXPECT_EQ(more.facts.at("field"), "attributes");
  EXPECT_EQ(more.facts.at("limit"), std::to_string(kAttributesPerSession));
  EXPECT_EQ(more.facts.at("got"), std::to_string(kOver + 1));
  client().Must(&Stub::UpdateSession, AttributeUpdate("key-1", "y"));
  pb::UpdateSessionRequest removing = Update();
  removing.mutable_update_mask()->add_paths("attributes.key-0");
  EXPECT_EQ(client().Must(&Stub::UpdateSession, removing).session().attributes_size(), kOver - 1);
  token = client().Must(&Stub::ResumeSession, test::ForceRequest(kSessionOverBounds)).lease_token();

  const uint64_t turn = Begin(token);
  pb::CommitTurnRequest growing = WithSlots(token, turn, 90'000, 90'001);
  const Verdict grown = client().Ask(&Stub::CommitTurn, growing).verdict;
  EXPECT_EQ(grown.reason, "TOO_LARGE");
  EXPECT_EQ(grown.facts.at("field"), "slots");
  EXPECT_EQ(grown.facts.at("got"), std::to_string(kSlotsPerSession + kSlotsPerChange + 1));
  pb::CommitTurnRequest shrinking = WithSlots(token, turn, 1, 2);
  shrinking.add_deleted_slots("owner-0");
  client().Must(&Stub::CommitTurn, shrinking);
  client().Must(&Stub::CloseSession, test::CloseRequest(kSessionOverBounds, token));
}

}  // namespace
}  // namespace holdfast::testing

// A client that gives a commit up while the database holds it: the commit is there whole or not at
// all, its fate can be asked, and the same request makes it certain.
#include "tests/postgres/faults_fixture.h"
#include "tests/support/channel.h"
#include "tests/support/requests.h"
#include "tests/support/wait.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

#include <memory>
#include <string>
#include <thread>

namespace holdfast::testing {
namespace {

using Outcome = pb::GetRequestOutcomeResponse;

class PgCancelledCommit : public FaultsTest {
 protected:
  // Sends a commit that waits for a row which the test has locked, and cancels it there.
  void CancelWhileHeld() {
    commit_ = served().Prepare("one", token(), "perhaps");
    holder_ = Direct();
    ASSERT_EQ(holder_->Script("BEGIN; SELECT 1 FROM holdfast.session FOR UPDATE"),
              absl::OkStatus());
    const auto stub = pb::SessionService::NewStub(Connected(served().server.address()));
    grpc::ClientContext context;
    grpc::Status status;
    std::thread client([&] {
      pb::CommitTurnResponse reply;
      status = stub->CommitTurn(&context, commit_, &reply);
    });
    EXPECT_TRUE(Await(kHeld, 1));
    context.TryCancel();
    client.join();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::CANCELLED);
    EXPECT_EQ(Number(kHeld), 1) << "the server does not forget what it has begun";
    EXPECT_EQ(Number(kMessages), 0);
  }
  // Lets the row go.
  void Release() { EXPECT_EQ(holder_->Script("COMMIT"), absl::OkStatus()); }

  // What the server says became of it.
  Outcome Fate() {
    pb::GetRequestOutcomeRequest request;
    request.set_session_id("one");
    request.set_request_id(commit_.request_id());
    request.set_lease_token(token());
    request.set_method(pb::METHOD_COMMIT_TURN);
    return served().client->Must(&Stub::GetRequestOutcome, request);
  }
  const pb::CommitTurnRequest& commit() { return commit_; }

  static constexpr char kHeld[] =
      "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
  static constexpr char kMessages[] =
      "SELECT coalesce(sum(messages), 0)::bigint FROM holdfast.session";

 private:
  pb::CommitTurnRequest commit_;
  std::unique_ptr<pg::Connection> holder_;
};

TEST_F(PgCancelledCommit, ThatTheDatabaseLetsGoIsThereWhole) {
  CancelWhileHeld();
  Release();
  ASSERT_TRUE(Await(kMessages, 1));
  const Outcome fate = Fate();
  EXPECT_EQ(fate.outcome(), Outcome::OUTCOME_COMMITTED);
  EXPECT_EQ(fate.commit_turn().message_count(), 1);
  const Committed again = served().Commit(commit());
  EXPECT_EQ(again.verdict.reason, "OK");
  EXPECT_TRUE(again.reply.repeated());
  EXPECT_EQ(again.reply.revision(), fate.revision());
  ExpectNormal({"perhaps"});
}

TEST_F(PgCancelledCommit, ThatTheDatabaseGivesUpIsNotThereAtAll) {
  CancelWhileHeld();
  Run("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock'");
  ASSERT_TRUE(Await(kHeld, 0));
  Release();
  EXPECT_EQ(Fate().outcome(), Outcome::OUTCOME_NOT_KNOWN);
  EXPECT_EQ(Number(kMessages), 0);
  EXPECT_EQ(served().client->Get("one").lifecycle(), pb::LIFECYCLE_ACTIVE);
  const Committed again = served().Commit(commit());
  EXPECT_EQ(again.verdict.reason, "OK");
  EXPECT_FALSE(again.reply.repeated());
  EXPECT_EQ(Fate().outcome(), Outcome::OUTCOME_COMMITTED);
  ExpectNormal({"perhaps"});
}

}  // namespace
}  // namespace holdfast::testing

// Rows of holdfast.audit that somebody meddled with: whoever asks over the wire is told which
// record is the first bad one, and other sessions are sound.
#include "tests/support/postgres_store.h"
#include "tests/support/requests.h"
#include "tests/support/server_process.h"
#include "tests/support/wire_client.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::testing {
namespace {

using ::testing::HasSubstr;
using Stub = WireClient::Stub;

constexpr int kRecords = 7;
constexpr int kDifference = 4;  // the command line's exit code for what is not as it was written

struct Meddling {
  std::string name;
  std::string sql;        // $n is the record
  int bad_behind = 0;     // where the first bad one is, from $n on
  bool not_last = false;  // it takes one behind
};

// Numbers that are taken go a long way first.
const std::vector<Meddling>& Meddlings() {
  static const std::vector<Meddling> kAll = {
      {"changed",
       "UPDATE holdfast.audit SET rec = set_byte(rec, length(rec) / 2,"
       " get_byte(rec, length(rec) / 2) # 1) WHERE session_id = 'one' AND seq = $n",
       0},
      {"deleted", "DELETE FROM holdfast.audit WHERE session_id = 'one' AND seq = $n", 0},
      {"deleted and closed up",
       "DELETE FROM holdfast.audit WHERE session_id = 'one' AND seq = $n;"
       "UPDATE holdfast.audit SET seq = seq + 1000 WHERE session_id = 'one' AND seq > $n;"
       "UPDATE holdfast.audit SET seq = seq - 1001 WHERE session_id = 'one' AND seq > 1000",
       0},
      {"swapped",
       "UPDATE holdfast.audit a SET rec = b.rec, size = b.size FROM holdfast.audit b"
       " WHERE a.session_id = 'one' AND b.session_id = 'one' AND a.seq IN ($n, $n + 1)"
       " AND b.seq = 2 * $n + 1 - a.seq",
       0, true},
      {"inserted",
       "UPDATE holdfast.audit SET seq = seq + 1000 WHERE session_id = 'one' AND seq > $n;"
       "INSERT INTO holdfast.audit SELECT tenant, session_id, seq + 1, size, rec"
       " FROM holdfast.audit WHERE session_id = 'one' AND seq = $n;"
       "UPDATE holdfast.audit SET seq = seq - 999 WHERE session_id = 'one' AND seq > 1000",
       1},
      {"cut", "DELETE FROM holdfast.audit WHERE session_id = 'one' AND seq >= $n", 0}};
  return kAll;
}

class PgAuditChain : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(server_.Start()) << server_.Log();
    client_ = std::make_unique<WireClient>(server_.address());
    for (const char* session : {"one", "neighbour"}) Fill(session);
    database_.Run("CREATE TABLE holdfast_test.audit AS TABLE holdfast.audit");
  }

  // Seven records.
  void Fill(const std::string& session) {
    const std::string token =
        client_->Must(&Stub::CreateSession, test::CreateRequest(session)).lease_token();
    for (int turn = 1; turn <= kRecords / 2; ++turn) {
      client_->Must(&Stub::BeginTurn, test::BeginRequest(session, token));
      client_->Must(&Stub::CommitTurn, test::CommitRequest(session, token, turn, "said"));
    }
    const pb::VerifyAuditResponse verdict = Verify(session);
    ASSERT_TRUE(verdict.sound()) << verdict.why();
    ASSERT_EQ(verdict.records(), kRecords);
  }
  pb::VerifyAuditResponse Verify(const std::string& session) {
    pb::VerifyAuditRequest request;
    request.set_session_id(session);
    return client_->Must(&Stub::VerifyAudit, request);
  }
  // What `holdfast store verify-audit` says, and its exit code.
  int Ask(const std::string& session, std::string& said) {
    const std::string out = folder_.File("said");
    std::filesystem::remove(out);
    const Ending ending = RunToEnd(
        {Program("holdfast"), "--address", server_.address(), "store", "verify-audit", session},
        out, out);
    said = ReadText(out);
    return ending.exit_code;
  }
  void Meddle(const Meddling& how, int at) {
    database_.Run(absl::StrReplaceAll(how.sql, {{"$n", absl::StrCat(at)}}));
  }
  void Mend() {
    database_.Run(
        "DELETE FROM holdfast.audit; INSERT INTO holdfast.audit TABLE holdfast_test.audit");
    EXPECT_TRUE(Verify("one").sound());
  }

 private:
  test::StoreDatabase database_{test::WhoseStore::kCommon};
  const TestFolder folder_;
  ServerProcess server_{folder_, {.dsn = database_.dsn()}};
  std::unique_ptr<WireClient> client_;
};

TEST_F(PgAuditChain, TheFirstBadRecordIsNamedWhateverWasDoneToTheRows) {
  for (const Meddling& how : Meddlings()) {
    for (int at = 1; at <= kRecords - (how.not_last ? 1 : 0); ++at) {
      SCOPED_TRACE(absl::StrCat(how.name, " at ", at));
      Meddle(how, at);
      const pb::VerifyAuditResponse verdict = Verify("one");
      EXPECT_FALSE(verdict.sound());
      EXPECT_EQ(verdict.first_bad_seq(), at + how.bad_behind);
      EXPECT_EQ(verdict.records(), at + how.bad_behind - 1);
      EXPECT_NE(verdict.why(), "");
      EXPECT_TRUE(Verify("neighbour").sound());
      if (at == 1) {
        std::string said;
        EXPECT_EQ(Ask("one", said), kDifference) << said;
        EXPECT_THAT(said, HasSubstr(absl::StrCat("audit record ", at + how.bad_behind)));
        EXPECT_EQ(Ask("neighbour", said), 0) << said;
      }
      Mend();
    }
  }
}

}  // namespace
}  // namespace holdfast::testing

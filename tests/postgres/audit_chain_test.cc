// Audit records that were edited, moved or removed in rows of holdfast.log: VerifyAudit names the
// first bad one, and other sessions are sound.
#include "platform/encoding.h"
#include "tests/support/postgres_store.h"
#include "tests/support/requests.h"
#include "tests/support/server_process.h"
#include "tests/support/wire_client.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::testing {
namespace {

using ::testing::HasSubstr;
using Stub = WireClient::Stub;

constexpr int kRecords = 7;
constexpr int kDifference = 4;  // the command line's exit code for what is not as it was written

// Of the rows of a session, in order; empty: the change has none.
using Records = std::vector<std::string>;

struct Meddling {
  std::string name;
  std::function<void(Records& records, size_t at)> act;
  int bad_behind = 0;     // where the first bad one is, from `at` on
  bool not_last = false;  // it takes one behind
};

const std::vector<Meddling>& Meddlings() {
  static const std::vector<Meddling> kAll = {
      {"changed",
       [](Records& records, size_t at) {
         std::string& record = records[at];
         record[record.size() / 2] = static_cast<char>(record[record.size() / 2] ^ 1);
       },
       0},
      {"deleted", [](Records& records, size_t at) { records[at].clear(); }, 0},
      {"deleted and closed up",
       [](Records& records, size_t at) {
         records.erase(records.begin() + static_cast<ptrdiff_t>(at));
         records.emplace_back();
       },
       0},
      {"swapped", [](Records& records, size_t at) { std::swap(records[at], records[at + 1]); }, 0,
       true},
      {"inserted",
       [](Records& records, size_t at) {
         records.insert(records.begin() + static_cast<ptrdiff_t>(at), records[at]);
         records.pop_back();
       },
       1, true},
      {"cut",
       [](Records& records, size_t at) {
         for (size_t i = at; i < records.size(); ++i) records[i].clear();
       },
       0}};
  return kAll;
}

// The audit record in the acts of a change, where it follows three numbers and the request.
std::string RecordIn(const std::string& acts) {
  Decoder in(acts);
  for (int i = 0; i < 3; ++i) in.Number();
  in.Text();
  return std::string(in.Text());
}

// The same with `record` in place of its own.
std::string WithRecord(const std::string& acts, const std::string& record) {
  Decoder in(acts);
  in.Number();
  const size_t begin = in.position();
  in.Number();
  in.Number();
  in.Text();
  Encoder out;
  out.Raw(acts.substr(begin, in.position() - begin)).Text(record);
  in.Text();
  out.Raw(acts.substr(in.position()));
  return Encoder().Number(out.size()).Raw(out.bytes()).Take();
}

class PgAuditChain : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(server_.Start()) << server_.Log();
    client_ = std::make_unique<WireClient>(server_.address());
    for (const char* session : {"one", "untouched"}) Fill(session);
    acts_ =
        absl::StrSplit(database_.AskText("SELECT string_agg(encode(acts, 'hex'), ' ' ORDER BY n)"
                                         " FROM holdfast.log WHERE session_id = 'one'"),
                       ' ');
    ASSERT_EQ(acts_.size(), kRecords);
    for (std::string& acts : acts_) acts = absl::HexStringToBytes(acts);
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
    ASSERT_TRUE(verdict.valid()) << verdict.problem();
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
    Records records;
    for (const std::string& acts : acts_) records.push_back(RecordIn(acts));
    how.act(records, static_cast<size_t>(at) - 1);
    for (size_t i = 0; i < acts_.size(); ++i) Write(i, WithRecord(acts_[i], records[i]));
  }
  void Mend() {
    for (size_t i = 0; i < acts_.size(); ++i) Write(i, acts_[i]);
    EXPECT_TRUE(Verify("one").valid());
  }

 private:
  test::StoreDatabase database_{test::WhoseStore::kCommon};
  // In the row of the session's n-th change.
  void Write(size_t nth, const std::string& acts) {
    database_.Run(absl::StrCat("UPDATE holdfast.log SET acts = decode('",
                               absl::BytesToHexString(acts),
                               "', 'hex') WHERE session_id = 'one' AND n = ", nth + 1));
  }

  std::vector<std::string> acts_;  // of each change, as they were written
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
      EXPECT_FALSE(verdict.valid());
      EXPECT_EQ(verdict.first_invalid_seq(), at + how.bad_behind);
      EXPECT_EQ(verdict.records(), at + how.bad_behind - 1);
      EXPECT_NE(verdict.problem(), "");
      EXPECT_TRUE(Verify("untouched").valid());
      if (at == 1) {
        std::string said;
        EXPECT_EQ(Ask("one", said), kDifference) << said;
        EXPECT_THAT(said, HasSubstr(absl::StrCat("audit record ", at + how.bad_behind)));
        EXPECT_EQ(Ask("untouched", said), 0) << said;
      }
      Mend();
    }
  }
}

}  // namespace
}  // namespace holdfast::testing

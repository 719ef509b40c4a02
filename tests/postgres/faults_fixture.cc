#include "tests/postgres/faults_fixture.h"

#include "store-postgres/admin/migrate.h"
#include "tests/support/requests.h"
#include "tests/support/wait.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include <utility>
#include <variant>

namespace holdfast::testing {

std::string OutcomeOf(const Verdict& verdict) {
  const auto found = verdict.facts.find("outcome");
  return found == verdict.facts.end() ? "" : found->second;
}

void Served::Start() {
  // On a busy machine the database may take longer than a start waits for it.
  ASSERT_TRUE(WaitUntil([&] { return server.Start(); })) << server.Log();
  client = std::make_unique<WireClient>(server.address());
}

std::string Served::Create(const std::string& session) const {
  return client->Must(&Stub::CreateSession, test::CreateRequest(session)).lease_token();
}

pb::CommitTurnRequest Served::Prepare(const std::string& session, const std::string& token,
                                      const std::string& text) const {
  const auto begun = client->Must(&Stub::BeginTurn, test::BeginRequest(session, token));
  return test::CommitRequest(session, token, begun.turn(), text);
}

void Served::TakeTurn(const std::string& session, const std::string& token,
                      const std::string& text) const {
  client->Must(&Stub::CommitTurn, Prepare(session, token, text));
}

Committed Served::Commit(const pb::CommitTurnRequest& request, absl::Duration patience) const {
  return client->Ask(&Stub::CommitTurn, request, patience);
}

std::future<Committed> Served::CommitBeside(const pb::CommitTurnRequest& request) const {
  return std::async(std::launch::async, [this, request] { return Commit(request); });
}

void Served::CommitAtLast(const pb::CommitTurnRequest& request) const {
  Committed last;
  EXPECT_TRUE(WaitUntil([&] {
    last = Commit(request);
    return last.verdict.reason == "OK";
  })) << last.verdict.reason
      << " " << last.verdict.message;
}

std::vector<std::string> Served::Texts(const std::string& session) const {
  pb::ListMessagesRequest request;
  request.set_session_id(session);
  std::vector<std::string> texts;
  for (bool end = false; !end;) {
    const auto page = client->Must(&Stub::ListMessages, request);
    for (const auto& message : page.messages()) texts.push_back(message.data());
    request.set_page_token(page.next_page_token());
    end = request.page_token().empty();
  }
  return texts;
}

void FaultsTest::SetUp() {
  postgres_.Start();
  ASSERT_TRUE(pg::Migrate(*ConnectAdmin(postgres().dsn())).ok());
  Serve({.dsn = DsnOf(gate_.directory(), "postgres")});
}

void FaultsTest::Serve(ServerSettings settings) {
  served_ = std::make_unique<Served>(std::move(settings));
  served_->Start();
  ASSERT_FALSE(HasFatalFailure());
  if (token_.empty()) token_ = served_->Create("one");
}

void FaultsTest::Run(const std::string& sql) const {
  EXPECT_EQ(Direct()->Script(sql), absl::OkStatus()) << sql;
}

std::string FaultsTest::AskText(const std::string& sql) const {
  const pg::Answer answer = Direct()->Run({.name = "", .sql = sql.c_str()}, pg::Params());
  const auto* const rows = std::get_if<pg::Rows>(&answer);
  EXPECT_NE(rows, nullptr) << sql << ": " << std::get_if<pg::Failure>(&answer)->text;
  if (rows == nullptr || rows->empty() || rows->IsNull(0, 0)) return "";
  return std::string(rows->Text(0, 0));
}

int64_t FaultsTest::Number(const std::string& sql) const {
  int64_t number = -1;
  EXPECT_TRUE(absl::SimpleAtoi(AskText(absl::StrCat("SELECT (", sql, ")::text")), &number)) << sql;
  return number;
}

bool FaultsTest::Await(const std::string& sql, int64_t number) const {
  return WaitUntil([&] { return Number(sql) == number; });
}

void FaultsTest::ExpectNormal(std::vector<std::string> texts) {
  EXPECT_TRUE(WaitUntil([&] { return served().server.Serves(); })) << served().server.Log();
  EXPECT_EQ(served().Texts("one"), texts);
  served().TakeTurn("one", token_, "as always");
  texts.emplace_back("as always");
  EXPECT_EQ(served().Texts("one"), texts);
  served().TakeTurn("another", served().Create("another"), "too");
  EXPECT_TRUE(served().server.Serves());
}

}  // namespace holdfast::testing

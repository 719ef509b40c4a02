#include "tests/postgres/store_fixture.h"

#include "tests/support/wait.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include <algorithm>
#include <array>
#include <new>
#include <utility>

namespace holdfast::test {
namespace {

// What a store asks beside its calls, when it likes; for that it makes connections, too, which it
// looks at.
bool IsBackground(std::string_view name) {
  if (name.starts_with("connection_") || name.starts_with("migrations")) return true;
  constexpr std::array<std::string_view, 4> kBackground = {"feed", "notify", "serve",
                                                           "still_there"};
  return std::ranges::find(kBackground, name) != kBackground.end();
}

}  // namespace

std::shared_ptr<const pg::Tap> Statements::tap() {
  pg::Tap tap;
  tap.before = [this](std::string_view name) -> std::optional<pg::Failure> {
    const absl::MutexLock lock(&mutex_);
    if (!IsBackground(name)) seen_.emplace_back(name);
    return std::nullopt;
  };
  tap.after = [this](std::string_view name) { return After(name); };
  return std::make_shared<const pg::Tap>(std::move(tap));
}

std::vector<std::string> Statements::Take() {
  const absl::MutexLock lock(&mutex_);
  return std::exchange(seen_, {});
}

void Statements::LoseAnswerOf(const std::string& name, int times) {
  const absl::MutexLock lock(&mutex_);
  losing_ = name;
  times_ = times;
  throws_ = false;
}

void Statements::ThrowBehind(const std::string& name) {
  const absl::MutexLock lock(&mutex_);
  losing_ = name;
  times_ = 1;
  throws_ = true;
}

std::optional<pg::Failure> Statements::After(std::string_view name) {
  const absl::MutexLock lock(&mutex_);
  if (times_ == 0 || name != losing_) return std::nullopt;
  --times_;
  if (throws_) throw std::bad_alloc();
  return pg::Failure{.effect = pg::Effect::kUnknown, .sqlstate = "", .text = "lost"};
}

std::string ReasonOf(const absl::Status& status) {
  return status.ok() ? "OK" : std::string(RowOf(RefusalOf(status).reason()).name);
}

std::string ReasonOf(const absl::StatusOr<CommitResult>& result) {
  if (!result.ok()) return ReasonOf(result.status());
  return result->kind == CommitResult::Kind::kRefused ? ReasonOf(result->refusal) : "OK";
}

PostgresStoreTest::PostgresStoreTest(const std::string& directory)
    : database_(WhoseStore::kCommon, directory),
      store_(database_.Make(clock_, random_, statements_.tap())),
      changes_(Key("alpha"), random_) {
  clock_.MovesAlong([this](absl::Duration passed) { database_.Advance(passed); });
  EXPECT_EQ(store_->Init(), absl::OkStatus());
  EXPECT_EQ(store_->Activate(), absl::OkStatus());
}

std::unique_ptr<SessionStore> PostgresStoreTest::AnotherServer(std::shared_ptr<const pg::Tap> tap) {
  std::unique_ptr<SessionStore> store = database_.Make(clock_, random_, std::move(tap));
  EXPECT_EQ(store->Init(), absl::OkStatus());
  EXPECT_EQ(store->Activate(), absl::OkStatus());
  return store;
}

void PostgresStoreTest::Close(const std::unique_ptr<SessionStore>& store) {
  EXPECT_EQ(store->Deactivate(), absl::OkStatus());
  store->Dispose();
}

void PostgresStoreTest::CopySession(const std::string& session, int copies) {
  database_.Run(absl::StrCat(
      "DO $$ DECLARE c text := (SELECT string_agg(column_name, ', ') FROM"
      " information_schema.columns WHERE table_schema = 'holdfast' AND table_name = 'session'"
      " AND is_generated = 'NEVER'); BEGIN EXECUTE format('INSERT INTO holdfast.session (%s)"
      " SELECT %s FROM holdfast.session, generate_series(1, ",
      copies, ") n WHERE session_id = %L', c, replace(c, 'session_id', 'session_id || n'), ",
      Quoted(session), "); END $$"));
}

int PostgresStoreTest::CloseAndCountReads() {
  CloseStore();
  EXPECT_TRUE(holdfast::testing::WaitUntil([this] {
    return database_.AskText(
               "SELECT count(*)::text FROM pg_stat_activity WHERE datname = current_database()"
               " AND application_name LIKE 'holdfastd %'") == "0";
  }));
  int reads = 0;
  EXPECT_TRUE(
      absl::SimpleAtoi(database_.AskText("SELECT idx_tup_fetch::text FROM pg_stat_user_tables"
                                         " WHERE schemaname = 'holdfast' AND relname = 'session'"),
                       &reads));
  EXPECT_GT(reads, 0);
  return reads;
}

Receipt PostgresStoreTest::Apply(const Change& change) {
  const auto result = store_->Commit(change);
  EXPECT_EQ(ReasonOf(result), "OK");
  if (!result.ok()) return {};
  EXPECT_EQ(result->kind, CommitResult::Kind::kApplied);
  return result->receipt;
}

void PostgresStoreTest::Create() {
  token_ = LeaseToken::Parse(Apply(changes_.Create()).token).value_or(LeaseToken());
}

void PostgresStoreTest::RunTurn(std::vector<Message> messages) {
  Change change = changes_.CommitTurn(token_, Begin());
  change.messages = std::move(messages);
  Apply(change);
}

std::vector<std::string> PostgresStoreTest::Texts() {
  constexpr PageLimit kWhole{.items = 1000, .bytes = size_t{64} * 1024 * 1024};
  std::vector<std::string> texts;
  const auto page = store_->ReadMessages(key(), std::nullopt, MessageSeq(), kWhole);
  EXPECT_EQ(ReasonOf(page.status()), "OK");
  if (!page.ok()) return texts;
  for (const Message& message : page->messages) texts.push_back(message.data.str());
  return texts;
}

}  // namespace holdfast::test

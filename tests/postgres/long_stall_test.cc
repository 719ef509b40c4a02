// A standby that does not answer for long: each write that the store gives up leaves a backend that
// still waits, and whether the write commits is unknown. There are never more such backends than
// connections that the store may have, and reads succeed.
#include "store-postgres/admin/migrate.h"
#include "store-postgres/postgres_store.h"
#include "tests/postgres/store_fixture.h"
#include "tests/support/postgres.h"
#include "tests/support/wait.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace holdfast::test {
namespace {

using holdfast::testing::Connect;
using holdfast::testing::ConnectAdmin;
using holdfast::testing::OwnPostgres;
using holdfast::testing::WaitUntil;

constexpr size_t kConnections = 4;
constexpr size_t kForWriting = 3;
constexpr int kStalledWriters = 6;

class PgLongStall : public ::testing::Test {
 protected:
  void SetUp() override {
    primary_.Start();
    standby_.CopyFrom(primary_);
    standby_.Start();
    watching_ = Connect(primary_.dsn());
    ASSERT_TRUE(pg::Migrate(*ConnectAdmin(primary_.dsn())).ok());
    store_ = pg::MakePostgresStore({.connect = {.dsn = primary_.dsn(),
                                                .statement_timeout = absl::Milliseconds(500),
                                                .silence = absl::Milliseconds(250)},
                                    .connections = kConnections},
                                   SystemClock(), random_);
    ASSERT_EQ(store_->Init(), absl::OkStatus());
    ASSERT_EQ(store_->Activate(), absl::OkStatus());
    ASSERT_TRUE(WaitUntil([&] { return IsThere("before"); }));
  }
  void TearDown() override { store_->Dispose(); }

  absl::StatusOr<CommitResult> Create(const std::string& session) {
    return store_->Commit(Changes(Key(session), random_).Create());
  }
  // Creates the session unless it is there: a create that got no answer in time may have happened.
  bool IsThere(const std::string& session) {
    const std::string reason = ReasonOf(Create(session));
    return reason == "OK" || reason == "SESSION_EXISTS";
  }
  // Creates sessions until `stop_` is set, whether or not they succeed.
  void Write(int writer) {
    for (int i = 0; !stop_; ++i) {
      const auto created = Create(absl::StrCat("during-", writer, "-", i));
      if (created.ok()) continue;
      EXPECT_EQ(ReasonOf(created), "STORE_UNAVAILABLE");
      ++(RefusalOf(created.status()).facts().at("outcome") == "known" ? unsent_ : in_doubt_);
    }
  }
  int64_t Waiting() {
    constexpr pg::Statement kWaiting = {
        "waiting", "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"};
    return std::get<pg::Rows>(watching_->Run(kWaiting, pg::Params())).Int(0, 0);
  }

  OwnPostgres primary_{{"fsync=off", "synchronous_standby_names=*"}};
  OwnPostgres standby_{{"fsync=off"}};
  std::unique_ptr<pg::Connection> watching_;
  SeededRandom random_;
  std::unique_ptr<SessionStore> store_;
  std::atomic<bool> stop_ = false;
  std::atomic<int> unsent_ = 0;    // refused for want of a connection
  std::atomic<int> in_doubt_ = 0;  // given up
};

TEST_F(PgLongStall, LeavesNoMoreWaitingThanTheStoreMayHaveAndReadsGoOn) {
  standby_.Pause();
  std::vector<std::jthread> writers;
  for (int i = 0; i < kStalledWriters; ++i) {
    writers.emplace_back([this, i] { Write(i); });
  }
  EXPECT_TRUE(WaitUntil([&] { return unsent_ >= kStalledWriters; }));
  EXPECT_EQ(Waiting(), kForWriting);
  EXPECT_GE(in_doubt_, 1);
  EXPECT_EQ(ReasonOf(store_->LoadForDecision(Key("before"), std::nullopt).status()), "OK");
  standby_.GoOn();
  EXPECT_TRUE(WaitUntil([&] { return IsThere("after"); }));
  stop_ = true;
  writers.clear();
  EXPECT_TRUE(WaitUntil([&] { return Waiting() == 0; }));
  EXPECT_EQ(ReasonOf(store_->LoadForDecision(Key("after"), std::nullopt).status()), "OK");
  EXPECT_EQ(store_->CheckHealth(), absl::OkStatus());
}

}  // namespace
}  // namespace holdfast::test

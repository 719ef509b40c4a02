// Renewals while another transaction has locked a session's row.
#include "tests/postgres/store_fixture.h"
#include "tests/support/wait.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace holdfast::test {
namespace {

class PgLocked : public PostgresStoreTest {
 protected:
  PgLocked() : locker_(holdfast::testing::Connect(database().dsn())) {
    Create();
    beta_token_ = *LeaseToken::Parse(Apply(beta_.Create()).token);
  }

  // Locks the row of `alpha` in another transaction.
  void Lock() {
    ASSERT_EQ(locker_->Script("BEGIN; SELECT FROM holdfast.session WHERE session_id = 'alpha'"
                              " FOR UPDATE"),
              absl::OkStatus());
  }
  void Unlock() { EXPECT_EQ(locker_->Script("COMMIT"), absl::OkStatus()); }
  // Both leases in one call, that of `beta` first.
  std::vector<absl::StatusOr<Renewed>> RenewBoth() {
    return store().RenewLeases(
        {{.key = beta_.key(), .token = beta_token_}, {.key = key(), .token = token()}});
  }
  bool HasLockWaiter() {
    return database().AskText(
               "SELECT count(*)::text FROM pg_stat_activity WHERE datname = current_database()"
               " AND wait_event_type = 'Lock'") == "1";
  }

 private:
  std::unique_ptr<pg::Connection> locker_;
  Changes beta_{Key("beta"), random()};
  LeaseToken beta_token_;
};

TEST_F(PgLocked, RenewsWithoutWaitingWhenRowIsLocked) {
  Lock();
  const auto renewed = RenewBoth();
  EXPECT_EQ(ReasonOf(renewed.at(1).status()), "STORE_UNAVAILABLE");
  EXPECT_EQ(RefusalOf(renewed.at(1).status()).facts().at("outcome"), "known");
  EXPECT_EQ(ReasonOf(renewed.at(0).status()), "OK");
  Unlock();
  EXPECT_EQ(ReasonOf(RenewBoth().at(1).status()), "OK");
}

TEST_F(PgLocked, ARenewalThatWaitsHoldsNoOtherSession) {
  Lock();
  std::vector<absl::StatusOr<Renewed>> renewed;
  std::jthread renewer([&] { renewed = RenewBoth(); });
  ASSERT_TRUE(holdfast::testing::WaitUntil([&] { return HasLockWaiter(); }));
  database().Run(
      "BEGIN; SELECT FROM holdfast.session WHERE session_id = 'beta' FOR UPDATE NOWAIT;"
      " COMMIT");
  Unlock();
  renewer.join();
  EXPECT_EQ(ReasonOf(renewed.at(0).status()), "OK");
}

}  // namespace
}  // namespace holdfast::test

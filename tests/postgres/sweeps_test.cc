// Four servers that sweep the same sessions while they are killed: each session is ended once, and
// each deleted one emptied but for its tombstone.
#include "session/sessions.h"
#include "store-postgres/postgres_store.h"
#include "tests/postgres/server_group.h"
#include "tests/postgres/store_fixture.h"
#include "tests/support/changes.h"
#include "tests/support/seeded_random.h"
#include "tests/support/wait.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::testing {
namespace {

using test::Changes;
using test::ReasonOf;

constexpr size_t kSweepingServers = 4;
constexpr int kSweptSessions = 2000;
constexpr int kDeleted = 400;
constexpr int kMakers = 8;
constexpr int64_t kEndedBetweenKills = 40;
constexpr size_t kLeastKills = 20;
constexpr PageLimit kWholeHistory{.items = 100, .bytes = 1 << 20};
// Nothing is due before the clock is moved.
constexpr char kRecovery[] =
    "recovery: {sweep_interval: 1s, abandon_after: 10m, cancel_grace: 10m}\n";

class PgSweeps : public ::testing::Test {
 protected:
  void SetUp() override {
    group_.MakeStore();
    for (size_t i = 0; i < kSweepingServers; ++i) group_.Add(kRecovery);
    store_ = pg::MakePostgresStore({.connect = {.dsn = group_.postgres().dsn()}}, SystemClock(),
                                   random_);
    ASSERT_EQ(store_->Init(), absl::OkStatus());
    ASSERT_EQ(store_->Activate(), absl::OkStatus());
  }

  // Sessions with an active turn whose holders have gone; in every second one the holder is there
  // and does not end the turn, which has a cancel request.
  void MakeSessions() {
    std::vector<std::jthread> makers;
    for (int maker = 0; maker < kMakers; ++maker) {
      makers.emplace_back([this, maker] {
        for (int i = maker; i < kSweptSessions; i += kMakers) MakeSession(i);
      });
    }
  }
  // Sessions that were deleted and still have all that they had.
  void MakeDeleted() {
    for (int i = 0; i < kDeleted; ++i) {
      Changes changes(DeletedKey(i), random_);
      const auto created = store_->Commit(changes.Create());
      ASSERT_EQ(ReasonOf(created), "OK");
      Change write = changes.Write(*LeaseToken::Parse(created->receipt.token));
      write.messages = {test::Text("said")};
      write.slots = {test::MakeSlot("plan", "made")};
      ASSERT_EQ(ReasonOf(store_->Commit(write)), "OK");
      Change gone = changes.Delete();
      gone.guard.lease = LeaseRule::kForce;
      gone.events = {{.name = "SessionDeleted"}};
      ASSERT_EQ(ReasonOf(store_->Commit(gone)), "OK");
    }
  }
  // Time passes for the database, and so for leases and quiet times.
  void LetTwentyMinutesPass() {
    group_.Do(
        "CREATE OR REPLACE FUNCTION holdfast.clock() RETURNS timestamptz"
        " LANGUAGE sql VOLATILE PARALLEL SAFE"
        " AS 'SELECT clock_timestamp() + interval ''20 minutes'''");
  }
  // How many sessions have been ended: a sweep raises the epoch.
  int64_t Ended() { return EndedBy(*watching_); }
  static int64_t EndedBy(pg::Connection& connection) {
    constexpr pg::Statement kEnded = {"ended",
                                      "SELECT count(*) FROM holdfast.session WHERE epoch > 1"};
    return std::get<pg::Rows>(connection.Run(kEnded, pg::Params())).Int(0, 0);
  }
  // Kills one server again and again while there is something to sweep; by a thread for each, for
  // the others go on sweeping while it starts.
  void KillWhileItSweeps(size_t server) {
    const auto watching = Connect(group_.postgres().dsn());
    int64_t next = kEndedBetweenKills * static_cast<int64_t>(server + 1);
    while (next < kSweptSessions) {
      ASSERT_TRUE(WaitUntil([&] { return EndedBy(*watching) >= next; })) << group_.Logs();
      group_.server(server).Kill();
      ++kills_;
      group_.Restart(server);
      next = std::max(next, EndedBy(*watching)) + kEndedBetweenKills * kSweepingServers;
    }
  }
  // How many rows deleted sessions still have, and how many of them a sweep would look at.
  int64_t LeftOfDeleted() {
    constexpr pg::Statement kLeft = {
        "left",
        "SELECT (SELECT count(*) FROM holdfast.log WHERE session_id LIKE 'deleted-%')"
        " + (SELECT count(*) FROM holdfast.slot WHERE session_id LIKE 'deleted-%')"
        " + (SELECT count(*) FROM holdfast.session WHERE session_id LIKE 'deleted-%' AND sweep)"};
    return std::get<pg::Rows>(watching_->Run(kLeft, pg::Params())).Int(0, 0);
  }

  void ExpectOneEffect(int i) {
    const SessionKey key = KeyOf(i);
    const auto loaded = store_->LoadForDecision(key, std::nullopt);
    ASSERT_EQ(ReasonOf(loaded.status()), "OK");
    const Head& head = loaded->head;
    EXPECT_EQ(head.lease.epoch, Epoch(2));
    EXPECT_FALSE(head.turn);
    const bool cancelled = i % 2 == 1;
    EXPECT_EQ(head.lifecycle, cancelled ? Lifecycle::kIdle : Lifecycle::kClosed);
    EXPECT_EQ(CountEvents(key, cancelled ? "SessionTurnEnd" : "SessionClosed"), 1);
    const auto audit = store_->ReadAudit(key, AuditSeq(), kWholeHistory);
    ASSERT_TRUE(audit.ok());
    EXPECT_EQ(audit->records.size(), records_[i] + 1);
    EXPECT_EQ(head.revision.value(), revisions_[i] + 1);
  }

  void ExpectATombstone(int i) {
    const SessionKey key = DeletedKey(i);
    EXPECT_EQ(ReasonOf(store_->LoadForDecision(key, std::nullopt).status()), "TOMBSTONED");
    const auto last = store_->ReadLastEvent(key);
    ASSERT_EQ(ReasonOf(last.status()), "OK");
    EXPECT_EQ(last->name, "SessionDeleted");
  }

  // What a further sweep finds.
  size_t SweepOnceMore() {
    Sessions sessions(*store_, random_);
    return *sessions.RecoverDue(absl::Minutes(10), kSweptSessions) +
           *sessions.EndCancelled(absl::Minutes(10), kSweptSessions);
  }

  ServerGroup group_;
  test::SeededRandom random_;
  std::atomic<size_t> kills_ = 0;
  std::unique_ptr<SessionStore> store_;
  std::unique_ptr<pg::Connection> watching_ = Connect(group_.postgres().dsn());

 private:
  static SessionKey KeyOf(int i) { return test::Key(absl::StrCat("due-", i)); }
  static SessionKey DeletedKey(int i) { return test::Key(absl::StrCat("deleted-", i)); }

  void MakeSession(int i) {
    Changes changes(KeyOf(i), random_);
    const bool cancelled = i % 2 == 1;
    Change create = changes.Create();
    if (cancelled) create.grant->ttl = absl::Hours(1);
    const auto created = store_->Commit(create);
    ASSERT_EQ(ReasonOf(created), "OK");
    const LeaseToken token = *LeaseToken::Parse(created->receipt.token);
    auto last = store_->Commit(changes.Begin(token));
    ASSERT_EQ(ReasonOf(last), "OK");
    if (cancelled) {
      last = store_->Commit(changes.RequestCancel(CancelScope::kTurn, last->receipt.turn));
    }
    ASSERT_EQ(ReasonOf(last), "OK");
    revisions_[i] = last->head.revision.value();
    records_[i] = store_->ReadAudit(KeyOf(i), AuditSeq(), kWholeHistory)->records.size();
  }
  int CountEvents(const SessionKey& key, const std::string& name) {
    const auto page = store_->ReadEvents(key, EventSeq(), kWholeHistory);
    EXPECT_EQ(ReasonOf(page.status()), "OK");
    if (!page.ok()) return 0;
    return static_cast<int>(std::ranges::count(page->events, name, &Event::name));
  }

  std::array<uint64_t, kSweptSessions> revisions_ = {};
  std::array<size_t, kSweptSessions> records_ = {};
};

TEST_F(PgSweeps, TwoThousandActsHaveTwoThousandEffectsWhileServersAreKilled) {
  MakeSessions();
  MakeDeleted();
  ASSERT_EQ(Ended(), 0);
  ASSERT_GE(LeftOfDeleted(), 5 * kDeleted);
  LetTwentyMinutesPass();
  std::vector<std::jthread> killers;
  for (size_t server = 0; server < kSweepingServers; ++server) {
    killers.emplace_back([this, server] { KillWhileItSweeps(server); });
  }
  killers.clear();
  ASSERT_FALSE(HasFailure());
  EXPECT_TRUE(WaitUntil([&] { return Ended() == kSweptSessions; })) << Ended();
  EXPECT_EQ(SweepOnceMore(), 0U);
  for (int i = 0; i < kSweptSessions && !HasFailure(); ++i) ExpectOneEffect(i);
  EXPECT_TRUE(WaitUntil([&] { return LeftOfDeleted() == 0; })) << LeftOfDeleted();
  for (int i = 0; i < kDeleted && !HasFailure(); ++i) ExpectATombstone(i);
  EXPECT_GE(kills_, kLeastKills);
  std::cout << kills_ << " servers were killed meanwhile\n";
  EXPECT_TRUE(group_.AllRunning());
  store_->Dispose();
}

}  // namespace
}  // namespace holdfast::testing

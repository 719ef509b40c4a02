// Servers that notify each other of new events. No timer reads the feed here: a server sees
// another's events only after a notification.
#include "store-postgres/notifier.h"

#include "platform/clock.h"
#include "store-postgres/buckets.h"
#include "store-postgres/pg/waker.h"
#include "store-postgres/postgres_store.h"
#include "tests/postgres/store_fixture.h"
#include "tests/support/wait.h"

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include <gmock/gmock.h>

#include <atomic>
#include <deque>
#include <map>
#include <set>
#include <utility>

namespace holdfast::test {
namespace {

using ::testing::ElementsAre;

constexpr absl::Duration kNever = absl::Hours(1);
constexpr PageLimit kAllEvents{.items = 1000, .bytes = size_t{4} * 1024 * 1024};

// Counts what a server asks in the background, and can hold up its next notification.
class Background {
 public:
  std::shared_ptr<const pg::Tap> tap() {
    pg::Tap tap;
    tap.before = [this](std::string_view name) -> std::optional<pg::Failure> {
      if (name == "feed") ++looks_;
      if (name == "notify") Notify();
      return std::nullopt;
    };
    return std::make_shared<const pg::Tap>(std::move(tap));
  }
  [[nodiscard]] int looks() const { return looks_; }
  [[nodiscard]] int notifications() const { return notifications_; }

  // From now on the notifier waits in its next notification, until it is let go.
  void Hold() {
    notifications_ = 0;
    holding_ = true;
  }
  void AwaitHeld() { held_.WaitForNotification(); }
  void LetGo() { let_go_.Notify(); }

 private:
  void Notify() {
    ++notifications_;
    if (!holding_.exchange(false)) return;
    held_.Notify();
    let_go_.WaitForNotification();
  }

  std::atomic<int> looks_ = 0;
  std::atomic<int> notifications_ = 0;
  std::atomic<bool> holding_ = false;
  absl::Notification held_;
  absl::Notification let_go_;
};

class PgNotifier : public ::testing::Test {
 protected:
  PgNotifier() : writer_(Server(notifying_)), reader_(Server(heard_by_)) {}
  ~PgNotifier() override {
    Close(writer_);
    Close(reader_);
  }

  std::unique_ptr<SessionStore> Server(Background& background) {
    auto store = pg::MakePostgresStore(
        {.connect = {.dsn = database_.dsn(), .tap = background.tap()}, .feed_beat = kNever}, clock_,
        random_);
    EXPECT_EQ(store->Init(), absl::OkStatus());
    EXPECT_EQ(store->Activate(), absl::OkStatus());
    return store;
  }
  static void Close(const std::unique_ptr<SessionStore>& store) {
    EXPECT_EQ(store->Deactivate(), absl::OkStatus());
    store->Dispose();
  }

  // A session that the reader watches from now on.
  void Create(const std::string& id) {
    const auto created = writer_->Commit(Changes(Key(id), random_).Create());
    ASSERT_EQ(ReasonOf(created), "OK");
    tokens_[id] = *LeaseToken::Parse(created->receipt.token);
    Read(id);
  }
  // Something happens to it at the writer.
  void Happen(const std::string& id) {
    Change change = Changes(Key(id), random_).Write(tokens_[id]);
    change.events = {{.name = "Happened"}};
    ASSERT_EQ(ReasonOf(writer_->Commit(change)), "OK");
  }
  // How many events the reader finds.
  size_t Read(const std::string& id) {
    const auto page = reader_->ReadEvents(Key(id), EventSeq(), kAllEvents);
    EXPECT_EQ(ReasonOf(page.status()), "OK");
    return page.ok() ? page->events.size() : 0;
  }
  // Something happens, and a notification is sent that was begun no earlier than that of what was
  // before.
  void LetNotify(const std::string& id) {
    const int before = notifying_.notifications();
    Happen(id);
    EXPECT_TRUE(holdfast::testing::WaitUntil([&] { return notifying_.notifications() > before; }));
  }
  // The next notification that is sent to all listeners.
  pg::Notice NextNotice(pg::Connection& heard) {
    const pg::Waker waker;
    EXPECT_TRUE(holdfast::testing::WaitUntil([&] {
      const auto more = heard.AwaitNotifications(waker, absl::Seconds(1));
      EXPECT_TRUE(more.ok()) << more.status();
      if (more.ok()) payloads_.insert(payloads_.end(), more->begin(), more->end());
      return !payloads_.empty();
    }));
    const auto notice = pg::FromPayload(payloads_.front());
    payloads_.pop_front();
    return notice.value_or(pg::Notice());
  }
  // The sessions of the reader's next wake-up.
  std::multiset<std::string> NextNotified() {
    std::multiset<std::string> notified;
    EXPECT_TRUE(holdfast::testing::WaitUntil([&] {
      const auto wakeups = reader_->WaitForEvents(absl::Seconds(1));
      if (!wakeups.ok()) return false;
      for (const SessionKey& key : wakeups->sessions) notified.insert(key.session.value());
      return !notified.empty();
    }));
    return notified;
  }
  // Waits until the reader was notified of all events: the look that finds an event finds those
  // before it, and a session that was only created has one.
  void Drain() {
    const SessionKey last = Key("last");
    EXPECT_EQ(ReasonOf(reader_->ReadEvents(last, EventSeq(), kAllEvents).status()),
              "SESSION_NOT_FOUND");
    EXPECT_EQ(ReasonOf(writer_->Commit(Changes(last, random_).Create())), "OK");
    EXPECT_TRUE(holdfast::testing::WaitUntil([&] {
      const auto wakeups = reader_->WaitForEvents(absl::Seconds(1));
      return wakeups.ok() && absl::c_linear_search(wakeups->sessions, last);
    }));
  }
  bool AwaitNotified(std::set<std::string> ids) { return AwaitNotified(std::move(ids), *reader_); }
  // Waits until `server` was notified of each of `ids`.
  static bool AwaitNotified(std::set<std::string> ids, SessionStore& server) {
    return holdfast::testing::WaitUntil([&] {
      const auto wakeups = server.WaitForEvents(absl::Seconds(1));
      if (!wakeups.ok() || wakeups->all) return wakeups.ok();
      for (const SessionKey& key : wakeups->sessions) ids.erase(key.session.value());
      return ids.empty();
    });
  }
  void KillConnection(const std::string& of) {
    database_.Run(
        absl::StrCat("SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity"
                     " WHERE datname = current_database() AND application_name = ",
                     Quoted("holdfastd " + of)));
  }

  StoreDatabase database_{WhoseStore::kCommon};
  FakeClock clock_;
  SeededRandom random_;
  Background notifying_;
  Background heard_by_;
  std::unique_ptr<SessionStore> writer_;
  std::unique_ptr<SessionStore> reader_;
  std::map<std::string, LeaseToken> tokens_;
  std::deque<std::string> payloads_;  // received and not yet returned
};

TEST_F(PgNotifier, AnEventOfTheOtherArrivesWithoutThePoll) {
  Create("alpha");
  for (int i = 0; i < 3; ++i) {
    const size_t before = Read("alpha");
    Happen("alpha");
    EXPECT_TRUE(AwaitNotified({"alpha"}));
    EXPECT_EQ(Read("alpha"), before + 1);
  }
}

// Notifications arrive in order: a listener that has one has those before it.
TEST_F(PgNotifier, ReadsFeedOnlyWhenBucketIsWatched) {
  Create("alpha");
  Create("beta");
  ASSERT_NE(pg::BucketOf(Key("alpha")), pg::BucketOf(Key("beta")));
  LetNotify("alpha");
  LetNotify("alpha");  // so the one with the creations has been sent
  Background third;
  const auto other = Server(third);
  for (int i = 0; i < 10; ++i) LetNotify("alpha");
  ASSERT_TRUE(other->ReadEvents(Key("beta"), EventSeq(), kAllEvents).ok());
  Happen("beta");
  EXPECT_TRUE(AwaitNotified({"beta"}, *other));
  EXPECT_EQ(third.looks(), 1);
  Close(other);
}

TEST_F(PgNotifier, WhateverHappensMeanwhileIsOneNotification) {
  std::set<std::string> ids;
  pg::Buckets buckets;
  for (int i = 0; i < 20; ++i) ids.insert(absl::StrCat("s", i));
  for (const std::string& id : ids) {
    Create(id);
    buckets.set(pg::BucketOf(Key(id)));
  }
  LetNotify("s0");
  LetNotify("s0");
  notifying_.Hold();
  Happen("s0");
  notifying_.AwaitHeld();
  const auto heard = holdfast::testing::Connect(database_.dsn());
  ASSERT_EQ(heard->Script("LISTEN holdfast"), absl::OkStatus());
  for (int round = 0; round < 5; ++round) {
    for (const std::string& id : ids) Happen(id);
  }
  notifying_.LetGo();
  EXPECT_TRUE(AwaitNotified(ids));
  EXPECT_EQ(NextNotice(*heard).touched.count(), 1U) << "the one that was held up";
  EXPECT_EQ(NextNotice(*heard).touched, buckets);
}

TEST_F(PgNotifier, EachEventIsFoundOnceHoweverLongAnotherTransactionTakes) {
  for (const char* const id : {"alpha", "beta", "gamma"}) Create(id);
  LetNotify("beta");
  LetNotify("beta");
  Drain();
  const auto slow = holdfast::testing::Connect(database_.dsn());
  ASSERT_EQ(slow->Script("BEGIN; INSERT INTO holdfast.feed (writer, at, tenants, sessions)"
                         " SELECT writer, at, tenants, sessions FROM holdfast.feed"
                         " WHERE sessions = '{alpha}' ORDER BY xid LIMIT 1"),
            absl::OkStatus());
  for (const char* const id : {"beta", "gamma", "beta"}) {
    Happen(id);
    EXPECT_THAT(NextNotified(), ElementsAre(id));
  }
  ASSERT_EQ(slow->Script("COMMIT"), absl::OkStatus());
  Happen("gamma");
  std::multiset<std::string> notified;
  while (!HasFailure() && !notified.contains("gamma")) notified.merge(NextNotified());
  EXPECT_THAT(notified, ElementsAre("alpha", "gamma"));
}

// However slow the machine is: more time only allows for more.
TEST_F(PgNotifier, NotifiesOnceInTwentyMillisecondsAtMost) {
  constexpr int kCommits = 300;
  const Clock& real = SystemClock();
  Create("alpha");
  const int before = notifying_.notifications();
  const absl::Duration began = real.SinceBoot();
  for (int i = 0; i < kCommits; ++i) Happen("alpha");
  EXPECT_TRUE(AwaitNotified({"alpha"}));
  const int notified = notifying_.notifications() - before;
  EXPECT_GE(notified, 1);
  EXPECT_LE(notified, (real.SinceBoot() - began) / pg::kNotifyBeat + 1);
}

TEST_F(PgNotifier, NothingIsLostWhenItsConnectionsAreKilled) {
  Create("alpha");
  for (const char* const killed : {"notifier", "listener", "notifier", "listener"}) {
    const size_t before = Read("alpha");
    KillConnection(killed);
    Happen("alpha");
    EXPECT_TRUE(AwaitNotified({"alpha"})) << killed;
    EXPECT_EQ(Read("alpha"), before + 1) << killed;
  }
}

// A notification that was sent while the listener had no connection.
TEST_F(PgNotifier, ReadsFeedWhenListenerReconnects) {
  using holdfast::testing::Connect;
  Create("alpha");
  Drain();
  const std::string name = database_.AskText("SELECT current_database()::text");
  const auto cluster =
      Connect(holdfast::testing::DsnOf(holdfast::testing::SharedPostgres(), "postgres"));
  const std::string connections = absl::StrCat("ALTER DATABASE ", name, " ALLOW_CONNECTIONS ");
  ASSERT_EQ(cluster->Script(connections + "false"), absl::OkStatus());
  KillConnection("listener");
  const size_t before = Read("alpha");
  LetNotify("alpha");
  LetNotify("alpha");  // so the one before has been sent
  ASSERT_EQ(cluster->Script(connections + "true"), absl::OkStatus());
  EXPECT_TRUE(AwaitNotified({"alpha"}));
  EXPECT_EQ(Read("alpha"), before + 2);
}

TEST_F(PgNotifier, SendsNoNotificationWithoutOtherServers) {
  Create("alpha");
  Close(reader_);
  const int before = notifying_.notifications();
  Happen("alpha");  // and what was under way has ended when this one is
  ASSERT_TRUE(holdfast::testing::WaitUntil([&] { return notifying_.notifications() > before; }));
  const auto heard = holdfast::testing::Connect(database_.dsn());
  ASSERT_EQ(heard->Script("LISTEN holdfast"), absl::OkStatus());
  Happen("alpha");
  notifying_.Hold();
  Happen("alpha");
  notifying_.AwaitHeld();
  ASSERT_EQ(heard->Script("SELECT 1"), absl::OkStatus());  // with earlier notifications
  const pg::Waker waker;
  const auto notified = heard->AwaitNotifications(waker, absl::ZeroDuration());
  ASSERT_TRUE(notified.ok()) << notified.status();
  EXPECT_THAT(*notified, ElementsAre());
  notifying_.LetGo();
  reader_ = Server(heard_by_);
}

TEST(PgBuckets, PayloadNamesWriterAndBuckets) {
  pg::Notice notice{.writer = -12, .touched = {}};
  notice.touched.set(0).set(10).set(pg::kBuckets - 1);
  EXPECT_EQ(pg::ToPayload(notice), "-12 00000afff");
  const auto read = pg::FromPayload("-12 00000afff");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->writer, -12);
  EXPECT_EQ(read->touched, notice.touched);
  notice.touched.set();
  EXPECT_EQ(pg::ToPayload(notice), "-12 *");
  EXPECT_TRUE(pg::FromPayload("-12 *")->touched.all());
  for (const char* const other : {"", "12", "x 000", "12 ", "12 00", "12 00g", "12 **"}) {
    EXPECT_FALSE(pg::FromPayload(other)) << other;
  }
}

// Servers of different builds must agree.
TEST(PgBuckets, ABucketIsTheSameForEver) {
  EXPECT_EQ(pg::BucketOf(Key("alpha")), 2704U);
  EXPECT_EQ(pg::BucketOf(Key("beta", "other")), 2817U);
}

}  // namespace
}  // namespace holdfast::test

// Watchers that go from one server to another while sessions change at both. Whichever
// notifications between the servers are lost, each event is seen once and in order.
#include "session/limits.h"
#include "store-postgres/pg/waker.h"
#include "tests/support/channel.h"
#include "tests/support/postgres.h"
#include "tests/support/requests.h"
#include "tests/support/server_process.h"
#include "tests/support/wait.h"
#include "tests/support/watch_client.h"
#include "tests/support/wire_client.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::testing {
namespace {

using ::testing::HasSubstr;
using Stub = WireClient::Stub;

constexpr size_t kWatchedServers = 2;
constexpr int kWatchedSessions = 3;
constexpr int kWatchedTurns = 40;
constexpr size_t kEventsPerHop = 7;
constexpr size_t kEventsOfAll = 1 + 3 * kWatchedTurns;  // a turn has three, creation one

std::string SessionName(int session) { return absl::StrCat("watched-", session); }

class ServersWatch : public ::testing::Test {
 protected:
  void SetUp() override {
    postgres_.Start();
    ASSERT_TRUE(pg::Migrate(*ConnectAdmin(postgres_.dsn())).ok());
    // As an operator would have it: not the owner of the schema.
    Do("CREATE ROLE server LOGIN; GRANT USAGE ON SCHEMA holdfast TO server;"
       "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA holdfast TO server");
  }

  void Do(const std::string& sql) {
    ASSERT_EQ(Connect(postgres_.dsn())->Script(sql), absl::OkStatus());
  }

  void StartServers() {
    for (size_t i = 0; i < kWatchedServers; ++i) {
      folders_[i] = std::make_unique<TestFolder>();
      servers_[i] = std::make_unique<ServerProcess>(
          *folders_[i], ServerSettings{.dsn = postgres_.dsn() + " user=server"});
      ASSERT_TRUE(servers_[i]->Start()) << servers_[i]->Log();
      clients_[i] = std::make_unique<WireClient>(servers_[i]->address());
    }
    for (int session = 0; session < kWatchedSessions; ++session) {
      const auto created =
          clients_[0]->Must(&Stub::CreateSession, test::CreateRequest(SessionName(session)));
      tokens_.push_back(created.lease_token());
    }
  }

  // Watches and changes every session at both servers. Ends when each watcher has as many events as
  // there are.
  void WatchWhileItChanges() {
    seen_.resize(kWatchedSessions);
    std::vector<std::thread> watchers;
    for (int session = 0; session < kWatchedSessions; ++session) {
      watchers.emplace_back(
          [this, session] { seen_[session] = HopAndWatch(SessionName(session)); });
    }
    for (int turn = 0; turn < kWatchedTurns; ++turn) {
      for (int session = 0; session < kWatchedSessions; ++session) TakeTurn(session, turn);
    }
    for (std::thread& watcher : watchers) watcher.join();
  }

  void ExpectEachSeenOnceInOrder() {
    for (int session = 0; session < kWatchedSessions; ++session) {
      pb::ListEventsRequest request;
      request.set_session_id(SessionName(session));
      request.set_page_size(kPageMost);
      const auto all = clients_[1]->Must(&Stub::ListEvents, request);
      ASSERT_EQ(all.next_page_token(), "");
      ASSERT_EQ(seen_[session].size(), static_cast<size_t>(all.events_size()));
      for (int at = 0; at < all.events_size(); ++at) {
        EXPECT_EQ(seen_[session][at].seq(), at + 1);
        EXPECT_EQ(seen_[session][at].ShortDebugString(), all.events(at).ShortDebugString());
      }
    }
  }

  [[nodiscard]] std::string LogOf(size_t server) const { return servers_[server]->Log(); }
  OwnPostgres& postgres() { return postgres_; }

 private:
  // A part at each server in turns, by the cursor of the part before.
  std::vector<pb::Event> HopAndWatch(const std::string& session) {
    std::array<std::unique_ptr<pb::SessionService::Stub>, kWatchedServers> stubs;
    for (size_t i = 0; i < kWatchedServers; ++i) {
      stubs[i] = pb::SessionService::NewStub(Connected(servers_[i]->address()));
    }
    std::vector<pb::Event> seen;
    pb::WatchSessionRequest from = WatchFrom(session, 0);
    for (size_t hop = 0; seen.size() < kEventsOfAll; ++hop) {
      Watch watch(*stubs[hop % kWatchedServers], from);
      const size_t left = kEventsOfAll - seen.size();
      const auto part = watch.Events(std::min(kEventsPerHop, left));
      if (part.empty()) break;  // it ended: what is missing is found by the comparison
      seen.insert(seen.end(), part.begin(), part.end());
      from = WatchOn(session, watch.cursor());
    }
    return seen;
  }

  // Begins it at one server and commits it at the other.
  void TakeTurn(int session, int turn) {
    const std::string id = SessionName(session);
    WireClient& one = *clients_[turn % kWatchedServers];
    WireClient& other = *clients_[(turn + 1) % kWatchedServers];
    const auto begun = one.Must(&Stub::BeginTurn, test::BeginRequest(id, tokens_[session]));
    other.Must(&Stub::CommitTurn, test::CommitRequest(id, tokens_[session], begun.turn(), "more"));
  }

  OwnPostgres postgres_{{"fsync=off"}};
  std::array<std::unique_ptr<TestFolder>, kWatchedServers> folders_;
  std::array<std::unique_ptr<ServerProcess>, kWatchedServers> servers_;
  std::array<std::unique_ptr<WireClient>, kWatchedServers> clients_;
  std::vector<std::string> tokens_;
  std::vector<std::vector<pb::Event>> seen_;
};

// No server may notify at any time: the poll alone finds the events of the other server.
TEST_F(ServersWatch, EachEventIsSeenOnceWithTheNotifierCutOff) {
  Do("REVOKE EXECUTE ON FUNCTION pg_notify(text, text) FROM PUBLIC");
  const auto anybody = Connect(postgres().dsn());
  ASSERT_EQ(anybody->Script("LISTEN holdfast"), absl::OkStatus());
  StartServers();
  WatchWhileItChanges();
  ExpectEachSeenOnceInOrder();
  EXPECT_THAT(LogOf(0), HasSubstr("notify: 42501"));
  EXPECT_THAT(LogOf(1), HasSubstr("notify: 42501"));
  ASSERT_EQ(anybody->Script("SELECT 1"), absl::OkStatus());
  EXPECT_TRUE(anybody->AwaitNotifications(pg::Waker(), absl::ZeroDuration())->empty());
}

// The connections of their notifiers and listeners are ended again and again.
TEST_F(ServersWatch, EachEventIsSeenOnceWhileTheirConnectionsAreKilled) {
  StartServers();
  std::atomic<bool> done = false;
  std::atomic<int> killed = 0;
  std::thread killer([&] {
    constexpr pg::Statement kKill = {
        "kill",
        "SELECT count(*) FROM pg_stat_activity WHERE application_name IN"
        " ('holdfastd notifier', 'holdfastd listener') AND pg_terminate_backend(pid, 60000)"};
    const auto connection = Connect(postgres().dsn());
    while (!done) {
      const pg::Answer answer = connection->Run(kKill, pg::Params());
      killed += static_cast<int>(std::get<pg::Rows>(answer).Int(0, 0));
    }
  });
  WatchWhileItChanges();
  done = true;
  killer.join();
  ExpectEachSeenOnceInOrder();
  EXPECT_GE(killed, 2) << "each server has at least one from the beginning";
}

}  // namespace
}  // namespace holdfast::testing

// Calls that are given up as soon as they are sent (CVE-2023-44487), by the hundred thousand: other
// clients go on, and a peer that does it again and again is disconnected.
#include "session/limits.h"
#include "tests/support/committers.h"
#include "tests/support/each_store.h"
#include "tests/support/latencies.h"
#include "tests/support/raw_http2.h"
#include "tests/support/raw_socket.h"
#include "tests/support/reserved_port.h"
#include "tests/support/scrape.h"
#include "tests/support/server_process.h"
#include "tests/support/wait.h"

#include "absl/functional/function_ref.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <deque>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::testing {
namespace {

constexpr char kEcho[] = "/holdfast.v1.AdminService/Echo";
constexpr char kJournal[] = "/holdfast.v1.SessionService/AppendJournalStream";
constexpr uint32_t kStreamsAtOnce = 200;
constexpr uint32_t kResetStreams = 200'000;
constexpr size_t kConnectionsOfOne = 200;  // a peer may open so many at once
constexpr size_t kOtherCommitters = 8;
constexpr size_t kCommitsToCompare = 800;

// What a reset call consists of.
struct ResetCall {
  std::string path;
  bool whole = false;  // its message is sent before it is reset
};

// A connection on which calls are opened and reset.
class Attacker final {
 public:
  Attacker(const std::string& address, const std::string& source)
      : socket_(address, source, kPatience) {
    connected_ = socket_.connected() && socket_.Send(http2::Opening());
  }

  // Opens and resets kStreamsAtOnce calls. False when the server has closed the connection.
  bool Send(const ResetCall& kind) {
    std::string frames;
    for (uint32_t i = 0; i < kStreamsAtOnce; ++i, next_ += 2) {
      frames += http2::Headers(next_, kind.path);
      if (kind.whole) frames += http2::EmptyMessage(next_);
      frames += http2::Reset(next_);
    }
    // What comes in is dropped, for the answers would fill the connection.
    connected_ = connected_ && socket_.Send(frames) && !socket_.AwaitEnd(absl::ZeroDuration());
    return connected_;
  }

  // Whether the server has read everything that was sent.
  bool AwaitRead() {
    if (!connected_ || !socket_.Send(http2::Ping())) return false;
    const absl::Time end = absl::Now() + kPatience;
    std::string received;
    while (absl::Now() < end && !absl::StrContains(received, http2::PingAnswer())) {
      // Of what came before, only the beginning of an answer may count.
      received.erase(0, received.size() - std::min(received.size(), http2::PingAnswer().size()));
      if (!socket_.Receive(end - absl::Now(), received)) return false;
    }
    return absl::StrContains(received, http2::PingAnswer());
  }

 private:
  static constexpr absl::Duration kPatience = absl::Minutes(1);

  RawSocket socket_;
  bool connected_ = false;
  uint32_t next_ = 1;
};

class RapidReset : public ::testing::TestWithParam<StoreKind> {
 protected:
  void SetUp() override { ASSERT_TRUE(server_.Start()) << server_.Log(); }

  ServerProcess& server() { return server_; }

  // Lets others commit before and during the attack, and expects that no call of theirs fails.
  UnderLoad CommitBeside(absl::FunctionRef<void()> attack) {
    Committers others(server_.address(), kOtherCommitters);
    EXPECT_TRUE(others.AwaitCommits(kOtherCommitters));
    const absl::Time calm_begun = absl::Now();
    EXPECT_TRUE(others.AwaitCommits(kCommitsToCompare));
    const absl::Time attack_begun = absl::Now();
    calm_took_ = attack_begun - calm_begun;
    attack();
    const absl::Time attack_ended = absl::Now();
    EXPECT_TRUE(others.AwaitCommits(kOtherCommitters)) << "no other client is served";
    const std::vector<std::string> failed = others.Stop();
    EXPECT_TRUE(failed.empty()) << failed.size() << " failed, the first: " << failed.front();
    const Latencies calm = others.Between(calm_begun, attack_begun);
    const Latencies attacked = others.Between(attack_begun, attack_ended);
    EXPECT_GT(attacked.size(), 0U) << "no call began during the attack";
    const UnderLoad took = {Percentile(calm, 99), Percentile(attacked, 99)};
    std::cout << "99th of 100 calls took " << took.calm << " before (" << calm.size()
              << " calls) and " << took.loaded << " during the attack of "
              << attack_ended - attack_begun << " (" << attacked.size() << " calls), "
              << others.refused() << " were OVERLOADED\n";
    return took;
  }

  // Attacks from one address, on a new connection whenever one is closed.
  void ExpectThePeerDisconnected(const ResetCall& kind) {
    ExpectTolerable("127.0.2.", [&](const std::string& address, const std::string& peer) {
      const int disconnected = AttackFromOne(address, peer, kind);
      EXPECT_GT(disconnected, 0);
    });
    if (HasFailure()) return;  // what follows would be waited for in vain
    EXPECT_TRUE(server_.AwaitLog("gives up its calls again and again"));
    EXPECT_GT(Scrape(metrics_.address())["holdfast_connections_closed_total{cause=\"resets\"}"], 0);
  }

  // As many calls at once from one address as its connections take, until the server has closed
  // them all. It takes a fraction of what is measured: a second, or as long as the commits before
  // it took, where the machine is slow.
  void ExpectOthersUnimpaired(const ResetCall& kind) {
    ExpectTolerable("127.0.5.", [&](const std::string& address, const std::string& peer) {
      const absl::Duration measured = std::max(absl::Seconds(1), calm_took_);
      const absl::Time begun = absl::Now();
      uint32_t sent = 0;
      std::deque<Attacker> attackers;
      for (size_t i = 0; i < kConnectionsOfOne; ++i) attackers.emplace_back(address, peer);
      for (bool connected = true; connected && sent < kResetStreams;) {
        connected = false;
        for (Attacker& attacker : attackers) {
          if (!attacker.Send(kind)) continue;
          connected = true;
          sent += kStreamsAtOnce;
        }
      }
      std::cout << "figure: " << sent << " resets sent in " << absl::Now() - begun
                << " before every connection was closed\n";
      EXPECT_TRUE(WaitUntil([&] { return absl::Now() >= begun + measured; }));
    });
  }

  // So many calls from so many addresses that none gives up more than it may. They are delivered
  // at the rate at which the server reads them.
  void ExpectDelivered(const ResetCall& kind) {
    constexpr uint32_t kStreamsOfOne = 4 * kStreamsAtOnce;
    uint32_t delivered = 0;
    CommitBeside([&] {
      std::deque<Attacker> attackers;
      for (uint32_t peer = 1; peer <= kResetStreams / kStreamsOfOne; ++peer) {
        attackers.emplace_back(server_.address(), absl::StrCat("127.0.3.", peer));
        // Before the attack: the server gives a connection only so long to begin.
        EXPECT_TRUE(attackers.back().AwaitRead());
      }
      for (uint32_t sent = 0; sent < kStreamsOfOne; sent += kStreamsAtOnce) {
        for (Attacker& attacker : attackers) attacker.Send(kind);
      }
      for (Attacker& attacker : attackers) delivered += attacker.AwaitRead() ? kStreamsOfOne : 0;
    });
    EXPECT_EQ(delivered, kResetStreams) << "the server did not read as many";
    EXPECT_FALSE(absl::StrContains(server_.Log(), "gives up its calls again and again"));
    std::cout << "figure: " << delivered << " resets\n";
  }

 private:
  // Attacks from a new peer of `network` each time, this server and the other one.
  void ExpectTolerable(
      const std::string& network,
      absl::FunctionRef<void(const std::string& address, const std::string& peer)> attack) {
    ASSERT_TRUE(other_server_.Start()) << other_server_.Log();
    int peers = 0;
    const auto beside = [&](const ServerProcess& attacked) {
      const std::string peer = absl::StrCat(network, ++peers);
      return CommitBeside([&] { attack(attacked.address(), peer); });
    };
    ExpectAtMostDoubled([&] { return beside(other_server_); }, [&] { return beside(server_); });
  }
  // How often it was disconnected.
  int AttackFromOne(const std::string& address, const std::string& peer, const ResetCall& kind) {
    constexpr absl::Duration kAttack = absl::Seconds(3);
    constexpr absl::Duration kBetween = absl::Milliseconds(10);
    int disconnected = 0;
    size_t sent = 0;
    const absl::Time end = absl::Now() + kAttack;
    for (absl::Time next = absl::Now(); next < end; next = absl::Now() + kBetween) {
      WaitUntil([&] { return absl::Now() >= next; });
      Attacker attacker(address, peer);
      bool connected = true;
      while (connected && absl::Now() < end) {
        connected = attacker.Send(kind);
        if (connected) sent += kStreamsAtOnce;
      }
      if (!connected) ++disconnected;
    }
    std::cout << sent << " resets before a connection was closed, " << disconnected << " times\n";
    return disconnected;
  }

  absl::Duration calm_took_;
  TestFolder folder_;
  StoreUnderServer store_{GetParam()};
  ReservedPort metrics_;
  ServerProcess server_{folder_,
                        store_.Settings({.more = absl::StrCat("telemetry: {metrics_address: \"",
                                                              metrics_.address(), "\"}\n")})};
  TestFolder other_folder_;
  StoreUnderServer other_store_{GetParam()};
  ServerProcess other_server_{other_folder_, other_store_.Settings()};
};
using LongRapidReset = RapidReset;

TEST_P(RapidReset, OfWholeCallsDisconnectsThePeer) { ExpectThePeerDisconnected({kEcho, true}); }

TEST_P(RapidReset, OfCallsWithoutAMessageDisconnectsThePeer) {
  ExpectThePeerDisconnected({kEcho, false});
}

TEST_P(RapidReset, OfStreamsDisconnectsThePeer) { ExpectThePeerDisconnected({kJournal, false}); }

// A reset may reach the server's work late, but a call without its request never came from an
// honest client, so each one counts.
TEST_P(RapidReset, OfCallsThatEndWithoutTheirRequestDisconnectsThePeer) {
  RawSocket peer(server().address(), "127.0.4.1", absl::Minutes(1));
  ASSERT_TRUE(peer.connected());
  std::string frames = http2::Opening();
  for (uint32_t call = 0; call < kResetsPerPeer; ++call) {
    frames += http2::LastHeaders(2 * call + 1, kEcho);
  }
  ASSERT_TRUE(peer.Send(frames));
  EXPECT_TRUE(peer.AwaitEnd(absl::Seconds(30))) << "it is still connected";
  EXPECT_TRUE(server().AwaitLog("gives up its calls again and again"));
}

TEST_P(RapidReset, OfAllThatOnePeerCanSendAtOnceLeavesOthersUnimpaired) {
  ExpectOthersUnimpaired({kEcho, false});
}

TEST_P(LongRapidReset, ByManyPeersFailsNoOtherCall) { ExpectDelivered({kEcho, false}); }

INSTANTIATE_TEST_SUITE_P(Stores, LongRapidReset, EachStore(), NameOfStore);
INSTANTIATE_TEST_SUITE_P(Stores, RapidReset, EachStore(), NameOfStore);

}  // namespace
}  // namespace holdfast::testing

// Watchers of a real server: whichever process is killed, each event is seen once and in order.
// Watchers that never read cost the others nothing and the server little.
#include "session/limits.h"
#include "tests/support/channel.h"
#include "tests/support/child_process.h"
#include "tests/support/requests.h"
#include "tests/support/server_process.h"
#include "tests/support/wait.h"
#include "tests/support/watch_client.h"
#include "tests/support/wire_client.h"

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::testing {
namespace {

using Stub = WireClient::Stub;

constexpr char kWatchedSession[] = "watched";

std::shared_ptr<grpc::Channel> ConnectWithoutRetries(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 100);
  return Connected(address, arguments);
}

std::vector<pb::Event> ListAll(WireClient& client) {
  std::vector<pb::Event> all;
  pb::ListEventsRequest request;
  request.set_session_id(kWatchedSession);
  request.set_page_size(kPageMost);
  pb::ListEventsResponse page;
  do {
    page = client.Must(&Stub::ListEvents, request);
    all.insert(all.end(), page.events().begin(), page.events().end());
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  return all;
}

// Says where two lists of events differ, instead of printing thousands.
void ExpectSame(const std::vector<pb::Event>& seen, const std::vector<pb::Event>& all) {
  ASSERT_EQ(seen.size(), all.size()) << "events were missed, or seen twice";
  for (size_t at = 0; at < all.size(); ++at) {
    ASSERT_EQ(seen[at].ShortDebugString(), all[at].ShortDebugString()) << "at " << at;
  }
}

// A writer that takes turns without a pause, over every restart of its server.
class TurnWriter final {
 public:
  explicit TurnWriter(const std::string& address)
      : stub_(pb::SessionService::NewStub(ConnectWithoutRetries(address))),
        thread_([this] { Run(); }) {}
  TurnWriter(const TurnWriter&) = delete;
  TurnWriter& operator=(const TurnWriter&) = delete;
  ~TurnWriter() { Stop(); }
  // Ends it between two turns.
  void Stop() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }

 private:
  void Run() {
    std::string token;
    while (!stop_) {
      if (token.empty()) {
        pb::ResumeSessionResponse resumed;
        Ask(&Stub::ResumeSession, test::ForceRequest(kWatchedSession), resumed);
        token = resumed.lease_token();
      } else if (!TakeTurn(token)) {
        token.clear();
      }
    }
  }
  bool TakeTurn(const std::string& token) {
    pb::BeginTurnResponse begun;
    if (!Ask(&Stub::BeginTurn, test::BeginRequest(kWatchedSession, token), begun)) return false;
    pb::CommitTurnResponse committed;
    return Ask(&Stub::CommitTurn, test::CommitRequest(kWatchedSession, token, begun.turn(), "said"),
               committed);
  }
  template <typename Request, typename Reply>
  bool Ask(WireClient::Method<Request, Reply> method, const Request& request, Reply& reply) {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(20)));
    context.set_wait_for_ready(true);
    return (*stub_.*method)(&context, request, &reply).ok();
  }

  const std::unique_ptr<Stub> stub_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

TEST(WatchRecovery, AWatcherThatIsCutOffAgainAndAgainMissesNothing) {
  constexpr int kResumes = 100;
  constexpr int kServerKills = 4;
  TestFolder folder;
  ServerProcess server(folder);
  ASSERT_TRUE(server.Start()) << server.Log();
  WireClient(server.address()).Must(&Stub::CreateSession, test::CreateRequest(kWatchedSession));
  const auto stub = pb::SessionService::NewStub(ConnectWithoutRetries(server.address()));
  std::minstd_rand random(7);
  std::vector<pb::Event> seen;
  std::string cursor;
  TurnWriter traffic(server.address());
  for (int round = 1; round <= kResumes; ++round) {
    Watch watch(*stub,
                cursor.empty() ? WatchFrom(kWatchedSession, 0) : WatchOn(kWatchedSession, cursor));
    // Cut off at another place each time: between two messages, or with some of them on their way.
    const size_t wanted = random() % 20;
    for (const pb::Event& event : watch.Events(wanted)) seen.push_back(event);
    if (!watch.cursor().empty()) cursor = watch.cursor();
    if (round % (kResumes / kServerKills) == 0) {
      server.Kill();
      // What came before the end is part of what was seen.
      for (auto message = watch.Next(); message; message = watch.Next()) {
        if (message->has_event()) seen.push_back(message->event());
      }
      cursor = watch.cursor().empty() ? cursor : watch.cursor();
      ASSERT_TRUE(server.Start()) << server.Log();
    }
  }
  traffic.Stop();
  WireClient client(server.address());
  const std::vector<pb::Event> all = ListAll(client);
  bool caught_up = false;
  ASSERT_TRUE(WaitUntil([&] {  // the last kill may not be over for this connection
    Watch last(*stub,
               cursor.empty() ? WatchFrom(kWatchedSession, 0) : WatchOn(kWatchedSession, cursor));
    for (auto message = last.Next(); message && !caught_up; message = last.Next()) {
      if (message->has_event()) seen.push_back(message->event());
      cursor = message->cursor();
      caught_up = message->has_progress();
    }
    return caught_up;
  }));
  ExpectSame(seen, all);
  std::cout << "figure: " << kServerKills << " kills\n";
  EXPECT_EQ(server.Stop().exit_code, 0);
}

// Lines of JSON that a process adds to a file until it is killed.
class Printed final {
 public:
  explicit Printed(std::string file) : file_(std::move(file)) {}
  // How many whole lines there are; what a kill cut off is none.
  [[nodiscard]] size_t Count() const {
    const std::string text = ReadText(file_);
    return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
  }
  [[nodiscard]] std::vector<nlohmann::json> Lines() const {
    std::vector<nlohmann::json> lines;
    std::istringstream text(ReadText(file_));
    for (std::string line; std::getline(text, line) && !text.eof();) {
      lines.push_back(nlohmann::json::parse(line));
    }
    return lines;
  }

 private:
  const std::string file_;
};

TEST(WatchRecovery, AProcessThatIsKilledGoesOnFromItsLastWholeLine) {
  constexpr int kKills = 100;
  TestFolder folder;
  ServerProcess server(folder);
  ASSERT_TRUE(server.Start()) << server.Log();
  WireClient client(server.address());
  client.Must(&Stub::CreateSession, test::CreateRequest(kWatchedSession));
  TurnWriter traffic(server.address());
  std::minstd_rand random(11);
  std::vector<std::string> seen;
  std::string cursor;
  const auto tail = [&](const std::string& name, const std::vector<std::string>& more) {
    std::vector<std::string> words = {
        Program("holdfast"), "--address", server.address(), "--output", "json",
        "session",           "tail",      kWatchedSession};
    if (!cursor.empty()) words.insert(words.end(), {"--cursor", cursor});
    words.insert(words.end(), more.begin(), more.end());
    return ChildProcess(words, (folder.path() / name).string(),
                        (folder.path() / "errors").string());
  };
  const auto take = [&](const std::string& name) {
    for (const nlohmann::json& line : Printed((folder.path() / name).string()).Lines()) {
      seen.push_back(line["seq"].get<std::string>() + " " + line["name"].get<std::string>());
      cursor = line["cursor"].get<std::string>();
    }
  };
  for (int kill = 1; kill <= kKills; ++kill) {
    const std::string name = "tail-" + std::to_string(kill);
    ChildProcess watcher = tail(name, {});
    const Printed printed((folder.path() / name).string());
    const size_t wanted = 1 + random() % 20;
    ASSERT_TRUE(WaitUntil([&] { return printed.Count() >= wanted; })) << "kill " << kill;
    watcher.Signal(SIGKILL);
    EXPECT_EQ(watcher.Wait().signal, SIGKILL);
    take(name);
  }
  traffic.Stop();
  EXPECT_EQ(tail("last", {"--once"}).Wait().exit_code, 0);
  take("last");
  std::vector<std::string> all;
  for (const pb::Event& event : ListAll(client)) {
    all.push_back(std::to_string(event.seq()) + " " + event.name());
  }
  EXPECT_EQ(seen.size(), all.size()) << "events were missed, or seen twice";
  EXPECT_TRUE(seen == all);
  EXPECT_EQ(server.Stop().exit_code, 0);
}

// What the server holds in memory.
size_t ResidentBytes(const ServerProcess& server) {
  const std::string status = ReadText("/proc/" + std::to_string(server.pid()) + "/status");
  const size_t at = status.find("VmRSS:");
  return at == std::string::npos ? 0 : std::strtoull(status.c_str() + at + 6, nullptr, 10) * kKiB;
}

TEST(WatchRecovery, ServesOthersWhenWatchersNeverRead) {
  constexpr size_t kWatchers = 1000;  // half of them never read
  constexpr int kTurns = 300;
  // A page and its messages, what the transport holds of one message, and the call itself.
  constexpr size_t kBytesEach = 2 * kWatchPageBytes + 64 * kKiB;
  TestFolder folder;
  ServerProcess server(folder);
  ASSERT_TRUE(server.Start()) << server.Log();
  WireClient client(server.address());
  const std::string token =
      client.Must(&Stub::CreateSession, test::CreateRequest(kWatchedSession)).lease_token();
  const auto turn = [&] {
    const auto begun = client.Must(&Stub::BeginTurn, test::BeginRequest(kWatchedSession, token));
    client.Must(&Stub::CommitTurn,
                test::CommitRequest(kWatchedSession, token, begun.turn(), "said"));
  };
  turn();
  const size_t before = ResidentBytes(server);
  ASSERT_GT(before, 0U);
  const auto reading = pb::SessionService::NewStub(ConnectWithoutRetries(server.address()));
  const auto stuck = pb::SessionService::NewStub(ConnectWithoutRetries(server.address()));
  std::vector<std::unique_ptr<Watch>> readers;
  std::vector<std::unique_ptr<Watch>> never;
  for (size_t i = 0; i < kWatchers / 2; ++i) {
    never.push_back(std::make_unique<Watch>(*stuck, WatchFrom(kWatchedSession, 0)));
    readers.push_back(std::make_unique<Watch>(*reading, WatchFrom(kWatchedSession, 0)));
  }
  for (int turns = 1; turns < kTurns; ++turns) turn();
  const std::vector<pb::Event> all = ListAll(client);
  for (const auto& reader : readers) {
    const std::vector<pb::Event> seen = reader->Events(all.size());
    ASSERT_EQ(seen.size(), all.size());
    for (size_t at = 0; at < all.size(); ++at) ASSERT_EQ(seen[at].seq(), all[at].seq());
  }
  const size_t after = ResidentBytes(server);
  EXPECT_LE(after, before + kWatchers * kBytesEach);
  std::cout << "resident before " << before / kMiB << " MiB, with " << kWatchers << " watchers "
            << after / kMiB << " MiB\n";
  readers.clear();
  never.clear();
  EXPECT_EQ(server.Stop().exit_code, 0);
}

}  // namespace
}  // namespace holdfast::testing

// The log of a real server: every line is JSON, whichever component writes it, and a reader that
// stalls delays no call.
#include "server/healthcheck.h"
#include "tests/support/channel.h"
#include "tests/support/each_store.h"
#include "tests/support/latencies.h"
#include "tests/support/requests.h"
#include "tests/support/server_process.h"
#include "tests/support/wait.h"
#include "tests/support/wire_client.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "grpcpp/generic/generic_stub.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <stop_token>
#include <string>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace holdfast::testing {
namespace {

// The line, or a value of another kind when it is no JSON.
nlohmann::json Parsed(const std::string& line) {
  return nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
}

std::vector<std::string> LogLines(const std::string& log) {
  return absl::StrSplit(log, '\n', absl::SkipEmpty());
}

// A pipe at the place of the server's log, which nothing reads until Read.
class StalledPipe final {
 public:
  explicit StalledPipe(const std::string& path) {
    EXPECT_EQ(mkfifo(path.c_str(), 0600), 0);
    // Open for both, so that the server's own open does not wait for a reader.
    file_ = open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
    EXPECT_GE(file_, 0);
  }
  StalledPipe(const StalledPipe&) = delete;
  StalledPipe& operator=(const StalledPipe&) = delete;
  ~StalledPipe() { close(file_); }

  // Takes what is there; the whole lines so far.
  const std::vector<std::string>& Read() {
    std::array<char, 65536> buffer{};
    for (ssize_t got = 0; (got = read(file_, buffer.data(), buffer.size())) > 0;) {
      rest_.append(buffer.data(), static_cast<size_t>(got));
    }
    for (size_t end = 0; (end = rest_.find('\n')) != std::string::npos;) {
      lines_.push_back(rest_.substr(0, end));
      rest_.erase(0, end + 1);
    }
    return lines_;
  }

 private:
  int file_ = -1;
  std::string rest_;
  std::vector<std::string> lines_;
};

// Reads of one session by several clients, each on a connection of its own.
class ManyReads final {
 public:
  explicit ManyReads(std::string address) : address_(std::move(address)) {
    WireClient(address_).Must(&WireClient::Stub::CreateSession, test::CreateRequest("read"));
  }

  // Sends `calls`, one every `between` beginning with now, or later where none of the clients is
  // free. How long each took. A failure fails the test.
  Latencies Send(int calls, absl::Duration between) {
    {
      const absl::MutexLock lock(&mutex_);
      took_.clear();
    }
    {
      const absl::Time begun = absl::Now();
      std::vector<std::jthread> clients;
      for (int client = 0; client < kClients; ++client) {
        clients.emplace_back([this, client, calls, between, begun] {
          RunClient(calls / kClients, between * kClients, begun + between * client);
        });
      }
    }
    EXPECT_EQ(failed_, 0U) << "a call waited for the log";
    const absl::MutexLock lock(&mutex_);
    return took_;
  }

 private:
  static constexpr int kClients = 8;
  static constexpr absl::Duration kPatience = absl::Seconds(20);

  // Ends with its first failure.
  void RunClient(int calls, absl::Duration between, absl::Time due) {
    WireClient client(address_);
    pb::GetSessionRequest request;
    request.set_session_id("read");
    Latencies took;
    for (int call = 0; call < calls; ++call, due += between) {
      WaitUntil([&] { return absl::Now() >= due; });
      const absl::Time sent = absl::Now();
      if (client.Ask(&WireClient::Stub::GetSession, request, kPatience).verdict.reason != "OK") {
        ++failed_;
        break;
      }
      took.push_back(absl::Now() - sent);
    }
    const absl::MutexLock lock(&mutex_);
    took_.insert(took_.end(), took.begin(), took.end());
  }

  const std::string address_;
  std::atomic<size_t> failed_ = 0;
  absl::Mutex mutex_;
  Latencies took_ ABSL_GUARDED_BY(mutex_);
};

// Lines of calls, and how many more are said to be missing.
struct Accounted {
  size_t taken = 0;  // lines that were looked at
  size_t logged = 0;
  size_t dropped = 0;

  void Take(const std::vector<std::string>& lines) {
    for (; taken < lines.size(); ++taken) {
      const nlohmann::json line = Parsed(lines[taken]);
      EXPECT_TRUE(line.is_object()) << lines[taken];
      if (!line.is_object()) continue;
      if (line["message"] == "call") ++logged;
      if (line["message"] == "log lines were dropped") dropped += line["lines"].get<size_t>();
    }
  }
};

// Lines that the pipe and the queue of the server do not hold together.
constexpr int kMoreThanAreKept = 12'000;

void ExpectServedWithAStalledReader(StoreKind kind, absl::Duration stalled) {
  constexpr absl::Duration kBetween = absl::Milliseconds(1);
  constexpr int kCalmCalls = 2'000;
  const TestFolder folder;
  const StoreUnderServer store(kind);
  StalledPipe log(folder.File("server.log"));
  ServerProcess server(folder, store.Settings());
  ASSERT_TRUE(server.Start());
  ManyReads reads(server.address());
  Latencies calm;
  {
    std::jthread reader([&](const std::stop_token& stop) {
      WaitUntil([&] { return log.Read(), stop.stop_requested(); });
    });
    calm = reads.Send(kCalmCalls, kBetween);
  }
  const auto stalled_calls = static_cast<int>(stalled / kBetween);
  const Latencies attacked = reads.Send(stalled_calls, kBetween);
  const absl::Duration slowest_calm = Percentile(calm, 100);
  EXPECT_LT(Percentile(attacked, 100), std::max(absl::Seconds(1), 20 * slowest_calm))
      << "a call waited for the log";
  std::cout << "slowest call " << slowest_calm << " of " << calm.size()
            << " while the log is read, " << Percentile(attacked, 100) << " of " << attacked.size()
            << " while it is not\n";
  EXPECT_EQ(AskHealth({.address = server.address()}), absl::OkStatus());

  // Once it is read again, every call has its line or is among those that are said to be missing.
  Accounted accounted;
  const size_t calls = calm.size() + attacked.size();
  EXPECT_TRUE(WaitUntil([&] {
    accounted.Take(log.Read());
    return accounted.logged + accounted.dropped >= calls;
  })) << accounted.logged
      << " logged, " << accounted.dropped << " dropped";
  EXPECT_GT(accounted.dropped, 0U) << "the reader was not slow at all";

  // And an end is an end also when it stalls once more.
  reads.Send(kMoreThanAreKept, absl::ZeroDuration());
  EXPECT_EQ(server.Stop().exit_code, 0);
}

class StalledLog : public ::testing::TestWithParam<StoreKind> {};
using LongStalledLog = StalledLog;

TEST_P(StalledLog, DelaysNoCall) {
  ExpectServedWithAStalledReader(GetParam(), kMoreThanAreKept * absl::Milliseconds(1));
}

TEST_P(LongStalledLog, DelaysNoCall) {
  ExpectServedWithAStalledReader(GetParam(), absl::Seconds(60));
}

INSTANTIATE_TEST_SUITE_P(Stores, StalledLog, EachStore(), NameOfStore);
INSTANTIATE_TEST_SUITE_P(Stores, LongStalledLog, EachStore(), NameOfStore);

// Calls CommitTurn with these bytes.
Verdict SendRaw(const std::string& address, const std::string& bytes) {
  grpc::GenericStub stub(Connected(address));
  grpc::ClientContext context;
  const grpc::Slice slice(bytes);
  grpc::ByteBuffer request(&slice, 1);
  grpc::ByteBuffer reply;
  absl::Notification ended;
  Verdict verdict;
  stub.UnaryCall(&context, "/holdfast.v1.SessionService/CommitTurn", {}, &request, &reply,
                 [&](const grpc::Status& status) {
                   verdict = VerdictOf(status);
                   ended.Notify();
                 });
  ended.WaitForNotification();
  return verdict;
}

TEST(ServerLog, EveryLineIsJson) {
  TestFolder folder;
  const std::string passwords = folder.File("passwords");
  std::ofstream(passwords) << "*:*:*:*:word\n";
  std::filesystem::permissions(passwords, std::filesystem::perms(0644));
  // A second store, which cannot be opened, and whose driver warns of the file.
  ServerProcess server(
      folder,
      {.more = absl::StrCat("  - {name: team, kind: postgres, dsn: \"host=", folder.File("nowhere"),
                            " user=ada passfile=", passwords, "\"}\n")});
  setenv("GRPC_VERBOSITY", "DEBUG", 1);
  ASSERT_TRUE(server.Start()) << server.Log();
  unsetenv("GRPC_VERBOSITY");
  EXPECT_EQ(SendRaw(server.address(), "\x12\x01\xff").reason, "INVALID_FIELD");
  EXPECT_EQ(server.Stop().exit_code, 0);

  const std::string log = server.Log();
  for (const std::string& line : LogLines(log)) {
    const nlohmann::json parsed = Parsed(line);
    EXPECT_TRUE(parsed.is_object() && parsed.contains("time") && parsed.contains("level") &&
                parsed.contains("message"))
        << line;
  }
  EXPECT_TRUE(absl::StrContains(log, "has group or world access")) << "libpq said nothing\n" << log;
  EXPECT_TRUE(absl::StrContains(log, "invalid UTF-8")) << "libprotobuf said nothing\n" << log;
  EXPECT_TRUE(absl::StrContains(log, ".cc:")) << "gRPC said nothing\n" << log;
}

// One line for each of so many refused calls would fill a disk.
TEST(ServerLog, CountsRefusedCallsBeyondSoManyLines) {
  constexpr size_t kCalls = 2000;
  TestFolder folder;
  ServerProcess server(folder);
  ASSERT_TRUE(server.Start()) << server.Log();
  WireClient client(server.address());
  pb::GetSessionRequest request;
  request.set_session_id("missing");
  for (size_t sent = 0; sent < kCalls; ++sent) {
    EXPECT_EQ(client.Reason(&WireClient::Stub::GetSession, request), "SESSION_NOT_FOUND");
  }
  EXPECT_EQ(server.Stop().exit_code, 0);
  size_t logged = 0;
  size_t counted = 0;
  for (const std::string& line : LogLines(server.Log())) {
    const nlohmann::json parsed = Parsed(line);
    if (!parsed.is_object() || parsed.value("reason", "") != "SESSION_NOT_FOUND") continue;
    EXPECT_EQ(parsed["method"], "GetSession");
    if (parsed["message"] == "call") ++logged;
    if (parsed["message"] == "calls not logged") counted += parsed["calls"].get<size_t>();
  }
  EXPECT_GT(logged, 0U);
  EXPECT_EQ(logged + counted, kCalls) << logged << " lines";
  EXPECT_GT(counted, 0U);
}

}  // namespace
}  // namespace holdfast::testing

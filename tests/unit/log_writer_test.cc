// The queue of the log's lines: bounded, in order, and never waited for.
#include "server/log_writer.h"

#include "session/limits.h"
#include "tests/support/fake_clock.h"

#include "absl/strings/str_split.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include <memory>
#include <string>
#include <vector>

namespace holdfast::test {
namespace {

using ::testing::ElementsAre;

// What was written, by a writer that waits before its first write for `go_on`.
struct Reader {
  absl::Notification begun;
  absl::Notification go_on;
  absl::Mutex mutex;
  std::string text ABSL_GUARDED_BY(mutex);

  void Take(const std::string& lines) {
    if (!begun.HasBeenNotified()) {
      begun.Notify();
      go_on.WaitForNotification();
    }
    const absl::MutexLock lock(&mutex);
    text += lines;
  }
  // The message of each line, and of a count what it says.
  std::vector<std::string> Messages() {
    const absl::MutexLock lock(&mutex);
    std::vector<std::string> messages;
    const std::vector<std::string> lines = absl::StrSplit(text, '\n', absl::SkipEmpty());
    for (const std::string& line : lines) {
      const auto parsed = nlohmann::json::parse(line);
      std::string message = parsed["message"];
      if (parsed.contains("lines")) message += " " + parsed["lines"].dump();
      messages.push_back(message);
    }
    return messages;
  }
};

struct Stalled {
  FakeClock clock;
  std::shared_ptr<Reader> reader = std::make_shared<Reader>();
  std::unique_ptr<LogWriter> writer;
  std::unique_ptr<Log> log;

  explicit Stalled(LogWriter::Limits limits) {
    writer = std::make_unique<LogWriter>(
        [kept = reader](const std::string& lines) { kept->Take(lines); }, clock, limits);
    log = std::make_unique<Log>(writer->sink(), clock);
    log->Info("first", {});
    reader->begun.WaitForNotification();
  }
};

TEST(LogWriter, CountsWhatAFullQueueDrops) {
  Stalled here({.lines = 3});
  for (const char* message : {"a", "b", "c", "d", "e"}) here.log->Info(message, {});
  EXPECT_EQ(here.writer->dropped(), 2U);
  here.reader->go_on.Notify();
  here.writer.reset();
  EXPECT_THAT(here.reader->Messages(),
              ElementsAre("first", "a", "b", "c", "log lines were dropped 2"));
}

TEST(LogWriter, DropsErrorsLast) {
  Stalled here({.lines = 3});
  here.log->Info("a", {});
  here.log->Warn("b", {});
  here.log->Error("c", {});
  here.log->Error("d", {});
  here.log->Error("e", {});
  here.log->Error("f", {});
  here.log->Info("g", {});
  EXPECT_EQ(here.writer->dropped(), 4U);
  here.reader->go_on.Notify();
  here.writer.reset();
  EXPECT_THAT(here.reader->Messages(),
              ElementsAre("first", "c", "d", "e", "log lines were dropped 4"));
}

TEST(LogWriter, BoundsTheBytesThatWait) {
  Stalled here({.lines = 100, .bytes = 300});
  for (int i = 0; i < 10; ++i) here.log->Info(std::string(100, 'x'), {});
  here.reader->go_on.Notify();
  here.writer.reset();
  EXPECT_LT(here.reader->Messages().size(), 5U);
}

TEST(LogWriter, WaitsNotForeverForItsLastLines) {
  Stalled here({.flush = absl::Milliseconds(50)});
  here.log->Info("never read", {});
  here.log.reset();
  here.writer.reset();  // returns, although nothing is read
  here.reader->go_on.Notify();
}

TEST(LogLine, OfATextThatIsTooLongIsCutAndStaysJson) {
  for (const char byte : {'x', '\x01', '\xff', '"'}) {
    const std::string line = LogLine(absl::UnixEpoch(), LogLevel::kInfo, "long",
                                     {{"one", std::string(100'000, byte)},
                                      {"two", std::string(100'000, byte)},
                                      {"number", int64_t{7}}});
    EXPECT_LE(line.size(), kLogLineBytes);
    const auto parsed = nlohmann::json::parse(line);
    EXPECT_EQ(parsed["number"], 7);
    EXPECT_TRUE(parsed["one"].get<std::string>().ends_with("..."));
  }
}

class RefusedCalls : public ::testing::Test {
 protected:
  void Refuse(const std::string& method, const std::string& reason) {
    log_.Call({.method = method, .session = "s", .reason = reason});
  }
  int Lines(const std::string& part) const {
    int count = 0;
    for (const std::string& line : lines_) count += line.find(part) != std::string::npos ? 1 : 0;
    return count;
  }
  FakeClock& clock() { return clock_; }
  Log& log() { return log_; }

 private:
  FakeClock clock_;
  std::vector<std::string> lines_;
  Log log_{[this](LogLevel, const std::string& line) { lines_.push_back(line); }, clock_};
};

TEST_F(RefusedCalls, HaveSoManyLinesASecondAndThenACount) {
  for (int i = 0; i < 100; ++i) Refuse("GetSession", "SESSION_NOT_FOUND");
  Refuse("GetSession", "OVERLOADED");
  Refuse("WriteSnapshot", "SESSION_NOT_FOUND");
  EXPECT_EQ(Lines("\"call\""), kRefusedLinesPerSecond + 2);
  log().WriteCounts();
  EXPECT_EQ(Lines("calls not logged"), 0) << "the second is not over";
  clock().Advance(absl::Seconds(1));
  log().WriteCounts();
  EXPECT_EQ(Lines("\"method\":\"GetSession\",\"reason\":\"SESSION_NOT_FOUND\",\"calls\":90}"), 1);
  Refuse("GetSession", "SESSION_NOT_FOUND");
  EXPECT_EQ(Lines("\"call\""), kRefusedLinesPerSecond + 3);
}

// The lines of one call that was done, one that was refused, and a warning and an error of gRPC.
std::vector<std::string> LinesWith(LogSettings settings) {
  const FakeClock clock;
  std::vector<std::string> lines;
  const auto keep = [&](LogLevel, const std::string& line) { lines.push_back(line); };
  Log log(keep, clock, settings);
  log.Call({.method = "Get"});
  log.Call({.method = "Get", .reason = "SESSION_NOT_FOUND"});
  log.Foreign(LogLevel::kWarning, "grpc", "a");
  log.Foreign(LogLevel::kError, "grpc", "b");
  return lines;
}

TEST(LogSettings, LeaveOutLowerLevels) {
  EXPECT_EQ(LinesWith({}).size(), 4);
  EXPECT_EQ(LinesWith({.level = LogLevel::kWarning}).size(), 2);
  EXPECT_EQ(LinesWith({.level = LogLevel::kError}).size(), 1);
}

TEST(LogSettings, LeaveOutCallsThatAreNotWanted) {
  const auto refused = LinesWith({.calls = LogSettings::Calls::kRefused});
  EXPECT_EQ(refused.size(), 3);
  EXPECT_NE(refused.front().find("SESSION_NOT_FOUND"), std::string::npos) << refused.front();
  EXPECT_EQ(LinesWith({.calls = LogSettings::Calls::kNone}).size(), 2);
}

TEST_F(RefusedCalls, LeaveTheLinesOfTheOthersAlone) {
  for (int i = 0; i < 100; ++i) Refuse("GetSession", "");
  EXPECT_EQ(Lines("\"call\""), 100);
}

}  // namespace
}  // namespace holdfast::test

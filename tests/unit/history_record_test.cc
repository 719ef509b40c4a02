// The file that clients write their calls into, and what is read back of it.
#include "tests/history/checker.h"
#include "tests/history/record_file.h"
#include "tests/history/simulation.h"
#include "tests/support/temp_dir.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <string>
#include <thread>
#include <vector>

namespace holdfast::history {
namespace {

using ::testing::HasSubstr;

// Writes all of `history`, each client in a thread of its own.
void Write(const History& history, uint32_t clients, const std::string& file) {
  Recorder recorder(file);
  ASSERT_TRUE(recorder.ok());
  std::vector<std::thread> writers;
  for (uint32_t client = 0; client < clients; ++client) {
    writers.emplace_back([&, client] {
      for (const Operation& operation : history.operations) {
        if (operation.client != client) continue;
        EXPECT_TRUE(recorder.Sent(operation));
        EXPECT_TRUE(recorder.Returned(operation));
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  for (const Ending& ending : history.endings) EXPECT_TRUE(recorder.Ended(ending));
}

constexpr uint32_t kClients = 6;

TEST(HistoryRecord, IsReadBackAsItWasWritten) {
  const test::TempDir dir;
  const History history =
      Simulate({.clients = kClients, .sessions = 3, .operations = 600, .seed = 7});
  Write(history, kClients, dir / "record");
  const absl::StatusOr<History> read = ReadRecord(dir / "record");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(ToText(Check(*read), 5), "");
  ASSERT_EQ(read->operations.size(), history.operations.size());

  // Written again, one client after the other, both are the same file.
  for (const uint32_t client : {0U, 1U, 2U, 3U, 4U, 5U}) {
    Recorder first(dir / "first");
    Recorder second(dir / "second");
    for (const Operation& operation : history.operations) {
      if (operation.client == client) {
        EXPECT_TRUE(first.Sent(operation) && first.Returned(operation));
      }
    }
    for (const Operation& operation : read->operations) {
      if (operation.client == client) {
        EXPECT_TRUE(second.Sent(operation) && second.Returned(operation));
      }
    }
  }
  EXPECT_EQ(test::ReadFile(dir / "first"), test::ReadFile(dir / "second"));
}

TEST(HistoryRecord, ACallWithoutAReturnIsUnknown) {
  const test::TempDir dir;
  const History history = Simulate({.clients = 1, .sessions = 1, .operations = 1, .seed = 1});
  Recorder recorder(dir / "record");
  ASSERT_TRUE(recorder.Sent(history.operations[0]));
  const absl::StatusOr<History> read = ReadRecord(dir / "record");
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ(read->operations.size(), 1);
  EXPECT_EQ(read->operations[0].answered.outcome, Outcome::kUnknown);
  EXPECT_EQ(read->operations[0].returned, kNever);
}

TEST(HistoryRecord, AnUnfinishedLastLineIsLeftOutAndNoOther) {
  const test::TempDir dir;
  const History history = Simulate({.clients = 2, .sessions = 1, .operations = 20, .seed = 2});
  Write(history, 2, dir / "record");
  const std::string whole = test::ReadFile(dir / "record");
  const size_t last = whole.rfind('\n', whole.size() - 2);
  for (size_t end = last + 1; end < whole.size(); ++end) {
    test::WriteFile(dir / "cut", whole.substr(0, end));
    EXPECT_TRUE(ReadRecord(dir / "cut").ok()) << end;
  }
  test::WriteFile(dir / "cut", whole.substr(0, last - 1) + "\n" + whole.substr(last + 1));
  EXPECT_FALSE(ReadRecord(dir / "cut").ok());
}

TEST(HistoryRecord, SaysWhichLineMakesNoSense) {
  const test::TempDir dir;
  for (const char* line :
       {"< 1 1 5 ok - 0 0 0 0 1 1 1 1 1 1 1 1 1 x y", "> 1", "what", "# 3 1 1"}) {
    test::WriteFile(dir / "bad", std::string(line) + "\n");
    const absl::StatusOr<History> read = ReadRecord(dir / "bad");
    ASSERT_FALSE(read.ok()) << line;
    EXPECT_THAT(std::string(read.status().message()), HasSubstr("bad:1: "));
  }
  EXPECT_FALSE(ReadRecord(dir / "absent").ok());
}

}  // namespace
}  // namespace holdfast::history

// The write-ahead log by itself: what is appended is read again, and a file of it is not begun anew
// while a journal needs it.
#include "store-fs/write_ahead_log.h"

#include "session/limits.h"
#include "session/refusal.h"
#include "store-fs/frame.h"
#include "store-fs/write_ahead_files.h"
#include "tests/support/breaking_files.h"
#include "tests/support/changes.h"
#include "tests/support/file_work_meter.h"
#include "tests/support/memory_files.h"
#include "tests/support/seeded_random.h"
#include "tests/support/wait.h"

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::test {
namespace {

using fs::WriteAheadLog;
using ::testing::HasSubstr;

constexpr uint64_t kMostLogBytes = 16 * kKiB;
constexpr size_t kFrameBytes = 1000;
constexpr size_t kFull = 20;  // frames that fill one file and begin the other

// What was done to the disk, in order.
class Operations {
 public:
  void Note(std::string what) {
    const absl::MutexLock lock(&mutex_);
    all_.push_back(std::move(what));
  }
  std::vector<std::string> Take() {
    const absl::MutexLock lock(&mutex_);
    return std::exchange(all_, {});
  }
  // How often, from the first on.
  size_t Count(const std::string& what) {
    const absl::MutexLock lock(&mutex_);
    return static_cast<size_t>(std::ranges::count(all_, what));
  }

 private:
  absl::Mutex mutex_;
  std::vector<std::string> all_ ABSL_GUARDED_BY(mutex_);
};

size_t PositionOf(const std::vector<std::string>& operations, const std::string& what) {
  return static_cast<size_t>(std::ranges::find(operations, what) - operations.begin());
}

class WriteAheadLogs : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(fs::MakeWriteAheadFiles(*files_, random_).ok());
    Open();
    const auto journal = files_->Open("journal", fs::OpenMode::kCreate);
    ASSERT_TRUE(journal.ok());
    journal_ = std::move(*files_->Open("journal", fs::OpenMode::kWrite));
    operations_.Take();
  }

  void Open() {
    auto opened =
        WriteAheadLog::Open(*files_, fail_stop_, random_,
                            {.generation = generation_, .most = kMostLogBytes, .meter = meter_});
    ASSERT_TRUE(opened.ok()) << opened.status();
    generation_ += 2;
    log_ = *std::move(opened);
  }
  absl::StatusOr<WriteAheadLog::Hold> Append(const std::string& frame) {
    return log_->Append({{.key = &key_, .salt = 7, .offset = appended_++ * 64, .frame = frame}});
  }
  // Appends a frame and says that the journal has it.
  void AppendCovered(size_t count) {
    for (size_t i = 0; i < count; ++i) {
      auto hold = Append(Frame(appended_));
      ASSERT_TRUE(hold.ok()) << hold.status();
      hold->Cover(journal_);
    }
  }
  static std::string Frame(size_t number) {
    return absl::StrCat(number, std::string(kFrameBytes, 'f'));
  }
  absl::StatusOr<fs::LogContents> Read() { return fs::ReadWriteAheadLog(*files_, kMostLogBytes); }
  // Changes a byte of the file.
  void Flip(const std::string& path, size_t at) {
    std::string bytes = disk_.Read(path);
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
    disk_.Write(path, bytes);
  }

  MemoryDisk disk_;
  Operations operations_;
  absl::Status answer_;  // to what takes space
  std::unique_ptr<fs::Files> files_ = BreakBy(disk_, [this](const FileOperation& asked) {
    operations_.Note(asked.name + " " + asked.path);
    return asked.name == "allocate" ? answer_ : absl::OkStatus();
  })(nullptr);
  SeededRandom random_;
  FileWorkMeter meter_;
  fs::FailStop fail_stop_{nullptr};
  const SessionKey key_ = Key("alpha");
  uint64_t generation_ = 2;
  size_t appended_ = 0;
  std::shared_ptr<fs::File> journal_;
  std::unique_ptr<WriteAheadLog> log_;
};

TEST_F(WriteAheadLogs, AreReadAsTheyWereAppended) {
  AppendCovered(3 * kFull);
  const auto contents = Read();
  ASSERT_TRUE(contents.ok()) << contents.status();
  const size_t count = contents->frames.size();
  EXPECT_GT(count, kFull / 2) << "both files";
  for (size_t i = 0; i < count; ++i) {
    const size_t number = 3 * kFull - count + i;
    EXPECT_EQ(contents->frames[i].key, key_);
    EXPECT_EQ(contents->frames[i].salt, 7U);
    EXPECT_EQ(contents->frames[i].offset, number * 64);
    EXPECT_EQ(contents->frames[i].frame, Frame(number));
  }
}

TEST_F(WriteAheadLogs, HoldNothingOnceTheyAreBegunAnew) {
  AppendCovered(3 * kFull);
  Open();
  const auto contents = Read();
  ASSERT_TRUE(contents.ok()) << contents.status();
  EXPECT_TRUE(contents->frames.empty());
  EXPECT_EQ(contents->generation + 1, generation_);
}

TEST_F(WriteAheadLogs, CountTheirSwitches) {
  AppendCovered(1);
  EXPECT_EQ(meter_.Done(FileWork::kLogSwitch), 0U);
  AppendCovered(kFull);
  EXPECT_EQ(meter_.Done(FileWork::kLogSwitch), 1U);
  while (operations_.Count("write wal/0") < 2 * kFull) AppendCovered(1);
  EXPECT_GT(meter_.Done(FileWork::kLogSwitch), 1U);
}

TEST_F(WriteAheadLogs, LeaveOutAnUnfinishedWrite) {
  AppendCovered(2);
  const uint64_t end = fs::kStartFrameBytes + 2 * fs::FrameSize(kFrameBytes + 40);
  Flip("wal/0", end - 200);
  const auto contents = Read();
  ASSERT_TRUE(contents.ok()) << contents.status();
  ASSERT_EQ(contents->frames.size(), 1U);
  EXPECT_EQ(contents->frames[0].frame, Frame(0));
}

TEST_F(WriteAheadLogs, SayWhereTheyAreDamagedBeforeAWholeWrite) {
  AppendCovered(2);
  Flip("wal/0", fs::kStartFrameBytes + 300);
  EXPECT_TRUE(absl::IsFailedPrecondition(Read().status())) << Read().status();
  EXPECT_THAT(std::string(Read().status().message()),
              HasSubstr("wal/0 is damaged at byte 128: wrong checksum"));
}

TEST_F(WriteAheadLogs, SayThatTheirBeginningIsDamaged) {
  Flip("wal/1", fs::kFrameHeader);
  EXPECT_THAT(std::string(Read().status().message()),
              HasSubstr("wal/1 is damaged at byte 0: it does not begin as a log"));
}

TEST_F(WriteAheadLogs, SayThatAFileIsMissing) {
  ASSERT_TRUE(files_->RemoveFile("wal/1").ok());
  EXPECT_THAT(std::string(Read().status().message()), HasSubstr("wal/1 is damaged"));
}

TEST_F(WriteAheadLogs, SyncTheJournalsBeforeTheirFileIsBegunAnew) {
  AppendCovered(kFull);  // in wal/0, and the first ones in wal/1
  operations_.Take();
  while (operations_.Count("write wal/0") == 0) AppendCovered(1);
  const std::vector<std::string> operations = operations_.Take();
  EXPECT_LT(PositionOf(operations, "sync journal"), PositionOf(operations, "write wal/0"));
  EXPECT_LT(PositionOf(operations, "write wal/0"), PositionOf(operations, "sync wal/0"));
}

TEST_F(WriteAheadLogs, DoNotSyncAJournalThatWasSyncedSince) {
  AppendCovered(kFull);
  operations_.Take();
  log_->NoteSynced(journal_);
  while (operations_.Count("write wal/0") == 0) ASSERT_TRUE(Append(Frame(0)).ok());
  EXPECT_EQ(operations_.Count("sync journal"), 0U);
}

// Its frame may be in no journal yet.
TEST_F(WriteAheadLogs, WaitForTheHoldOfAFile) {
  log_->Start();
  auto held = std::make_unique<absl::StatusOr<WriteAheadLog::Hold>>(Append(Frame(0)));
  ASSERT_TRUE(held->ok());
  std::jthread appends([this] {
    while (operations_.Count("write wal/0") < kFull) AppendCovered(1);
  });
  ASSERT_TRUE(testing::WaitUntil([&] { return operations_.Count("write wal/1") > kFull / 2; }));
  operations_.Note("the journal is written");
  (*held)->Cover(journal_);
  held.reset();
  appends.join();
  const std::vector<std::string> operations = operations_.Take();
  const auto written = operations.begin() + PositionOf(operations, "the journal is written");
  const auto second = std::find(operations.begin(), operations.end(), "write wal/1");
  ASSERT_NE(second, operations.end());
  EXPECT_EQ(std::count(second, written, "write wal/0"), 0);
  EXPECT_EQ(std::count(operations.begin(), written, "sync journal"), 0);
  EXPECT_GT(std::count(written, operations.end(), "sync journal"), 0);
}

TEST_F(WriteAheadLogs, GoOnAfterALackOfSpace) {
  answer_ = absl::ResourceExhaustedError("full");
  EXPECT_TRUE(absl::IsResourceExhausted(Append(Frame(0)).status()));
  EXPECT_TRUE(fail_stop_.Check().ok());
  answer_ = absl::OkStatus();
  appended_ = 0;
  AppendCovered(2);
  EXPECT_EQ(Read()->frames.size(), 2U);
}

TEST_F(WriteAheadLogs, TakeNoFrameThatCouldFillThem) {
  EXPECT_EQ(log_->longest_frame(), kMostLogBytes / 8);
  EXPECT_TRUE(Append(std::string(log_->longest_frame(), 'l')).ok());
  const std::vector<fs::PlacedFrame> many(kMostLogBytes / kFrameBytes,
                                          {.key = &key_, .salt = 7, .offset = 0, .frame = "short"});
  EXPECT_TRUE(Is(log_->Append(many).status(), Reason::kTooLarge));
  EXPECT_TRUE(Append(Frame(0)).ok());
}

}  // namespace
}  // namespace holdfast::test

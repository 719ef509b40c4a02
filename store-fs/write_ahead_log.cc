#include "store-fs/write_ahead_log.h"

#include "platform/exceptions.h"
#include "platform/scoped_blocking_call.h"
#include "platform/status_macros.h"
#include "platform/unlocked.h"
#include "session/limits.h"
#include "session/refusal.h"
#include "store-fs/frame.h"

#include <algorithm>
#include <optional>
#include <stop_token>

namespace holdfast::fs {
namespace {

constexpr size_t kLongestFrame = 256 * kKiB;
constexpr size_t kGroupBytes = 8 * kMiB;
// How long an append waits for the other file at most.
constexpr absl::Duration kPatience = absl::Seconds(30);

size_t TotalBytes(const std::vector<PlacedFrame>& frames) {
  size_t bytes = 0;
  for (const PlacedFrame& placed : frames) bytes += placed.frame.size() + kBesideFrameBytes;
  return bytes;
}

absl::Status NoMemory() { return absl::AbortedError("no memory for the log"); }

}  // namespace

WriteAheadLog::Hold::~Hold() {
  if (log_ != nullptr) log_->Release(file_);
}

void WriteAheadLog::Hold::Cover(const std::shared_ptr<File>& journal) {
  const absl::MutexLock lock(&log_->mutex_);
  log_->covered_[file_].insert(journal);
}

absl::StatusOr<std::unique_ptr<WriteAheadLog>> WriteAheadLog::Open(
    Files& files, FailStop& fail_stop, Random& random, const WriteAheadOptions& options) {
  auto log = std::make_unique<WriteAheadLog>(fail_stop, random, options);
  for (size_t file = kWriteAheadFiles; file-- > 0;) {
    LogFile& opened = log->log_files_[file];
    ASSIGN_OR_RETURN(opened.file, files.Open(WriteAheadPath(file), OpenMode::kWrite));
    ASSIGN_OR_RETURN(opened.allocated, opened.file->Size());
    RETURN_IF_ERROR(log->Begin(file));
  }
  return log;
}

size_t WriteAheadLog::longest_frame() const { return std::min<uint64_t>(kLongestFrame, most_ / 8); }

size_t WriteAheadLog::longest_group() const { return std::min<uint64_t>(kGroupBytes, most_ / 2); }

absl::StatusOr<WriteAheadLog::Hold> WriteAheadLog::Append(const std::vector<PlacedFrame>& frames) {
  Waiter self{
      .frames = &frames, .bytes = TotalBytes(frames), .status = {}, .file = 0, .done = false};
  if (self.bytes > longest_group()) return TooLarge("group", longest_group(), self.bytes);
  const absl::MutexLock lock(&mutex_);
  waiting_.push_back(&self);
  if (leading_) {
    const auto mine = [&]()
                          ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return self.done || !leading_; };
    AwaitBlocking(mutex_, absl::Condition(&mine));
  }
  while (!self.done) {
    leading_ = true;
    Group group = TakeGroup();
    {
      const Unlocked unlocked(mutex_);
      Settle(group);
    }
    for (Waiter* member : group) member->done = true;
    leading_ = false;
  }
  RETURN_IF_ERROR(self.status);
  return Hold(*this, self.file);
}

WriteAheadLog::Group WriteAheadLog::TakeGroup() {
  Group group;
  size_t bytes = 0;
  while (!waiting_.empty()) {
    bytes += waiting_.front()->bytes;
    if (!group.empty() && bytes > longest_group()) break;
    group.splice(group.end(), waiting_, waiting_.begin());
  }
  return group;
}

// A lack of memory for a group fails no other member: each frame is then written by itself.
void WriteAheadLog::Settle(Group& group) {
  const absl::Status status = Write(group);
  for (Waiter* member : group) member->status = status;
  if (!IsShortage(status) || group.size() == 1) return;
  Group settled;
  while (!group.empty()) {
    Group one;
    one.splice(one.begin(), group, group.begin());
    one.front()->status = Write(one);
    settled.splice(settled.end(), one);
  }
  group.swap(settled);
}

absl::Status WriteAheadLog::Write(const Group& group) {
  RETURN_IF_ERROR(fail_stop_.Check());
  std::optional<PlacedPayload> payload;
  if (CatchException([&] { payload.emplace(FramesOf(group)); })) return NoMemory();
  RETURN_IF_ERROR(
      fail_stop_.FailingOnException([&] { return MakeRoom(FrameSize(payload->size())); }));
  std::optional<GatheredFrame> frame;
  const auto make = [&] { frame.emplace(NextHead(), payload->pieces(), end_); };
  if (CatchException(make)) return NoMemory();
  RETURN_IF_ERROR(fail_stop_.FailingOnException([&] {
    const absl::Status put = Put(*frame);
    return put.ok() ? put : fail_stop_.Fail(put);
  }));
  const absl::MutexLock lock(&mutex_);
  holds_[current_] += group.size();
  for (Waiter* member : group) member->file = current_;
  return absl::OkStatus();
}

std::vector<PlacedFrame> WriteAheadLog::FramesOf(const Group& group) {
  std::vector<PlacedFrame> frames;
  for (const Waiter* member : group) {
    frames.insert(frames.end(), member->frames->begin(), member->frames->end());
  }
  return frames;
}

absl::Status WriteAheadLog::MakeRoom(uint64_t bytes) {
  if (end_ + bytes > most_) {
    RETURN_IF_ERROR(Switch());
  }
  LogFile& log_file = log_files_[current_];
  const absl::Status taken = Preallocate(*log_file.file, log_file.allocated, end_ + bytes, most_);
  return taken.ok() || IsLack(taken) ? taken : fail_stop_.Fail(taken);
}

FrameHead WriteAheadLog::NextHead() const {
  FrameHead head;
  head.type = FrameType::kPlaced;
  head.salt = salt_;
  head.previous = last_checksum_;
  return head;
}

absl::Status WriteAheadLog::Put(const GatheredFrame& frame) {
  File& file = *log_files_[current_].file;
  const ScopedBlockingCall blocking;  // all members wait for this thread, which comes back at once
  RETURN_IF_ERROR(file.WritePieces(end_, frame.pieces()));
  RETURN_IF_ERROR(file.Sync());
  last_checksum_ = frame.checksum();
  end_ += frame.size();
  return absl::OkStatus();
}

absl::Status WriteAheadLog::Switch() {
  RETURN_IF_ERROR(AwaitOtherFile());
  const size_t next = 1 - current_;
  RETURN_IF_ERROR(Begin(next));
  meter_.FileWorkDone(FileWork::kLogSwitch);
  const absl::MutexLock lock(&mutex_);
  current_ = next;
  other_is_free_ = false;
  return absl::OkStatus();
}

absl::Status WriteAheadLog::AwaitOtherFile() {
  {
    const absl::MutexLock lock(&mutex_);
    if (has_thread_) {
      const ScopedBlockingCall blocking;
      const auto free = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return other_is_free_; };
      if (mutex_.AwaitWithTimeout(absl::Condition(&free), kPatience)) return fail_stop_.Check();
      return StoreUnavailable("the disk is too slow: journals could not be synced in time",
                              Fate::kNoEffect);
    }
    if (other_is_free_) return absl::OkStatus();
  }
  FreeOtherFile();
  return fail_stop_.Check();
}

absl::Status WriteAheadLog::Begin(size_t file) {
  const uint64_t salt = NewSalt(random_);
  const EncodedFrame start = EncodeStart({.salt = salt, .number = generation_++});
  LogFile& log_file = log_files_[file];
  absl::Status written = log_file.file->Write(0, start.bytes);
  if (written.ok()) written = log_file.file->Sync();
  if (!written.ok()) return IsLack(written) ? written : fail_stop_.Fail(written);
  log_file.allocated = std::max<uint64_t>(log_file.allocated, start.bytes.size());
  salt_ = salt;
  end_ = start.bytes.size();
  last_checksum_ = start.checksum;
  return absl::OkStatus();
}

void WriteAheadLog::FreeOtherFile() {
  Journals journals;
  {
    const absl::MutexLock lock(&mutex_);
    const size_t other = 1 - current_;
    const auto is_written = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return holds_[other] == 0;
    };
    AwaitBlocking(mutex_, absl::Condition(&is_written));
    journals.swap(covered_[other]);
  }
  for (const std::shared_ptr<File>& journal : journals) {
    const absl::Status synced = journal->Sync();
    if (synced.ok()) continue;
    fail_stop_.Fail(synced).IgnoreError();
    break;
  }
  const absl::MutexLock lock(&mutex_);
  other_is_free_ = true;
}

void WriteAheadLog::Release(size_t file) {
  const absl::MutexLock lock(&mutex_);
  --holds_[file];
}

void WriteAheadLog::NoteSynced(const std::shared_ptr<File>& journal) {
  const absl::MutexLock lock(&mutex_);
  for (Journals& covered : covered_) covered.erase(journal);
}

void WriteAheadLog::Start() {
  const absl::MutexLock lock(&mutex_);
  has_thread_ = true;
  thread_ = std::jthread([this](const std::stop_token& stop) {
    const std::stop_callback wake(stop, [this] { const absl::MutexLock wakes(&mutex_); });
    for (;;) {
      {
        const absl::MutexLock waits(&mutex_);
        const auto is_due = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
          return stop.stop_requested() || !other_is_free_;
        };
        mutex_.Await(absl::Condition(&is_due));
        if (stop.stop_requested()) return;
      }
      const auto what = CatchException([this] { FreeOtherFile(); });
      if (what) fail_stop_.Fail(absl::InternalError("syncing journals: " + *what)).IgnoreError();
    }
  });
}

void WriteAheadLog::Stop() {
  thread_ = std::jthread();
  const absl::MutexLock lock(&mutex_);
  has_thread_ = false;
}

absl::Status WriteAheadLog::Empty() {
  for (LogFile& log_file : log_files_) {
    RETURN_IF_ERROR(log_file.file->Truncate(kStartFrameBytes));
  }
  return absl::OkStatus();
}

}  // namespace holdfast::fs

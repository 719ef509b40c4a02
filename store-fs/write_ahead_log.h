// The write-ahead log: one for all sessions, so that one sync makes the commits of many durable.
//
// A frame is appended here, synced, and then written to its session's journal, which no commit
// syncs. Two files are used in turns. When one is full the other is begun anew, and before it is
// full in its turn every journal that the first one's frames went to is synced. After a crash the
// next start writes to the journals what they lack.
//
//   ASSIGN_OR_RETURN(WriteAheadLog::Hold hold, log.Append(frames));
//   // ... write each frame to its journal ...
//   hold.Cover(journal);
#ifndef HOLDFAST_STORE_FS_WRITE_AHEAD_LOG_H_
#define HOLDFAST_STORE_FS_WRITE_AHEAD_LOG_H_

#include "platform/clock.h"
#include "session/store_meter.h"
#include "store-fs/fail_stop.h"
#include "store-fs/files.h"
#include "store-fs/frame.h"
#include "store-fs/write_ahead_files.h"
#include "store-fs/write_ahead_record.h"

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::fs {

struct WriteAheadOptions {
  uint64_t generation = 0;                 // of the file that is begun first
  uint64_t most = 0;                       // bytes of each file
  StoreMeter& meter = StoreMeter::None();  // outlives the log
};

// Any thread may call.
class WriteAheadLog {
 public:
  // What an append holds of the log, until the journals have it. For one thread.
  class Hold {
   public:
    Hold(Hold&& other) noexcept : log_(std::exchange(other.log_, nullptr)), file_(other.file_) {}
    Hold& operator=(Hold&&) = delete;
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;
    ~Hold();

    // `journal` has a frame of this append and has not synced it.
    void Cover(const std::shared_ptr<File>& journal);

   private:
    friend class WriteAheadLog;
    Hold(WriteAheadLog& log, size_t file) : log_(&log), file_(file) {}

    WriteAheadLog* log_;
    size_t file_;
  };

  // Begins both files anew: what they hold is lost. The generation is above those of both. A lack
  // (IsLack) may have begun one of them.
  static absl::StatusOr<std::unique_ptr<WriteAheadLog>> Open(Files& files, FailStop& fail_stop,
                                                             Random& random,
                                                             const WriteAheadOptions& options);
  // Not begun: Open is how one is made.
  WriteAheadLog(FailStop& fail_stop, Random& random, const WriteAheadOptions& options)
      : fail_stop_(fail_stop),
        random_(random),
        most_(options.most),
        meter_(options.meter),
        generation_(options.generation) {}
  WriteAheadLog(const WriteAheadLog&) = delete;
  WriteAheadLog& operator=(const WriteAheadLog&) = delete;
  ~WriteAheadLog() { Stop(); }

  // The longest frame that is taken.
  [[nodiscard]] size_t longest_frame() const;

  // Makes the frames durable; those of several calls share a write and a sync. Errors: TOO_LARGE
  // for frames that together could fill a file; a lack (IsLack), with nothing written;
  // STORE_UNAVAILABLE when the journals of the other file cannot be synced in time, with nothing
  // written, or when the store has failed.
  absl::StatusOr<Hold> Append(const std::vector<PlacedFrame>& frames);

  // `journal` was synced by the only thread that writes it.
  void NoteSynced(const std::shared_ptr<File>& journal);

  // From now on a thread of its own syncs journals, beside the appends. Before, and after Stop, an
  // append that needs the other file does it.
  void Start();
  void Stop();

  // Gives the files' space back. Every journal is synced, and nothing is appended any more.
  absl::Status Empty();

 private:
  struct Waiter {
    const std::vector<PlacedFrame>* frames = nullptr;
    size_t bytes = 0;
    absl::Status status;
    size_t file = 0;  // that has them
    bool done = false;
  };
  using Group = std::list<Waiter*>;
  using Journals = absl::flat_hash_set<std::shared_ptr<File>>;

  struct LogFile {
    std::unique_ptr<File> file;
    uint64_t allocated = 0;
  };

  [[nodiscard]] size_t longest_group() const;
  Group TakeGroup() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The rest down to Begin is the leader's alone and runs without the lock.
  void Settle(Group& group);
  // Errors of Append; of a lack (IsLack) nothing was written.
  absl::Status Write(const Group& group);
  static std::vector<PlacedFrame> FramesOf(const Group& group);
  absl::Status MakeRoom(uint64_t bytes);
  [[nodiscard]] FrameHead NextHead() const;
  absl::Status Put(const GatheredFrame& frame);
  absl::Status Switch();
  absl::Status AwaitOtherFile();
  absl::Status Begin(size_t file);
  // Syncs the journals that the file which is not current covers; then it is free.
  void FreeOtherFile();
  void Release(size_t file);

  FailStop& fail_stop_;
  Random& random_;
  const uint64_t most_;
  StoreMeter& meter_;

  // The leader's alone.
  std::array<LogFile, kWriteAheadFiles> log_files_;
  uint64_t generation_;
  uint64_t salt_ = 0;
  uint64_t end_ = 0;
  uint32_t last_checksum_ = 0;

  absl::Mutex mutex_;
  Group waiting_ ABSL_GUARDED_BY(mutex_);
  bool leading_ ABSL_GUARDED_BY(mutex_) = false;
  // The leader writes it under the lock, and reads it without.
  size_t current_ = 0;
  bool other_is_free_ ABSL_GUARDED_BY(mutex_) = true;
  std::array<size_t, kWriteAheadFiles> holds_ ABSL_GUARDED_BY(mutex_){};
  std::array<Journals, kWriteAheadFiles> covered_ ABSL_GUARDED_BY(mutex_);
  bool has_thread_ ABSL_GUARDED_BY(mutex_) = false;
  std::jthread thread_;
};

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_WRITE_AHEAD_LOG_H_

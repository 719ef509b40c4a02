// The sessions whose sealed logs may be worth a compaction. One thread takes them, one at a time.
#ifndef HOLDFAST_STORE_FS_COMPACTION_QUEUE_H_
#define HOLDFAST_STORE_FS_COMPACTION_QUEUE_H_

#include "session/ids.h"

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/synchronization/mutex.h"

#include <cstddef>
#include <deque>
#include <optional>
#include <stop_token>

namespace holdfast::fs {

// Any thread may call.
class CompactionQueue {
 public:
  // How many sessions wait at most. One that finds no room is added again by its next rotation, or
  // when it is opened.
  static constexpr size_t kMost = 4096;

  void Add(const SessionKey& key);
  // The session that has waited longest; nullopt when there is none.
  std::optional<SessionKey> Take();
  // The same, but waits for one; nullopt when `stop` was requested.
  std::optional<SessionKey> Await(const std::stop_token& stop);

 private:
  std::optional<SessionKey> TakeLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  absl::Mutex mutex_;
  std::deque<SessionKey> waiting_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_set<SessionKey> members_ ABSL_GUARDED_BY(mutex_);  // those of waiting_
};

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_COMPACTION_QUEUE_H_

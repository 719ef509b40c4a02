// What goes when nobody can ask for it any more (DESIGN section 2, "Retention").
#ifndef HOLDFAST_STORE_POSTGRES_RETENTION_H_
#define HOLDFAST_STORE_POSTGRES_RETENTION_H_

#include "session/change.h"
#include "session/head.h"
#include "session/ids.h"
#include "store-postgres/database.h"

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"

#include <atomic>
#include <cstdint>
#include <optional>
#include <thread>
#include <utility>

namespace holdfast::pg {

// Prunes sessions behind their changes, on a thread of its own. What is missed, because the server
// ends or has too much to do, goes with a later change. Any thread may call.
class Retention {
 public:
  // `database` outlives it.
  explicit Retention(const Database& database) : database_(database) {}
  ~Retention() { Stop(); }
  Retention(const Retention&) = delete;
  Retention& operator=(const Retention&) = delete;

  void Start();
  void Stop();
  // Takes note of a change that was written, and of the head that it left.
  void Note(const Change& change, const Head& head);

  // What a sweep tidies: replies that count no more, deleted sessions, and sessions that have
  // nothing for a sweep. A bounded part of it; the next sweep goes on.
  absl::Status Sweep();
  // Prunes one session to what `head` still needs.
  absl::Status Prune(const SessionKey& key, const Head& head) const;

 private:
  using Due = std::pair<SessionKey, Head>;

  absl::Status ForgetRequests();
  void Run();
  std::optional<Due> Take();
  [[nodiscard]] bool HasWork() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopping_ || !due_.empty();
  }

  const Database& database_;
  std::atomic<int64_t> forgotten_to_ = 0;  // the block of the table of replies to go on at
  absl::Mutex mutex_;
  absl::flat_hash_map<SessionKey, Head> due_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::jthread thread_;
};

}  // namespace holdfast::pg

#endif  // HOLDFAST_STORE_POSTGRES_RETENTION_H_

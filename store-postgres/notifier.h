// Notifies the other servers that there are new events.
#ifndef HOLDFAST_STORE_POSTGRES_NOTIFIER_H_
#define HOLDFAST_STORE_POSTGRES_NOTIFIER_H_

#include "platform/exceptions.h"
#include "session/ids.h"
#include "store-postgres/buckets.h"
#include "store-postgres/database.h"
#include "store-postgres/pg/connection.h"

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

#include <memory>
#include <thread>

namespace holdfast::pg {

// The shortest interval between two notifications to the other servers, and between two polls of
// their events; and the pause before a failed notification is tried again.
inline constexpr absl::Duration kNotifyBeat = absl::Milliseconds(20);
inline constexpr absl::Duration kNotifyRetry = absl::Seconds(1);

// One thread with a connection of its own, whose commits do not wait for a flush: a NOTIFY inside
// of a commit would hold up every other commit of the cluster. It sends at most one notification in
// kNotifyBeat. A notification is a hint: it may be late, twice or lost, and the feed finds the
// events in any case. Nothing is sent while no other server runs. Any thread may call.
class Notifier {
 public:
  // `database` outlives it.
  explicit Notifier(const Database& database) : database_(database) {}
  ~Notifier() { Stop(); }
  Notifier(const Notifier&) = delete;
  Notifier& operator=(const Notifier&) = delete;

  void Start();
  void Stop();
  // There are new events of `key`, which can be read. Returns at once.
  void Touch(const SessionKey& key);

 private:
  void Run();
  // What was touched; nothing when it is to stop.
  Buckets Take();
  bool Notify(const Buckets& touched);
  bool Connect();
  // Waits, unless it is to stop.
  void Pause(absl::Duration pause);
  [[nodiscard]] bool HasWork() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopping_ || touched_.any();
  }

  const Database& database_;
  LoopGuard guard_{"notifier", database_.report};
  std::unique_ptr<Connection> connection_;  // the thread's own
  absl::Mutex mutex_;
  Buckets touched_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::jthread thread_;
};

}  // namespace holdfast::pg

#endif  // HOLDFAST_STORE_POSTGRES_NOTIFIER_H_

// Polls for what other servers have committed: once a second, and as soon as a notification names a
// session that is watched here.
#ifndef HOLDFAST_STORE_POSTGRES_FEED_H_
#define HOLDFAST_STORE_POSTGRES_FEED_H_

#include "platform/exceptions.h"
#include "session/change_notifier.h"
#include "store-postgres/database.h"

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

#include <string>
#include <thread>

namespace holdfast::pg {

// How long a row of the feed is kept: servers that do not get to look for so long count every
// session as one with new events.
inline constexpr absl::Duration kFeedKept = absl::Hours(1);

// Notifies of each session that got events from another server. Own commits notify themselves.
// While the database does not answer nothing is lost: the next poll begins where the last one that
// was answered ended.
class Feed {
 public:
  // Both outlive it. `beat` is how long it waits at most before it looks again.
  Feed(const Database& database, ChangeNotifier& change_notifier, absl::Duration beat)
      : database_(database), change_notifier_(change_notifier), beat_(beat) {}

  // Notes the position of the feed, and polls from then on. Called once.
  absl::Status Start();
  void Stop();
  // New events are likely: polls soon, at most once in kNotifyBeat. Any thread may call.
  void Poke();

 private:
  void Run();
  // Waits until it is time for a look.
  void Await();
  absl::Status Look();
  [[nodiscard]] bool IsPoked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopping_ || poked_;
  }

  const Database& database_;
  LoopGuard guard_{"feed", database_.report};
  ChangeNotifier& change_notifier_;
  const absl::Duration beat_;
  absl::Mutex mutex_;
  bool poked_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::string seen_;        // which transactions the last look saw (pg_snapshot)
  absl::Duration seen_at_;  // since boot, at the latest
  std::jthread thread_;
};

}  // namespace holdfast::pg

#endif  // HOLDFAST_STORE_POSTGRES_FEED_H_

// The events of one session for all its watchers: each page is read from the store once, kept for a
// moment, and delivered to every watcher that has come to its place. A message is made once and
// shared by all streams that send it.
#ifndef HOLDFAST_SERVER_RPC_WATCH_WATCH_FEED_H_
#define HOLDFAST_SERVER_RPC_WATCH_WATCH_FEED_H_

#include "server/rpc/call/admission.h"
#include "server/rpc/call/wire.h"
#include "server/rpc/watch/watch_cursor.h"
#include "server/rpc/watch/watch_start.h"
#include "server/rpc/watch/watcher.h"
#include "session/ids.h"
#include "session/store.h"

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace holdfast {

// Pages that a feed keeps at once: the newest, and those that watchers which lag are reading.
inline constexpr size_t kFeedPages = 4;

// Reads of events for watchers, of all feeds since the process began. Any thread may call.
uint64_t WatchReadsNow();

// An event as it is sent. Immutable.
struct WatchedEvent {
  EventSeq seq;
  absl::Time time;
  Bytes message;
};

// Any thread may call.
class WatchFeed final {
 public:
  // What a watcher behind some event does next.
  struct Step {
    enum class Kind : uint8_t {
      kSend,     // `event`
      kWait,     // there is nothing more: until the session has new events
      kPending,  // another watcher reads: Resume will be called
      kNoRoom,   // there is no memory for a page: ask again later
      kOver,     // the session was deleted, and its last event has been sent
    };
    Kind kind = Kind::kWait;
    std::shared_ptr<const WatchedEvent> event;
  };
  // A watcher's place: the event that it was sent last, and the newest one that it has seen.
  struct Place {
    EventSeq after;
    EventSeq known;
  };

  // `store` and `admission` must outlive this.
  WatchFeed(SessionStore& store, Admission& admission, const WatchStart& start)
      : store_(store),
        admission_(admission),
        key_(start.key),
        uid_(start.uid),
        cursors_(start.cursors) {}
  WatchFeed(const WatchFeed&) = delete;
  WatchFeed& operator=(const WatchFeed&) = delete;
  ~WatchFeed() = default;

  // The session may have new events: a watcher that comes to the end from here on is answered by a
  // read that begins after this.
  void Touch();
  // The next step behind `place`. Reads the store, which blocks, when no page at hand says it and
  // no other thread reads; else it calls Resume once, when that read has ended. EVENTS_COMPACTED
  // when the next event is no longer kept; TOMBSTONED when the session was deleted and more than
  // its last event is missing; FENCED when another one was created in its place; otherwise as the
  // store's reads.
  absl::StatusOr<Step> Next(Place place, const std::shared_ptr<Watcher>& watcher);
  // Lets go of pages that nothing has asked for since the last call.
  void Trim();

  [[nodiscard]] const WatchCursors& cursors() const { return cursors_; }
  [[nodiscard]] const SessionKey& key() const { return key_; }
  [[nodiscard]] const SessionUid& uid() const { return uid_; }

 private:
  // The events behind `after`, up to `last`.
  struct Page {
    EventSeq after;
    EventSeq last;
    std::vector<std::shared_ptr<const WatchedEvent>> events;
    size_t bytes = 0;
    bool used = true;
    Admission::Ticket memory;
  };
  // What a read came to.
  struct Outcome {
    Page page;
    bool end = false;   // there is no newer event
    bool over = false;  // nor ever will be
  };

  absl::StatusOr<Outcome> Read(EventSeq after) const;
  absl::StatusOr<Outcome> ReadLast(EventSeq after, const absl::Status& tombstoned) const;
  void Add(const Event& event, Page& page) const;
  // The step behind `place` as far as the pages say it.
  Step Known(Place place) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether no page is missing to say what is behind `place`.
  [[nodiscard]] bool AtEnd(Place place) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::shared_ptr<const WatchedEvent> Find(EventSeq after) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Notes what a read said that began when `touched` was so.
  void Take(Outcome outcome, uint64_t touched) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Keep(Page page) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  SessionStore& store_;
  Admission& admission_;
  const SessionKey key_;
  const SessionUid uid_;
  const WatchCursors cursors_;
  absl::Mutex mutex_;
  std::vector<Page> pages_ ABSL_GUARDED_BY(mutex_);  // the one that was read last is last
  EventSeq end_ ABSL_GUARDED_BY(mutex_);             // no newer event was there at the last read
  uint64_t touched_ ABSL_GUARDED_BY(mutex_) = 1;     // how often
  uint64_t answered_ ABSL_GUARDED_BY(mutex_) = 0;    // up to which touch a read has said `end_`
  bool over_ ABSL_GUARDED_BY(mutex_) = false;
  bool reading_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::shared_ptr<Watcher>> pending_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_WATCH_WATCH_FEED_H_

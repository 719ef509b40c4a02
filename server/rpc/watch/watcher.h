// The interface of a watcher for the hub and the feed of a session.
#ifndef HOLDFAST_SERVER_RPC_WATCH_WATCHER_H_
#define HOLDFAST_SERVER_RPC_WATCH_WATCHER_H_

#include "absl/time/time.h"

namespace holdfast {

// A stream of events to one client. Called without locks held; each call returns at once.
class Watcher {
 public:
  Watcher() = default;
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;
  virtual ~Watcher() = default;

  // The session may have new events.
  virtual void Wake() = 0;
  // The read that this watcher waits for has ended.
  virtual void Resume() = 0;
  // About once every kWatchBeat; `now` is time since boot.
  virtual void Tend(absl::Duration now) = 0;
  // How long ago, at `now`, the oldest event happened that this watcher has not been sent; zero at
  // the end of the events, and until it has come there for the first time.
  virtual absl::Duration Lag(absl::Time now) = 0;
  // The server stops: say so to the client, and go.
  virtual void Leave() = 0;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_WATCH_WATCHER_H_

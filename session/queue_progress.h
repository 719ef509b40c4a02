// Whether the calls that wait in one queue move on. A queue that does not, such as that of a
// session whose row another transaction has locked, may hold no more than a few of a server's
// threads.
#ifndef HOLDFAST_SESSION_QUEUE_PROGRESS_H_
#define HOLDFAST_SESSION_QUEUE_PROGRESS_H_

#include "session/limits.h"
#include "session/refusal.h"

#include <cstdint>

namespace holdfast {

// Guarded by the queue's own mutex.
//
//   const uint64_t seen = progress.moves();
//   if (!mutex.AwaitWithTimeout(my_turn, patience)) progress.NoteTimeout(seen);
//   if (progress.stalled()) ...  // all but the first kWaitersPerSession leave
class QueueProgress {
 public:
  // How often the head of the queue has changed.
  [[nodiscard]] uint64_t moves() const { return moves_; }
  // The head of the queue has changed. The next one is expected to be as slow as this one was.
  void NoteMove() {
    ++moves_;
    was_still_ = still_;
    still_ = false;
  }
  // A call lost its patience, which began when `seen` was the number of moves.
  void NoteTimeout(uint64_t seen) { still_ = still_ || seen == moves_; }
  // True until the head of the queue changes twice without a timeout between.
  [[nodiscard]] bool stalled() const { return still_ || was_still_; }

 private:
  uint64_t moves_ = 0;
  bool still_ = false;      // since the last move
  bool was_still_ = false;  // before it
};

// What a call is answered that does not wait in a queue that has stalled: OVERLOADED, and nothing
// of it was done.
inline Refusal SessionBusy() {
  return Refusal(
             Reason::kOverloaded,
             "too many calls wait for this session, whose changes do not move on: try again later")
      .With("field", "session_id")
      .With("outcome", "known")
      .RetryAfter(kOverloadRetry);
}

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_QUEUE_PROGRESS_H_

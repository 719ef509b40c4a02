// Replies of unary calls that their clients have not read yet. The transport keeps such a reply for
// as long as its connection lives; one that is not read in time is cancelled.
#ifndef HOLDFAST_SERVER_RPC_CALL_PENDING_REPLIES_H_
#define HOLDFAST_SERVER_RPC_CALL_PENDING_REPLIES_H_

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include <grpc/grpc.h>

namespace holdfast {

// Any thread may call.
class PendingReplies {
 public:
  // A reply may wait for its reader for `timeout`.
  explicit PendingReplies(absl::Duration timeout) : timeout_(timeout) {}

  // The reply of `call` is handed to the transport at `now`, which is time since boot. To be called
  // before that happens.
  void Add(grpc_call* call, absl::Duration now);
  // The transport is done with it. The call must live until this returns.
  void Remove(grpc_call* call);
  // Cancels the calls whose replies have waited for too long. Called on a beat.
  void Tend(absl::Duration now);

 private:
  const absl::Duration timeout_;
  absl::Mutex mutex_;
  // When each was added.
  absl::flat_hash_map<grpc_call*, absl::Duration> replies_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_CALL_PENDING_REPLIES_H_

#include "server/rpc/call/pending_replies.h"

#include <vector>

namespace holdfast {

void PendingReplies::Add(grpc_call* call, absl::Duration now) {
  const absl::MutexLock lock(&mutex_);
  replies_.emplace(call, now);
}

void PendingReplies::Remove(grpc_call* call) {
  const absl::MutexLock lock(&mutex_);
  replies_.erase(call);
}

void PendingReplies::Tend(absl::Duration now) {
  std::vector<grpc_call*> late;
  {
    const absl::MutexLock lock(&mutex_);
    for (auto& [call, since] : replies_) {
      if (now - since < timeout_) continue;
      since = now;
      grpc_call_ref(call);
      late.push_back(call);
    }
  }
  // Without the lock: a call that ends is removed by this thread, before the cancellation returns.
  for (grpc_call* const call : late) {
    grpc_call_cancel(call, nullptr);
    grpc_call_unref(call);
  }
}

}  // namespace holdfast

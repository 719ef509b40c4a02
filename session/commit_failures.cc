#include "session/commit_failures.h"

#include "session/limits.h"
#include "session/refusal.h"

namespace holdfast {

absl::Status CommitFailures::Classify(const SessionKey& key, TurnNumber turn,
                                      const absl::Status& status) {
  const absl::MutexLock lock(&mutex_);
  if (status.ok()) {
    counts_.erase(key);
    return status;
  }
  if (!Is(status, Reason::kStoreUnavailable) && !Is(status, Reason::kStorageFull)) return status;
  // A full table forgets: the count is advice to a client, not a guarantee.
  if (counts_.size() >= kCachedHeads && !counts_.contains(key)) counts_.clear();
  Count& count = counts_[key];
  if (count.turn != turn) count = {.turn = turn, .failures = 0};
  if (++count.failures < kSnapshotFailures) return status;
  const Refusal cause = RefusalOf(status);
  Refusal failed(Reason::kSnapshotFailed,
                 "the snapshot of this turn failed repeatedly: look at the store");
  for (const auto& [name, value] : cause.facts()) failed.Add(name, value);
  return std::move(failed)
      .With("cause", RowOf(cause.reason()).name)
      .With("failures", static_cast<uint64_t>(count.failures))
      .RetryAfter(cause.retry_after().value_or(absl::Seconds(1)));
}

}  // namespace holdfast

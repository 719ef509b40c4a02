// A client that streams journal entries into one session as fast as they are taken.
#ifndef HOLDFAST_BENCH_JOURNAL_STREAM_H_
#define HOLDFAST_BENCH_JOURNAL_STREAM_H_

#include "bench/agent.h"
#include "bench/fresh_bytes.h"
#include "bench/served.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include <grpcpp/client_context.h>
#include <grpcpp/support/client_callback.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace holdfast::bench {

// One AppendJournalStream, from its first entry to the acknowledgement of its last. Owned by its
// maker, who waits for its end.
class JournalStream final : public grpc::ClientBidiReactor<v1::AppendJournalStreamRequest,
                                                           v1::AppendJournalStreamResponse> {
 public:
  struct Entries {
    uint64_t after = 0;  // the number of the last entry before
    uint64_t count = 0;
    size_t bytes = 0;  // of each
  };

  // Starts at once. `served` and `agent`, in a turn, must outlive it.
  JournalStream(Served& served, const Agent& agent, Entries entries);

  // Waits; OK when the last entry was acknowledged.
  absl::Status Await();

  void OnWriteDone(bool ok) override;
  void OnReadDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;

 private:
  void WriteNext();

  const Agent& agent_;
  const Entries entries_;
  FreshBytes fresh_;
  grpc::ClientContext context_;
  v1::AppendJournalStreamRequest request_;
  v1::AppendJournalStreamResponse response_;
  uint64_t written_ = 0;
  uint64_t acknowledged_ = 0;
  absl::Mutex mutex_;
  bool done_ ABSL_GUARDED_BY(mutex_) = false;
  grpc::Status status_ ABSL_GUARDED_BY(mutex_);
};

// The same into the session of every agent at once: `entries.count` of each. Waits for the end.
absl::StatusOr<Round> StreamToAll(Served& served, const std::vector<std::unique_ptr<Agent>>& agents,
                                  JournalStream::Entries entries);

// FAILED_PRECONDITION unless the journal of each agent's session ends at `entries`.
absl::Status CountEntries(Served& served, const std::vector<std::unique_ptr<Agent>>& agents,
                          uint64_t entries);

}  // namespace holdfast::bench

#endif  // HOLDFAST_BENCH_JOURNAL_STREAM_H_

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

// Agents whose sessions are streamed into all at once. Used by one thread.
class JournalStreams {
 public:
  // Entries of so many bytes. `served` must outlive it.
  JournalStreams(Served& served, size_t entry_bytes) : served_(served), entry_bytes_(entry_bytes) {}

  // Creates the sessions; once.
  absl::Status Open(size_t count);
  // Appends `count` entries, as many to each session, and waits until all are acknowledged.
  absl::StatusOr<Round> Append(uint64_t count);
  // FAILED_PRECONDITION unless each journal ends at what was acknowledged last.
  absl::Status Count() const;

 private:
  Served& served_;
  const size_t entry_bytes_;
  std::vector<std::unique_ptr<Agent>> agents_;
  uint64_t entries_ = 0;  // of each session, acknowledged
};

}  // namespace holdfast::bench

#endif  // HOLDFAST_BENCH_JOURNAL_STREAM_H_

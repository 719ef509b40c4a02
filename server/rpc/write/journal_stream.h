// What is under way in one AppendJournalStream: requests that came and are not parsed yet, entries
// that wait, the batch that is being appended, the acknowledgement that waits to be sent. Decides
// what to do next; does none of it.
#ifndef HOLDFAST_SERVER_RPC_WRITE_JOURNAL_STREAM_H_
#define HOLDFAST_SERVER_RPC_WRITE_JOURNAL_STREAM_H_

#include "holdfast/v1/session_service.pb.h"
#include "session/commands.h"
#include "session/secrets/secret_scan.h"
#include "session/sessions.h"

#include "absl/status/status.h"

#include <cstddef>
#include <deque>
#include <optional>
#include <string>

namespace holdfast {

namespace pb = ::holdfast::v1;

// Turns the requests of one stream into commands, each with the session and the lease that the
// first one names. Used by one thread at a time.
class JournalRequests {
 public:
  // `secrets` must outlive this.
  explicit JournalRequests(const SecretScanner& secrets) : secrets_(secrets) {}

  // Converts, validates and searches the next request, which is taken apart. After an error the
  // stream must end.
  absl::StatusOr<AppendJournalCommand> Read(pb::AppendJournalStreamRequest&& request);

 private:
  const SecretScanner& secrets_;
  std::optional<SessionId> session_;
  std::optional<LeaseToken> token_;
  std::string acting_owner_;
};

// Used under its owner's lock.
class JournalStream {
 public:
  // What the owner does next, without the lock; each is reported back when it is done.
  struct Steps {
    bool read = false;
    bool parse = false;  // all requests that have come
    size_t append = 0;   // bytes that wait for it, at least 1; 0: nothing is to be appended
    bool write = false;
    bool finish = false;
  };
  // Marks what it answers as under way.
  Steps Next();

  // The read is done: with a request of `bytes`, which a worker is going to parse, or with nothing
  // because no more will come. False when the stream has ended meanwhile and the request is not
  // wanted.
  bool Arrived(size_t bytes);
  void TookEnd();
  // A request of `bytes` that arrived was parsed, or cannot be taken.
  void TookRequest(size_t bytes, absl::StatusOr<AppendJournalCommand> request);
  // Every request of a parse was taken, or the stream has failed.
  void Parsed() { parsing_ = false; }
  // The batch to append; entries that came together, of one turn.
  AppendJournalCommand TakeBatch();
  void Appended(const AppendJournalCommand& batch, const absl::StatusOr<MutationResult>& result);
  // The acknowledgement to write.
  pb::AppendJournalStreamResponse TakeAcknowledgement();
  void Written(bool ok);
  // Takes no more, and ends when what came is acknowledged.
  void Drain() { draining_ = true; }
  // Ends as soon as no worker has anything of it; the first reason is kept.
  void Fail(const absl::Status& why);
  // The same, and does not wait for the write that is under way.
  void FailWriting(const absl::Status& why);

  // Nothing but a read is under way, and nothing waits.
  [[nodiscard]] bool Idle() const;
  [[nodiscard]] bool Writing() const { return writing_; }
  [[nodiscard]] bool Finished() const { return finished_; }
  // What its entries take in memory, about.
  [[nodiscard]] size_t HeldBytes() const;

  // How the stream ended; meaningful once `finish` was answered.
  [[nodiscard]] absl::Status Outcome() const;

 private:
  [[nodiscard]] bool Full() const;
  [[nodiscard]] bool MayAppend() const;

  // Without its entries: what each batch begins with.
  std::optional<AppendJournalCommand> first_;
  std::deque<JournalEntry> waiting_;
  size_t waiting_bytes_ = 0;
  size_t unparsed_ = 0;  // requests
  size_t unparsed_bytes_ = 0;
  size_t appending_bytes_ = 0;
  std::optional<pb::AppendJournalStreamResponse> unsent_;
  bool reading_ = false;
  bool parsing_ = false;
  bool appending_ = false;
  bool writing_ = false;
  bool write_stalled_ = false;
  bool no_more_ = false;
  bool draining_ = false;
  bool finished_ = false;
  absl::Status failure_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_WRITE_JOURNAL_STREAM_H_

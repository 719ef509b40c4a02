// What is under way in one AppendJournalStream: entries that came and wait, the batch that is being
// appended, the acknowledgement that waits to be sent. Decides what to do next; does none of it.
#ifndef HOLDFAST_SERVER_RPC_JOURNAL_STREAM_H_
#define HOLDFAST_SERVER_RPC_JOURNAL_STREAM_H_

#include "holdfast/v1/session_service.pb.h"
#include "session/commands.h"
#include "session/secret_scan.h"
#include "session/sessions.h"

#include "absl/status/status.h"

#include <cstddef>
#include <deque>
#include <optional>
#include <string>

namespace holdfast {

namespace pb = ::holdfast::v1;

// Used under its owner's lock.
class JournalStream {
 public:
  // `secrets` must outlive this.
  explicit JournalStream(const SecretScanner& secrets) : secrets_(secrets) {}

  // What the owner does next, without the lock; each is reported back when it is done.
  struct Steps {
    bool read = false;
    bool append = false;
    bool write = false;
    bool finish = false;
  };
  // Marks what it answers as under way.
  Steps Next();

  // The read is done: with a request, with one that cannot be taken, or with nothing because no
  // more will come.
  void TookRequest(const pb::AppendJournalStreamRequest& request);
  void TookNothing(const absl::Status& why);
  void TookEnd();
  // The batch to append; entries that came together, of one turn.
  AppendJournalCommand TakeBatch();
  void Appended(const AppendJournalCommand& batch, const absl::StatusOr<Done>& done);
  // The acknowledgement to write.
  pb::AppendJournalStreamResponse TakeAcknowledgement();
  void Written(bool ok);
  // Takes no more, and ends when what came is acknowledged.
  void Drain() { draining_ = true; }
  // Ends as soon as nothing is under way; the first reason stands.
  void Fail(const absl::Status& why);

  // How the stream ended; meaningful once `finish` was answered.
  [[nodiscard]] absl::Status Outcome() const;
  // Of the first request; empty before it.
  [[nodiscard]] std::string session() const { return session_ ? session_->value() : ""; }

 private:
  absl::Status Take(const pb::AppendJournalStreamRequest& request);
  [[nodiscard]] bool Full() const;
  [[nodiscard]] bool MayAppend() const;

  const SecretScanner& secrets_;
  std::optional<SessionId> session_;
  std::optional<LeaseToken> token_;
  std::string acting_owner_;
  std::deque<JournalEntry> waiting_;
  size_t waiting_bytes_ = 0;
  std::optional<pb::AppendJournalStreamResponse> unsent_;
  bool reading_ = false;
  bool appending_ = false;
  bool writing_ = false;
  bool no_more_ = false;
  bool draining_ = false;
  bool finished_ = false;
  absl::Status failure_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_JOURNAL_STREAM_H_

#include "server/rpc/write/journal_stream.h"

#include "platform/status_macros.h"
#include "server/rpc/convert/contents.h"
#include "server/rpc/convert/fields.h"
#include "session/check_command.h"
#include "session/data_bytes.h"
#include "session/limits.h"
#include "session/refusal.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace holdfast {
namespace {

// What comes while a batch is being appended, parsed or not: enough for a batch, and little memory.
constexpr size_t kWaitingBytes = kChunkBytes;
constexpr size_t kWaitingEntries = kEntriesPerChange;

}  // namespace

absl::StatusOr<AppendJournalCommand> JournalRequests::Read(
    pb::AppendJournalStreamRequest&& request) {
  if (!session_) {
    ASSIGN_OR_RETURN(session_, ReadId<SessionId>("session_id", request.session_id()));
    ASSIGN_OR_RETURN(token_, ReadToken("lease_token", request.lease_token()));
    acting_owner_ = request.acting_owner();
  } else if (!request.session_id().empty() || !request.lease_token().empty() ||
             !request.acting_owner().empty()) {
    return InvalidField(
        "session_id",
        "must be empty after the first request, as lease_token and acting_owner must");
  }
  AppendJournalCommand command{.session = *session_, .token = token_};
  ASSIGN_OR_RETURN(command.entries, ReadEntries(*request.mutable_entries()));
  command.acting_owner = acting_owner_;
  // Here too, so that paths are those of the request and not of a batch.
  RETURN_IF_ERROR(CheckCommand(secrets_, command));
  return command;
}

bool JournalStream::Full() const {
  return waiting_bytes_ + unparsed_bytes_ >= kWaitingBytes ||
         waiting_.size() + unparsed_ >= kWaitingEntries;
}

// One acknowledgement may cover several entries of a turn, and must not replace that of another
// turn.
bool JournalStream::MayAppend() const {
  if (waiting_.empty()) return false;
  return !unsent_ || TurnNumber(unsent_->turn()) == waiting_.front().turn;
}

JournalStream::Steps JournalStream::Next() {
  Steps steps;
  if (finished_) return steps;
  const bool open = failure_.ok();
  const bool taking = !no_more_ && !draining_ && !Full();
  if (open && !reading_ && taking) steps.read = reading_ = true;
  if (open && !parsing_ && unparsed_ > 0) steps.parse = parsing_ = true;
  if (!writing_ && unsent_) steps.write = writing_ = true;
  if (open && !appending_ && MayAppend()) {
    appending_ = true;
    steps.append = std::max<size_t>(1, waiting_bytes_);
  }
  const bool busy = parsing_ || appending_ || (writing_ && !write_stalled_);
  const bool empty = waiting_.empty() && unparsed_ == 0;
  const bool through = !open || ((no_more_ || draining_) && empty);
  if (!busy && through) steps.finish = finished_ = true;
  return steps;
}

bool JournalStream::Arrived(size_t bytes) {
  reading_ = false;
  if (finished_) return false;
  ++unparsed_;
  unparsed_bytes_ += bytes;
  return true;
}

void JournalStream::TookRequest(size_t bytes, absl::StatusOr<AppendJournalCommand> request) {
  --unparsed_;
  unparsed_bytes_ -= bytes;
  if (!request.ok()) return Fail(request.status());
  for (JournalEntry& entry : request->entries) {
    waiting_bytes_ += DataBytes(entry);
    waiting_.push_back(std::move(entry));
  }
  request->entries.clear();
  if (!first_) first_ = *std::move(request);
}

void JournalStream::TookEnd() {
  reading_ = false;
  no_more_ = true;
}

AppendJournalCommand JournalStream::TakeBatch() {
  AppendJournalCommand batch = *first_;
  size_t bytes = 0;
  while (!waiting_.empty() && batch.entries.size() < kEntriesPerChange) {
    JournalEntry& next = waiting_.front();
    const size_t size = DataBytes(next);
    if (!batch.entries.empty()) {
      const JournalEntry& last = batch.entries.back();
      const bool follows = next.turn == last.turn && next.number == last.number.Next();
      if (!follows || bytes + size > kChangeBytes) break;
    }
    bytes += size;
    waiting_bytes_ -= size;
    batch.entries.push_back(std::move(next));
    waiting_.pop_front();
  }
  appending_bytes_ = bytes + batch.entries.size() * sizeof(JournalEntry);
  return batch;
}

void JournalStream::Appended(const AppendJournalCommand& batch,
                             const absl::StatusOr<MutationResult>& result) {
  appending_ = false;
  appending_bytes_ = 0;
  if (!result.ok()) return Fail(result.status());
  pb::AppendJournalStreamResponse& response = unsent_.emplace();
  response.set_turn(batch.entries.front().turn.value());
  response.set_last_entry(result->receipt.last_entry.value());
  response.set_journal_number(result->head.journal.value());
  response.set_revision(result->receipt.revision.value());
}

pb::AppendJournalStreamResponse JournalStream::TakeAcknowledgement() {
  return *std::exchange(unsent_, std::nullopt);
}

void JournalStream::Written(bool ok) {
  writing_ = false;
  if (!ok) Fail(Refusal(Reason::kCancelled, "the caller went away"));
}

void JournalStream::Fail(const absl::Status& why) {
  if (!why.ok() && failure_.ok()) failure_ = why;
}

void JournalStream::FailWriting(const absl::Status& why) {
  write_stalled_ = true;
  Fail(why);
}

bool JournalStream::Idle() const {
  return reading_ && !appending_ && !writing_ && waiting_.empty() && unparsed_ == 0;
}

size_t JournalStream::HeldBytes() const {
  return waiting_bytes_ + waiting_.size() * sizeof(JournalEntry) + appending_bytes_;
}

absl::Status JournalStream::Outcome() const {
  if (!failure_.ok() || no_more_) return failure_;
  return StoreUnavailable("this server is stopping: send again what is not acknowledged",
                          Fate::kNoEffect);
}

}  // namespace holdfast

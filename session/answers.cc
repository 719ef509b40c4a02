#include "session/answers.h"

#include "session/fingerprint.h"
#include "session/names.h"
#include "session/refusal.h"

#include "absl/time/time.h"

#include <utility>

namespace holdfast {
namespace {

// After which another look at what a deleted session has left is worth it.
constexpr absl::Duration kRemovalRetry = absl::Seconds(1);

}  // namespace

CommitResult Refused(absl::Status refusal, const Head& head) {
  return {.kind = CommitResult::Kind::kRefused,
          .receipt = {},
          .head = head,
          .refusal = std::move(refusal)};
}

CommitResult AnswerToRepeat(const RequestStamp& asked, const RequestRow& stored, const Head& head) {
  if (!SameRequest(stored.stamp, asked)) return Refused(RequestIdReused(asked, stored), head);
  CommitResult result{
      .kind = CommitResult::Kind::kRepeated, .receipt = stored.receipt, .head = head};
  if (stored.receipt.epoch != head.lease.epoch) result.receipt.token.clear();
  return result;
}

absl::Status RequestIdReused(const RequestStamp& asked, const RequestRow& stored) {
  return Refusal(Reason::kRequestIdReused, "this request id was already used for another request")
      .With("request_id", asked.id.value())
      .With("method", Name(stored.stamp.method));
}

bool SameEntry(JournalEntry stored, JournalEntry sent) {
  stored.journal_number = sent.journal_number;
  if (stored.slot) stored.slot->revision = Revision();
  if (sent.slot) sent.slot->revision = Revision();
  return stored == sent;
}

absl::Status EntryReused(const JournalEntry& sent) {
  return Refusal(Reason::kRequestIdReused, "this entry number was already used for another entry")
      .With("turn", sent.turn.value())
      .With("number", sent.number.value());
}

absl::Status SessionIsThere() {
  return Refusal(Reason::kSessionExists, "a session of this id exists: resume it");
}

absl::Status SessionIsNotThere() {
  return Refusal(Reason::kSessionNotFound, "no session of this id is stored here");
}

absl::Status SessionWasDeleted(const FormerSession& former) {
  return Refusal(Reason::kTombstoned, "this session was deleted")
      .With("session_uid", former.uid.value());
}

absl::Status FormerIsStillThere() {
  return StoreUnavailable("what the deleted session had is still being removed: try again",
                          Fate::kNoEffect)
      .RetryAfter(kRemovalRetry);
}

absl::Status UploadIsGone() {
  return StoreUnavailable("the upload is not there any more: send it again", Fate::kNoEffect);
}

}  // namespace holdfast

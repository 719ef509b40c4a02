// What a store answers to a change that it does not apply: the same over every store.
#ifndef HOLDFAST_SESSION_ANSWERS_H_
#define HOLDFAST_SESSION_ANSWERS_H_

#include "session/change.h"
#include "session/head.h"
#include "session/store.h"

#include "absl/status/status.h"

namespace holdfast {

CommitResult Refused(absl::Status refusal, const Head& head);

// For a request whose id is stored: the stored receipt, with its token while its epoch is the
// current one. RequestIdReused when the id was used for another request.
CommitResult AnswerToRepeat(const RequestStamp& asked, const RequestRow& stored, const Head& head);

// REQUEST_ID_REUSED with the id and the method that it was used for.
absl::Status RequestIdReused(const RequestStamp& asked, const RequestRow& stored);

// Whether a stored entry is the one that is sent again: what the store added does not count.
bool SameEntry(JournalEntry stored, JournalEntry sent);
// REQUEST_ID_REUSED with turn and number, which were used for another entry than `sent`.
absl::Status EntryReused(const JournalEntry& sent);

// SESSION_EXISTS: a change would create what is there.
absl::Status SessionIsThere();

// SESSION_NOT_FOUND: this store has no session of the id.
absl::Status SessionIsNotThere();

// TOMBSTONED: the session of the id was deleted, and which one it was.
absl::Status SessionWasDeleted(const FormerSession& former);

// STORE_UNAVAILABLE, outcome known: what a deleted session had is still being removed, before which
// its id is not used again.
absl::Status FormerIsStillThere();

// STORE_UNAVAILABLE, outcome known: what a change links is not staged, or no longer.
absl::Status UploadIsGone();

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_ANSWERS_H_

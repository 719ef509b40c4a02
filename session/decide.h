// The decisions: (head, command) becomes a change or a refusal. Pure: nothing is read but the
// arguments.
#ifndef HOLDFAST_SESSION_DECIDE_H_
#define HOLDFAST_SESSION_DECIDE_H_

#include "session/change.h"
#include "session/checkpoint.h"
#include "session/checkpoint_target.h"
#include "session/commands.h"
#include "session/head.h"
#include "session/restore_reads.h"

#include "absl/status/statusor.h"

#include <optional>
#include <string>
#include <vector>

namespace holdfast {

// A change to make, or nothing to write because the call is answered from the head as it is.
struct Decision {
  std::optional<Change> change;
};

// Randomness for one creation.
struct Fresh {
  SessionUid uid;
  std::string secret;  // kSecretBytes
};

// Creation has no head: the store refuses it when the id is taken. `stamp` is the request that
// creates, which a resume may be.
Change DecideCreate(const Caller& caller, const SessionKey& key, const CreateCommand& command,
                    const RequestStamp& stamp, const Fresh& fresh);

// The creation that a write asks for, with what it writes; nullopt for one that asks for none, or
// that builds on what would have to be there.
std::optional<Change> DecideCreate(const Caller& caller, const SessionKey& key,
                                   const WriteCommand& command, const Fresh& fresh);
std::optional<Change> DecideCreate(const Caller& caller, const SessionKey& key,
                                   const PutItemsCommand& command, const Fresh& fresh);

// Each of the others answers the first refusal of session/guard.h that holds on `head`.
absl::StatusOr<Decision> Decide(const Head& head, const Caller& caller,
                                const UpdateCommand& command);
// A caller with the current token reconnects: nothing is written.
absl::StatusOr<Decision> Decide(const Head& head, const Caller& caller,
                                const ResumeCommand& command, const std::string& secret);
absl::StatusOr<Decision> Decide(const Head& head, const Caller& caller,
                                const BeginTurnCommand& command);
absl::StatusOr<Decision> Decide(const Head& head, const Caller& caller,
                                const AppendJournalCommand& command);
absl::StatusOr<Decision> Decide(const Head& head, const Caller& caller,
                                const CommitTurnCommand& command);
// A history that is sent whole is stored as what it adds. STALE_REVISION for a base that is not the
// stored history; INVALID_FIELD for a whole history that neither extends nor replaces it.
absl::StatusOr<Decision> Decide(const Head& head, const Caller& caller,
                                const WriteCommand& command);
absl::StatusOr<Decision> Decide(const Head& head, const Caller& caller,
                                const AbandonTurnCommand& command);
// Closing a closed session writes nothing.
absl::StatusOr<Decision> Decide(const Head& head, const Caller& caller,
                                const CloseCommand& command);
absl::StatusOr<Decision> Decide(const Head& head, const Caller& caller,
                                const DeleteCommand& command);
absl::StatusOr<Decision> Decide(const Head& head, const Caller& caller,
                                const ReleaseCommand& command);

// A cancel request that is there already writes nothing.
absl::StatusOr<Decision> Decide(const Head& head, const Caller& caller,
                                const CancelCommand& command);
// OK if `command` may restore something in the session `head`. The refusals of session/guard.h;
// INVALID_FIELD without the revision that it builds on; STALE_REVISION for another history.
absl::Status CheckRestore(const Head& head, const RestoreCommand& command);
// Restores what was read of the past of `head` for `command`. Writes nothing where that is what is
// there. Holds on this state of the session alone.
absl::StatusOr<Decision> Decide(const Head& head, const Caller& caller,
                                const RestoreCommand& command, RestoredState restored);

// OK, and nothing to write, where the checkpoint is already as `command` says. INVALID_FIELD for a
// name that another one has; TOO_LARGE for one more than a session may have.
absl::StatusOr<Decision> Decide(const Head& head, const Caller& caller,
                                const PutCheckpointCommand& command,
                                const CheckpointTarget& target);
// Deletes all of `there`.
absl::StatusOr<Decision> Decide(const Head& head, const Caller& caller,
                                const DeleteCheckpointCommand& command,
                                const std::vector<Checkpoint>& there);

// What must hold whatever the command brings: what can be refused before its contents are there.
Guard GuardOf(const CommitTurnCommand& command);
Guard GuardOf(const WriteCommand& command);
Guard GuardOf(const RestoreCommand& command);
Guard GuardOf(const PutCheckpointCommand& command);
Guard GuardOf(const DeleteCheckpointCommand& command);

absl::StatusOr<Decision> Decide(const Head& head, const Caller& caller,
                                const AppendAuditCommand& command);

absl::StatusOr<Decision> Decide(const Head& head, const Caller& caller,
                                const PutItemsCommand& command);

// The server's own act on a session whose holder is gone: the turn is abandoned, the epoch is
// raised and the session closed with CRASH.
absl::StatusOr<Decision> DecideRecovery(const Head& head, const SessionKey& key);

// The server's own act on what a cancel request asked to end: the active turn is abandoned and the
// epoch raised; a cancel request of the session closes the session. Writes nothing when no cancel
// request asks for an end any more.
absl::StatusOr<Decision> DecideCancelled(const Head& head, const SessionKey& key);

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_DECIDE_H_

// The order of checks, the same in the domain and in every store that runs our
// code: session uid, store id, revision ahead, lease and epoch, an entry's key, state, turn,
// revision, attributes. Tombstone and request id come before and are the caller's to look up.
#ifndef HOLDFAST_SESSION_GUARD_H_
#define HOLDFAST_SESSION_GUARD_H_

#include "session/change.h"
#include "session/head.h"
#include "session/model.h"
#include "session/refusal.h"

#include "absl/status/status.h"

#include <optional>
#include <vector>

namespace holdfast {

// FENCED: what a caller names is of a session of this id that was deleted.
Refusal AnotherSession();

// FENCED where the session that a caller means, if it says so, is not the one that is there.
absl::Status CheckSameSession(const SessionUid& stored, const std::optional<SessionUid>& meant);

// The first check that `guard` fails on `head`, as the refusal a client gets; nullopt when all
// pass. `entries` are those of an append, which pass before state and turn if all of them are there
// already.
std::optional<Refusal> CheckGuard(const Head& head, const Guard& guard,
                                  const std::vector<JournalEntry>& entries);

// Whether `guard`, which `head` has passed, would have failed if the lease of `head` were live.
bool NeedsFreeLease(const Head& head, const Guard& guard);

// True when the head is still what a decision was made on.
bool Holds(const Premise& premise, const Head& head);

// The premise that describes `head`.
Premise PremiseOf(const Head& head);

// True when `token` is the one that the head's current lease was granted with.
bool IsCurrentToken(const Head& head, const LeaseToken& token);

// The last entry number of `turn` that the store has, or nullopt when it no longer knows the turn.
std::optional<EntryNumber> LastEntryOf(const Head& head, TurnNumber turn);

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_GUARD_H_

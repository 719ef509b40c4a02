// How a store decides a change: the order of checks and what each answers, the same over every
// store. What the store has of the session is read through a port, only where it is needed.
#ifndef HOLDFAST_SESSION_CHANGE_DECISION_H_
#define HOLDFAST_SESSION_CHANGE_DECISION_H_

#include "session/apply.h"
#include "session/change.h"
#include "session/head.h"
#include "session/ids.h"
#include "session/model.h"
#include "session/refusal.h"
#include "session/store.h"

#include "absl/status/statusor.h"

#include <optional>
#include <vector>

namespace holdfast {

// What a decision reads from the store about one session, in the state of the head that is decided
// on. An error of any of them ends the decision with this error.
class DecisionReads {
 public:
  virtual ~DecisionReads() = default;

  // The entries of `turn` from `first` to `last` that are kept and can be read, in any order.
  virtual absl::StatusOr<std::vector<JournalEntry>> StoredEntries(TurnNumber turn,
                                                                  EntryNumber first,
                                                                  EntryNumber last) = 0;
  // Whether what `link` names is staged for the session, and not taken over yet.
  virtual absl::StatusOr<bool> HoldsUpload(const UploadLink& link) = 0;
  // TOO_LARGE when `applied` leaves more slots than a session may have, and than it had.
  virtual absl::StatusOr<std::optional<Refusal>> CheckSlots(const Applied& applied) = 0;
  // Sets `applied.item_effects` to what ResolveItems answers, or answers its refusal. A store that
  // resolves `applied.items` as it writes them does neither here.
  virtual absl::StatusOr<std::optional<Refusal>> ResolveItemWrites(Applied& applied) = 0;
};

// What a store has of the session that a change is of.
struct FoundSession {
  const Head* head = nullptr;             // nullptr: none is there
  const FormerSession* former = nullptr;  // that was deleted, where none is there
  const RequestRow* request = nullptr;    // the stored reply to the change's request
};

struct ChangeDecision {
  std::optional<CommitResult> answer;  // nothing is to be written: refused, moved, repeated
  Applied applied;                     // else what is to be written
};

// The answer to a change that has been made already, or would create what is there; nullopt where
// the change is to be decided on the head, which for one that creates is an empty one. Errors:
// SESSION_NOT_FOUND, TOMBSTONED.
absl::StatusOr<std::optional<CommitResult>> AnswerWithoutDecision(const Change& change,
                                                                  const FoundSession& found);

// Decides on `head`, which for a change that creates a session is an empty one.
absl::StatusOr<ChangeDecision> DecideOnHead(const Change& change, const Head& head,
                                            const StoreFacts& facts, DecisionReads& reads);

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_CHANGE_DECISION_H_

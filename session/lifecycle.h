// The lifecycle of a session: one table of every state and trigger. Every other
// piece of code asks it.
#ifndef HOLDFAST_SESSION_LIFECYCLE_H_
#define HOLDFAST_SESSION_LIFECYCLE_H_

#include "session/model.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast {

enum class Lifecycle : uint8_t { kIdle, kActive, kPersisted, kResumed, kClosed };
inline constexpr size_t kLifecycles = 5;

enum class Trigger : uint8_t {
  kBeginTurn,
  kCommitTurn,
  kAbandonTurn,
  kAppendJournal,
  kWrite,
  kResume,
  kClose,
  kRecover,  // the server closes a session whose holder is gone
  kDelete,
  kUpdate,
  kRenew,
  kRelease,
  kCancel,
  kEndCancelled,  // the server ends what a cancel request asked to end
  kAppendAudit,
  kPutItems,
  kRestore,
  kPutCheckpoint,
  kDeleteCheckpoint,
};
inline constexpr size_t kTriggers = 19;

// Whether `trigger` is of a lease or of a turn, which a session of kind OPEN has not.
constexpr bool NeedsLeasedSession(Trigger trigger) {
  switch (trigger) {
    case Trigger::kBeginTurn:
    case Trigger::kCommitTurn:
    case Trigger::kAbandonTurn:
    case Trigger::kAppendJournal:
    case Trigger::kResume:
    case Trigger::kRecover:
    case Trigger::kRenew:
    case Trigger::kRelease:
      return true;
    default:
      return false;
  }
}

// Whether a cancel request asks for the session's end.
enum class RequestedEnd : uint8_t { kNone, kSession };

enum class Verdict : uint8_t {
  kLegal,
  kIllegal,         // ILLEGAL_TRANSITION
  kConcurrentTurn,  // CONCURRENT_TURN
};

// One cell: whether the trigger is legal and where it leads.
struct Transition {
  Verdict verdict = Verdict::kIllegal;
  Lifecycle to = Lifecycle::kIdle;
};

namespace internal {

constexpr Transition To(Lifecycle to) { return {Verdict::kLegal, to}; }
constexpr Transition Never() { return {}; }
constexpr Transition Busy() { return {Verdict::kConcurrentTurn, Lifecycle::kActive}; }

using Row = std::array<Transition, kLifecycles>;

constexpr Row Stays() {
  return {To(Lifecycle::kIdle), To(Lifecycle::kActive), To(Lifecycle::kPersisted),
          To(Lifecycle::kResumed), To(Lifecycle::kClosed)};
}
constexpr Row Always(Lifecycle to) { return {To(to), To(to), To(to), To(to), To(to)}; }

// Columns: IDLE, ACTIVE, PERSISTED, RESUMED, CLOSED.
inline constexpr std::array<Row, kTriggers> kTable = {{
    /* BeginTurn     */ {To(Lifecycle::kActive), Busy(), To(Lifecycle::kActive),
                         To(Lifecycle::kActive), Never()},
    /* CommitTurn    */ {Never(), To(Lifecycle::kPersisted), Never(), Never(), Never()},
    /* AbandonTurn   */ {Never(), To(Lifecycle::kPersisted), Never(), Never(), Never()},
    /* AppendJournal */ Stays(),  // the entry's turn decides, not the state
    /* Write         */
    {To(Lifecycle::kPersisted), Busy(), To(Lifecycle::kPersisted), To(Lifecycle::kPersisted),
     Never()},
    /* Resume        */ Always(Lifecycle::kResumed),
    /* Close         */ Always(Lifecycle::kClosed),
    /* Recover       */ {Never(), To(Lifecycle::kClosed), Never(), Never(), Never()},
    /* Delete        */ Stays(),
    /* Update        */ Stays(),
    /* Renew         */ Stays(),
    /* Release       */ Stays(),
    /* Cancel        */
    {To(Lifecycle::kIdle), To(Lifecycle::kActive), To(Lifecycle::kPersisted),
     To(Lifecycle::kResumed), Never()},
    /* EndCancelled  */
    {To(Lifecycle::kClosed), To(Lifecycle::kPersisted), To(Lifecycle::kClosed),
     To(Lifecycle::kClosed), Never()},
    /* AppendAudit   */ Stays(),
    /* PutItems      */ Stays(),
    /* Restore       */
    {To(Lifecycle::kPersisted), Busy(), To(Lifecycle::kPersisted), To(Lifecycle::kPersisted),
     Never()},
    /* PutCheckpoint    */ Stays(),
    /* DeleteCheckpoint */ Stays(),
}};

}  // namespace internal

// The cell for a session in `from`. A trigger that abandons a turn leads back to IDLE where no
// snapshot was written since the session was created; the caller checks that on the head.
constexpr Transition Next(Lifecycle from, Trigger trigger) {
  return internal::kTable[static_cast<size_t>(trigger)][static_cast<size_t>(from)];
}

// What of a session, beside its state, decides which triggers are legal.
struct Condition {
  SessionKind kind = SessionKind::kLeased;
  RequestedEnd requested_end = RequestedEnd::kNone;
};

// The same for a session of `kind`, and under a cancel request of the session: the active turn may
// go on and end, and no turn may begin. From ACTIVE, EndCancelled then leads to CLOSED.
constexpr Transition Next(Lifecycle from, Trigger trigger, const Condition& condition) {
  if (condition.kind == SessionKind::kOpen && NeedsLeasedSession(trigger)) return internal::Never();
  const bool begins = trigger == Trigger::kBeginTurn;
  return begins && condition.requested_end == RequestedEnd::kSession ? internal::Never()
                                                                     : Next(from, trigger);
}

// The names on the wire: "ACTIVE", "BeginTurn".
std::string_view Name(Lifecycle lifecycle);
std::string_view Name(Trigger trigger);

// The triggers that are legal in `from`, joined by commas, for a refusal's metadata.
std::string LegalTriggers(Lifecycle from, const Condition& condition);

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_LIFECYCLE_H_

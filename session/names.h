// The words that events, audit records and listings use.
#ifndef HOLDFAST_SESSION_NAMES_H_
#define HOLDFAST_SESSION_NAMES_H_

#include "session/model.h"

#include <string>

namespace holdfast {

// Events.
inline constexpr char kSessionStarted[] = "SessionStarted";
inline constexpr char kSessionTurnStart[] = "SessionTurnStart";
inline constexpr char kSessionTurnEnd[] = "SessionTurnEnd";
inline constexpr char kSessionPersisted[] = "SessionPersisted";
inline constexpr char kSessionRestored[] = "SessionRestored";
inline constexpr char kSessionCheckpointed[] = "SessionCheckpointed";
inline constexpr char kSessionCompacted[] = "SessionCompacted";
inline constexpr char kSessionResumeStarted[] = "SessionResumeStarted";
inline constexpr char kSessionResumed[] = "SessionResumed";
inline constexpr char kSessionLeaseChanged[] = "SessionLeaseChanged";
inline constexpr char kSessionClosed[] = "SessionClosed";
inline constexpr char kSessionDeleted[] = "SessionDeleted";
inline constexpr char kSessionCancelRequested[] = "SessionCancelRequested";

// Audit classes of the store's own acts.
inline constexpr char kLifecycleClass[] = "SessionLifecycle";
inline constexpr char kTurnClass[] = "Turn";
inline constexpr char kItemsClass[] = "Items";
inline constexpr char kCompactionClass[] = "Compaction";

// "ok", "user", "explicit", "ask", "open", "CommitTurn".
std::string Name(TurnOutcome outcome);
std::string Name(TurnSource source);
std::string Name(CloseReason reason);
std::string Name(Mode mode);
std::string Name(SessionKind kind);
std::string Name(Method method);
std::string Name(CancelScope scope);
std::string Name(CancelReason reason);
std::string Name(CheckpointKind kind);
std::string Name(CheckpointStatus status);
std::string Name(CompactionTrigger trigger);

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_NAMES_H_

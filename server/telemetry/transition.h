// The transition of a session's lifecycle that an applied change made, as metrics and spans show
// it.
#ifndef HOLDFAST_SERVER_TELEMETRY_TRANSITION_H_
#define HOLDFAST_SERVER_TELEMETRY_TRANSITION_H_

#include "session/change.h"
#include "session/head.h"
#include "session/lifecycle.h"

#include <cstddef>
#include <optional>
#include <string_view>

namespace holdfast {

// States beside those of Lifecycle, and triggers beside those of Trigger.
inline constexpr size_t kStateAbsent = kLifecycles;       // the session did not exist: "NONE"
inline constexpr size_t kStateDeleted = kLifecycles + 1;  // it has a tombstone: "DELETED"
inline constexpr size_t kStateUnknown = kLifecycles + 2;  // not in the change: "UNKNOWN"
inline constexpr size_t kStates = kLifecycles + 3;
inline constexpr size_t kTriggerCreate = kTriggers;  // "Create"

struct AppliedTransition {
  size_t from = kStateUnknown;  // a Lifecycle, or one of the states above
  size_t to = kStateUnknown;    // likewise
  size_t trigger = 0;           // a Trigger, or kTriggerCreate
};

// The transition of `change`, which was applied and has left `after`. nullopt when it neither sets
// the lifecycle nor deletes the session.
std::optional<AppliedTransition> TransitionOf(const Change& change, const Head& after);

// "ACTIVE", "NONE"; "BeginTurn", "Create".
std::string_view StateName(size_t state);
std::string_view TriggerName(size_t trigger);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TELEMETRY_TRANSITION_H_

// How every change begins: with what its caller and its command say.
#ifndef HOLDFAST_SESSION_CHANGE_START_H_
#define HOLDFAST_SESSION_CHANGE_START_H_

#include "session/change.h"
#include "session/commands.h"
#include "session/fingerprint.h"
#include "session/ids.h"

#include <optional>
#include <utility>

namespace holdfast {

// A change of the session `key` without effects, for `caller`. Its events and its audit record have
// the id of `request` as their correlation id, where there is one.
Change StartChange(const Caller& caller, SessionKey key, const std::optional<RequestStamp>& request,
                   const Guard& guard);

// The same of the session that `command` names.
template <typename Command>
Change StartChangeOf(const Caller& caller, const Command& command, Guard guard) {
  guard.uid = command.uid;
  return StartChange(caller, {caller.tenant, command.session}, StampOf(command), guard);
}

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_CHANGE_START_H_

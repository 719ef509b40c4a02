#include "session/change_start.h"

namespace holdfast {

Change StartChange(const Caller& caller, SessionKey key, const std::optional<RequestStamp>& request,
                   const Guard& guard) {
  Change change;
  change.key = std::move(key);
  change.request = request;
  change.guard = guard;
  change.trace = caller.trace;
  change.correlation_id = request ? request->id.value() : "";
  return change;
}

}  // namespace holdfast

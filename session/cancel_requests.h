// What cancel requests mean for a session.
#ifndef HOLDFAST_SESSION_CANCEL_REQUESTS_H_
#define HOLDFAST_SESSION_CANCEL_REQUESTS_H_

#include "session/head.h"
#include "session/model.h"

#include "absl/time/time.h"

#include <cstddef>

namespace holdfast {

// The first cancel request of the session as a whole; nullptr when there is none.
const CancelRequest* SessionCancelRequest(const Head& head);

// The first cancel request that asks for the end of the session, or of its active turn; nullptr
// when there is none, and for a closed session.
const CancelRequest* EndingCancelRequest(const Head& head);

// True when a cancel request like this one is there already.
bool HasCancelRequest(const Head& head, const CancelRequest& cancel_request);

// How many cancel requests only inform: those of stages and tools.
size_t CountInformingRequests(const Head& head);

// True when the server must end what a cancel request names: a session without an active turn at
// once, a turn when the cancel request is at least `grace` old.
bool EndIsDue(const Head& head, absl::Duration requested_for, absl::Duration grace);

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_CANCEL_REQUESTS_H_

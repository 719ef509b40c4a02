// The request id of a grant (a create or a resume) is a secret until its epoch has passed: a repeat
// of the request is answered with the lease token. So nothing that others read may carry it.
#ifndef HOLDFAST_SESSION_GRANT_CORRELATION_H_
#define HOLDFAST_SESSION_GRANT_CORRELATION_H_

#include "session/ids.h"

#include <string>
#include <string_view>

namespace holdfast {

// What correlates the events and audit records of a grant: the first 16 bytes of
// SHA-256("grant" || request id) as a UUID. The id cannot be worked out from it.
std::string GrantCorrelation(const RequestId& request);

// Whether `text` contains `request`, in either case and with or without its dashes.
bool Mentions(std::string_view text, const RequestId& request);

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_GRANT_CORRELATION_H_

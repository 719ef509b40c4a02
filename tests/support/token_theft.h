// A client that only reads tries to get at leases that are not its own: by every id that events,
// audit records, heads, listings, recovery reports and refusals show, as the request id of every
// method.
#ifndef HOLDFAST_TESTS_SUPPORT_TOKEN_THEFT_H_
#define HOLDFAST_TESTS_SUPPORT_TOKEN_THEFT_H_

#include <string>

namespace holdfast::testing {

// Expects that none of them yields a token or writes, on the server at `address`, which must be
// empty.
void ExpectNoTokenIsStolen(const std::string& address);

}  // namespace holdfast::testing

#endif  // HOLDFAST_TESTS_SUPPORT_TOKEN_THEFT_H_

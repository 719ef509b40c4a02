// A secret that a server knows, sent in every field of every method that writes.
#ifndef HOLDFAST_TESTS_SUPPORT_KNOWN_SECRET_H_
#define HOLDFAST_TESTS_SUPPORT_KNOWN_SECRET_H_

#include <string>

namespace holdfast::testing {

// A UUID, so that it is valid wherever an id is asked for.
inline constexpr char kCanary[] = "5ec4e7ca-4a1e-4aaa-8bbb-c0ffee5ec4e7";
// The trace that each call with the canary is part of, and its id, which is no secret.
inline constexpr char kTraced[] = "00-5ec4e7ca4a1e4aaa8bbbc0ffee5ec4e7-5ec4e7ca4a1e4aaa-01";
inline constexpr char kTracedId[] = "5ec4e7ca4a1e4aaa8bbbc0ffee5ec4e7";

// Expects that the server at `address`, which knows the canary, refuses it in each field by its
// place, and that no answer repeats it. `session` is there and held by `token`.
void ExpectRefusedEverywhere(const std::string& address, const std::string& session,
                             const std::string& token);

}  // namespace holdfast::testing

#endif  // HOLDFAST_TESTS_SUPPORT_KNOWN_SECRET_H_

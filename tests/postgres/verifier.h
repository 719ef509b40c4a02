// Checks a record of traffic in a process of its own, which gets the file, the addresses of the
// servers and the names of the sessions. The test's binary runs as that process with `verifier`.
#ifndef HOLDFAST_TESTS_POSTGRES_VERIFIER_H_
#define HOLDFAST_TESTS_POSTGRES_VERIFIER_H_

#include "tests/history/traffic.h"
#include "tests/support/server_process.h"

#include <string>
#include <vector>

namespace holdfast::testing {

// Runs the process when the traffic of `plan` has stopped. Prints what it says; the test fails when
// it finds anything wrong. What it read of the sessions is in the record then.
void VerifyBeside(const TestFolder& folder, const history::TrafficPlan& plan);

// The process itself: `verifier FILE PREFIX SESSIONS ADDRESS...`.
inline constexpr char kVerifierWord[] = "verifier";
int RunVerifier(const std::vector<std::string>& words);

}  // namespace holdfast::testing

#endif  // HOLDFAST_TESTS_POSTGRES_VERIFIER_H_

// Why a call may be refused.
#ifndef HOLDFAST_TESTS_HISTORY_REFUSALS_H_
#define HOLDFAST_TESTS_HISTORY_REFUSALS_H_

#include "tests/history/history.h"
#include "tests/history/timeline.h"

namespace holdfast::history {

// Whether `asked` may be refused for `cause` by a session in `state`.
bool Justified(const Asked& asked, Cause cause, const State& state);

}  // namespace holdfast::history

#endif  // HOLDFAST_TESTS_HISTORY_REFUSALS_H_

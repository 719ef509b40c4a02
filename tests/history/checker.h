// The checker: whether a history is one that a correct store can have led to.
//
// Each session is checked by itself. Its store gives revisions, which are a total order, and a log
// that is read at the end says which request made which. So the checker needs no search, and its
// time is linear but for sorting. complaint.h lists what is checked.
#ifndef HOLDFAST_TESTS_HISTORY_CHECKER_H_
#define HOLDFAST_TESTS_HISTORY_CHECKER_H_

#include "tests/history/complaint.h"
#include "tests/history/history.h"

namespace holdfast::history {

// Everything that is wrong with `history`; empty when nothing is. A session without an ending is
// wrong.
Complaints Check(const History& history);

}  // namespace holdfast::history

#endif  // HOLDFAST_TESTS_HISTORY_CHECKER_H_

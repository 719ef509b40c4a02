// What a checker finds wrong with a history.
#ifndef HOLDFAST_TESTS_HISTORY_COMPLAINT_H_
#define HOLDFAST_TESTS_HISTORY_COMPLAINT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::history {

// The rules, each of which is one kind of complaint.
enum class Rule : uint8_t {
  kLost,          // acknowledged, and not there at the end
  kActedTwice,    // one request acted more than once
  kUnrequested,   // a change that no client requested
  kRefusedActed,  // every sending was refused, and it acted all the same
  kRevision,      // acknowledged under a revision that it does not have
  kOrder,         // acted before something that had returned when it began
  kIllegal,       // acted in a state that does not allow it
  kOldEpoch,      // acted under another epoch than the session's, or without a lease
  kGrant,         // a grant whose epoch another grant has, or that did not raise it by one
  kLease,         // granted while another's lease was live
  kTurn,          // a turn number that does not follow
  kCount,         // a number of messages that does not add up
  kDigest,        // a digest that is not that of what was written
  kEntries,       // journal entries that are missing, or were never sent
  kReport,        // a resume or close whose report differs from the session that it found
  kRepeat,        // a repeat answered otherwise than the first time
  kStale,         // read: older than what had been seen when it began
  kEarly,         // read: of a change that had not begun when it returned
  kUnwritten,     // read: what no revision was
  kRefusal,       // refused without a cause
  kEnding,        // what is read at the end is not what its log says
};
std::string_view Name(Rule rule);

struct Complaint {
  Rule rule = Rule::kLost;
  uint32_t session = 0;
  std::string text;  // which operation, and what is wrong with it
};

using Complaints = std::vector<Complaint>;

// One line each, at most the first `most`.
std::string ToText(const Complaints& complaints, size_t most);

}  // namespace holdfast::history

#endif  // HOLDFAST_TESTS_HISTORY_COMPLAINT_H_

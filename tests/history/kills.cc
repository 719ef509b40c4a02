#include "tests/history/kills.h"

#include <algorithm>
#include <map>
#include <utility>

namespace holdfast::history {
namespace {

// A reconnect is none: it finds the lease that its client has.
bool Grants(const Operation& operation) {
  const Asked& asked = operation.asked;
  const Answered& answered = operation.answered;
  const bool method = asked.method == Method::kCreate || asked.method == Method::kResume;
  const bool reconnected = asked.epoch != 0 && answered.epoch == asked.epoch;
  return method && answered.outcome == Outcome::kOk && !reconnected;
}

}  // namespace

bool MetAMutation(const History& history, const Kill& kill) {
  return std::any_of(history.operations.begin(), history.operations.end(),
                     [&](const Operation& operation) {
                       const bool there = !kill.server || *kill.server == operation.server;
                       return there && Mutates(operation.asked.method) &&
                              operation.invoked < kill.at && operation.returned > kill.at;
                     });
}

size_t Unanswered(const History& history) {
  return std::count_if(
      history.operations.begin(), history.operations.end(), [](const Operation& operation) {
        return Mutates(operation.asked.method) && operation.answered.outcome == Outcome::kUnknown;
      });
}

size_t Takeovers(const History& history) {
  std::map<std::pair<uint32_t, uint64_t>, uint32_t> holders;  // by session and epoch
  for (const Operation& operation : history.operations) {
    if (!Grants(operation)) continue;
    holders[{operation.asked.session, operation.answered.epoch}] = operation.client;
  }
  size_t moved = 0;
  auto before = holders.end();
  for (auto now = holders.begin(); now != holders.end(); before = now++) {
    if (before == holders.end() || before->first.first != now->first.first) continue;
    if (before->second != now->second) ++moved;
  }
  return moved;
}

}  // namespace holdfast::history

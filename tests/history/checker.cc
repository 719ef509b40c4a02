#include "tests/history/checker.h"

#include "tests/history/requests.h"
#include "tests/history/session_check.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace holdfast::history {

Complaints Check(const History& history) {
  Complaints complaints;
  // By session.
  std::vector<std::vector<const Operation*>> operations;
  for (const Operation& operation : history.operations) {
    const uint32_t session = operation.asked.session;
    if (session >= operations.size()) operations.resize(size_t{session} + 1);
    operations[session].push_back(&operation);
  }
  for (const Ending& ending : history.endings) {
    if (ending.session >= operations.size()) operations.resize(size_t{ending.session} + 1);
  }
  std::vector<const Ending*> endings(operations.size());
  for (const Ending& ending : history.endings) endings[ending.session] = &ending;
  for (uint32_t session = 0; session < operations.size(); ++session) {
    std::vector<const Operation*>& mine = operations[session];
    if (endings[session] == nullptr) {
      if (mine.empty()) continue;
      complaints.push_back({Rule::kEnding, session, "the session was not read at the end"});
      continue;
    }
    const auto sooner = [](const Operation* a, const Operation* b) {
      return a->invoked < b->invoked;
    };
    if (!std::is_sorted(mine.begin(), mine.end(), sooner)) {
      std::stable_sort(mine.begin(), mine.end(), sooner);
    }
    Requests requests(mine);
    SessionCheck(requests, *endings[session], complaints).Run();
  }
  return complaints;
}

}  // namespace holdfast::history

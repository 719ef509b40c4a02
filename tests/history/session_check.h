// The check of one session.
#ifndef HOLDFAST_TESTS_HISTORY_SESSION_CHECK_H_
#define HOLDFAST_TESTS_HISTORY_SESSION_CHECK_H_

#include "tests/history/complaint.h"
#include "tests/history/history.h"
#include "tests/history/requests.h"
#include "tests/history/timeline.h"

#include "absl/functional/function_ref.h"

#include <cstddef>
#include <string>
#include <vector>

namespace holdfast::history {

// Used once, by one thread.
class SessionCheck final {
 public:
  SessionCheck(Requests& requests, const Ending& ending, Complaints& complaints)
      : requests_(requests),
        ending_(ending),
        complaints_(complaints),
        timeline_(requests, ending, complaints) {}

  void Run();

 private:
  // What an operation can have met: the steps that were certainly there when it began, and those
  // that can have been there when it returned.
  struct Window {
    Step low = 0;
    Step high = 0;
  };
  using Fits = absl::FunctionRef<bool(const State&)>;

  void FindWindows();
  // The step that was there for certain when the operation with this index returned.
  [[nodiscard]] Step ShownBy(size_t index) const;
  // Whether `operation`, answered with OK, says what `request` did; else it found nothing to do.
  [[nodiscard]] bool Shows(const Operation& operation, const Request& request) const;

  void CheckEnding();
  void CheckRequest(const Request& request, const Window& first_sent);
  void CheckOperation(size_t index);
  void CheckRefusal(const Operation& operation, const Window& window);
  // An answer to a request that acted.
  void CheckAct(const Operation& operation, const Request& request);
  void CheckGrant(const Operation& operation, Step step);
  void CheckCommit(const Operation& operation, const State& state);
  void CheckAbandoned(const Operation& operation, const State& before);
  void CheckRepeat(const Operation& operation, const Operation& first);
  // An answer to a request that found nothing to do.
  void CheckAsItWas(const Operation& operation, const Window& window);
  void CheckHolder(const Operation& operation, const Window& window);
  void CheckAppend(const Operation& operation, const Window& window);
  void CheckHead(const Operation& operation, const Window& window);
  void CheckMessages(const Operation& operation, const Window& window);
  void CheckSlot(const Operation& operation, const Window& window);
  // True when the revision answered is one that the operation can have met; else it complains.
  bool CheckWindow(const Operation& operation, const Window& window);
  // Whether a step of the answered revision, of those in the window, fits.
  [[nodiscard]] bool AnyFits(const Operation& operation, const Window& window, Fits fits) const;

  void Complain(Rule rule, const std::string& text);
  void Complain(Rule rule, const Operation& operation, const std::string& text);

  Requests& requests_;
  const Ending& ending_;
  Complaints& complaints_;
  Timeline timeline_;
  std::vector<Window> windows_;  // as requests_.operations()
};

}  // namespace holdfast::history

#endif  // HOLDFAST_TESTS_HISTORY_SESSION_CHECK_H_

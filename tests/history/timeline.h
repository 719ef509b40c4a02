// The states of a session, step by step, derived from its log and its clients' requests.
#ifndef HOLDFAST_TESTS_HISTORY_TIMELINE_H_
#define HOLDFAST_TESTS_HISTORY_TIMELINE_H_

#include "tests/history/complaint.h"
#include "tests/history/history.h"
#include "tests/history/requests.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::history {

// A session behind one step.
struct State {
  uint64_t revision = 0;
  uint64_t epoch = 0;
  bool held = false;
  Lifecycle lifecycle = Lifecycle::kIdle;
  uint64_t turn = 0;  // active
  uint64_t last_turn = 0;
  uint64_t messages = 0;
  Uuid slot;
  int64_t ttl_ns = 0;           // of the current grant
  int64_t alive = 0;            // the lease was renewed at this time or later
  const Request* by = nullptr;  // null for the server's own act
};

// The entries of one turn, by the appends that were sent.
struct TurnEntries {
  uint64_t acknowledged = 0;  // up to here
  uint64_t asked = 0;
};

class Timeline final {
 public:
  // Follows the log of `ending`, and sets the step of each request of `requests`.
  Timeline(Requests& requests, const Ending& ending, Complaints& complaints);

  [[nodiscard]] Step last() const { return states_.size() - 1; }
  [[nodiscard]] const State& At(Step step) const { return states_[step]; }
  // The first and the last step of a revision; two zeros when the session never had it.
  [[nodiscard]] std::pair<Step, Step> OfRevision(uint64_t revision) const;
  // The last step that can have been there at `time`: everything up to it had been sent.
  [[nodiscard]] Step Possible(int64_t time) const;
  // Of the first `messages` messages; null when there never were so many.
  [[nodiscard]] const Digest* DigestOf(uint64_t messages) const;
  [[nodiscard]] TurnEntries EntriesOf(uint64_t turn) const;

 private:
  void Take(Requests& requests, const LogLine& line);
  // The state behind `request`, and what was wrong with doing it.
  State After(const State& before, const Request& request);
  static void ForgetClosed(const State& state, Request& request);
  void AfterGrant(const Request& request, State& state);
  void AfterClose(const Request& request, State& state);
  void CheckHeld(const State& before, const Request& request);
  void CheckTurn(const State& before, const Request& request);
  void CheckExpired(const State& before, const Request& request);
  void Complain(Rule rule, const std::string& text);
  void Complain(Rule rule, const Request& request, const std::string& text);

  const uint32_t session_;
  Complaints& complaints_;
  std::vector<State> states_;
  std::vector<int64_t> earliest_;             // of each step
  std::vector<std::pair<Step, Step>> steps_;  // by revision
  std::vector<Digest> digests_;               // by number of messages
  std::vector<TurnEntries> entries_;          // by turn
};

}  // namespace holdfast::history

#endif  // HOLDFAST_TESTS_HISTORY_TIMELINE_H_

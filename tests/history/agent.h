// Chooses the next request of one client of the traffic, and reads the answers. Has no wire and no
// server, so that a simulation and real traffic behave alike.
//
// It works on one session for a while and then on another. Leases move: it resumes with and without
// force, releases, closes, abandons a held session, and goes on with a token that was fenced.
// It also asks for what must be refused, and repeats requests that were answered.
#ifndef HOLDFAST_TESTS_HISTORY_AGENT_H_
#define HOLDFAST_TESTS_HISTORY_AGENT_H_

#include "tests/history/history.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

namespace holdfast::history {

// For one thread.
class Agent final {
 public:
  // Of the sessions 0 to `sessions` - 1; the same for the same seed.
  Agent(uint32_t sessions, int64_t ttl_ns, uint64_t seed);

  // The next call. Its request id is new, unless the call before had no answer or one that is worth
  // repeating; `items` is as long as the commit has messages, and all zeros.
  Asked Next();
  // How the call that Next gave has ended.
  void Learn(const Answered& answered);

 private:
  // What it believes of one session.
  struct Hold {
    bool exists = false;
    uint64_t epoch = 0;  // of its token; 0: none
    uint64_t revision = 0;
    uint64_t turn = 0;
    uint64_t last_turn = 0;
    uint64_t entry = 0;  // the last of the turn
    uint64_t read = 0;   // messages
  };

  Asked Mutation(Method method);
  Asked Read();
  Asked Resume();
  Asked Begin();
  Asked Append();
  Asked Commit();
  // With a token, between turns; in one.
  Asked Idle();
  Asked InTurn();
  // What is most likely refused.
  Asked Odd();
  void Accept(const Answered& answered);
  void Refused(Cause cause);

  // True in `percent` of 100 cases.
  bool Chance(uint32_t percent) { return random_() % 100 < percent; }
  Hold& hold() { return holds_[current_]; }

  const int64_t ttl_ns_;
  std::mt19937_64 random_;
  std::vector<Hold> holds_;
  uint32_t current_ = 0;
  Asked asked_;
  bool repeat_ = false;  // the next call is asked_ once more
  bool echo_ = false;    // asked_ had been answered before
  bool odd_ = false;     // a refusal of asked_ says nothing about the token
};

}  // namespace holdfast::history

#endif  // HOLDFAST_TESTS_HISTORY_AGENT_H_

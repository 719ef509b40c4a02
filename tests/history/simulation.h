// Histories of a store that does everything right, made without one: many clients at once, answers
// that are lost before and behind the act, calls that act long after their client gave them up.
#ifndef HOLDFAST_TESTS_HISTORY_SIMULATION_H_
#define HOLDFAST_TESTS_HISTORY_SIMULATION_H_

#include "tests/history/history.h"

#include <cstddef>
#include <cstdint>

namespace holdfast::history {

struct SimulationPlan {
  uint32_t clients = 8;
  uint32_t sessions = 4;
  size_t operations = 2000;  // at least so many
  uint64_t seed = 1;
};

// The same for the same plan.
History Simulate(const SimulationPlan& plan);

}  // namespace holdfast::history

#endif  // HOLDFAST_TESTS_HISTORY_SIMULATION_H_

// What calls cost: the rates of contenders with the processor time of each call beside them.
#ifndef HOLDFAST_BENCH_COSTS_H_
#define HOLDFAST_BENCH_COSTS_H_

#include "bench/figures.h"
#include "bench/rounds.h"

#include <string>

namespace holdfast::bench {

// Prints the medians of `results` as figures without a goal: `<name>-per-second`, `-p50-ms`,
// `-p99-ms`, `-cpu-us` and its parts `-client-cpu-us`, `-transport-cpu-us`, `-workers-cpu-us`,
// `-server-cpu-us`, `-database-cpu-us`, as far as there are any. With `echo`, the results of an
// empty call in the same rounds, each time is printed a second time in Echoes: as a multiple of all
// the processor time of such a call (`<name>-cpu-echoes` and so on). A remark has all of it in one
// line.
void PrintCosts(Figures& figures, const std::string& name, const Results& results,
                const Results* echo);

}  // namespace holdfast::bench

#endif  // HOLDFAST_BENCH_COSTS_H_

// Histories with one thing wrong: what the checker must find.
#ifndef HOLDFAST_TESTS_HISTORY_MUTANTS_H_
#define HOLDFAST_TESTS_HISTORY_MUTANTS_H_

#include "tests/history/complaint.h"
#include "tests/history/history.h"

#include <random>
#include <string_view>
#include <vector>

namespace holdfast::history {

// A kind of mutant: an answer, or what is read at the end, differs from what a correct store gives.
struct Mutation {
  std::string_view name;
  Rule rule;  // what must be complained of, whatever else is
  // Changes `history` in one place that `random` chooses. False when it has no such place.
  bool (*apply)(History& history, std::mt19937_64& random);
};

const std::vector<Mutation>& AllMutations();

}  // namespace holdfast::history

#endif  // HOLDFAST_TESTS_HISTORY_MUTANTS_H_

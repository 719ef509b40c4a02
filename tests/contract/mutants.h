// The table of mutants: each breaks one line of what the reference store does.
#ifndef HOLDFAST_TESTS_CONTRACT_MUTANTS_H_
#define HOLDFAST_TESTS_CONTRACT_MUTANTS_H_

#include "tests/contract/mutant_store.h"

#include <string>
#include <string_view>
#include <vector>

namespace holdfast::test {

struct Mutant {
  std::string name;
  Hooks hooks;
};

// By topic; the suite is run against every one of them.
const std::vector<Mutant>& RequestMutants();
const std::vector<Mutant>& GuardMutants();
const std::vector<Mutant>& EffectMutants();
const std::vector<Mutant>& SlotMutants();
const std::vector<Mutant>& ReadMutants();
const std::vector<Mutant>& ListingMutants();
const std::vector<Mutant>& DurabilityMutants();
const std::vector<Mutant>& WatchMutants();
const std::vector<Mutant>& CancelMutants();
const std::vector<Mutant>& UploadMutants();
const std::vector<Mutant>& BoundMutants();
const std::vector<Mutant>& ItemMutants();
const std::vector<Mutant>& RestoreMutants();
const std::vector<Mutant>& RecreationMutants();
const std::vector<Mutant>& CheckpointMutants();

std::vector<Mutant> AllMutants();

// The mutant that HOLDFAST_MUTANT names; nullptr when it is unset.
const Mutant* MutantOfThisRun();

}  // namespace holdfast::test

#endif  // HOLDFAST_TESTS_CONTRACT_MUTANTS_H_

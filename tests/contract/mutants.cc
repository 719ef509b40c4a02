#include "tests/contract/mutants.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace holdfast::test {

std::vector<Mutant> AllMutants() {
  std::vector<Mutant> all;
  for (const auto& mutants : {RequestMutants(), GuardMutants(), EffectMutants(), SlotMutants(),
                              ReadMutants(), ListingMutants(), DurabilityMutants(), WatchMutants(),
                              CancelMutants(), UploadMutants(), BoundMutants(), ItemMutants(),
                              RestoreMutants(), RecreationMutants(), CheckpointMutants()}) {
    all.insert(all.end(), mutants.begin(), mutants.end());
  }
  return all;
}

const Mutant* MutantOfThisRun() {
  static const std::vector<Mutant> kAll = AllMutants();
  const char* const name = std::getenv("HOLDFAST_MUTANT");
  if (name == nullptr) return nullptr;
  for (const Mutant& mutant : kAll) {
    if (mutant.name == name) return &mutant;
  }
  ADD_FAILURE() << "HOLDFAST_MUTANT names no mutant: " << name;
  return nullptr;
}

}  // namespace holdfast::test

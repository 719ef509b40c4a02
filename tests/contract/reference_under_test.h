// The reference store and its decorators, for the table of stores.
#ifndef HOLDFAST_TESTS_CONTRACT_REFERENCE_UNDER_TEST_H_
#define HOLDFAST_TESTS_CONTRACT_REFERENCE_UNDER_TEST_H_

#include "tests/contract/store_under_test.h"

#include <memory>

namespace holdfast::test {

// With the mutant that HOLDFAST_MUTANT names, if it names one.
std::unique_ptr<StoreUnderTest> MakeReferenceUnderTest();
// The same, observed, and through a faulty store that is not armed.
std::unique_ptr<StoreUnderTest> MakeObservedUnderTest();
std::unique_ptr<StoreUnderTest> MakeFaultyUnderTest();

}  // namespace holdfast::test

#endif  // HOLDFAST_TESTS_CONTRACT_REFERENCE_UNDER_TEST_H_

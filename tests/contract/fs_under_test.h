// The files store, for the table of stores.
#ifndef HOLDFAST_TESTS_CONTRACT_FS_UNDER_TEST_H_
#define HOLDFAST_TESTS_CONTRACT_FS_UNDER_TEST_H_

#include "tests/contract/store_under_test.h"

#include <memory>

namespace holdfast::test {

// Over a root of its own in the temporary directory, which goes away with it.
std::unique_ptr<StoreUnderTest> MakeFsUnderTest();
// The same, and every change that may be is committed by CommitMany.
std::unique_ptr<StoreUnderTest> MakeGroupedFsUnderTest();

}  // namespace holdfast::test

#endif  // HOLDFAST_TESTS_CONTRACT_FS_UNDER_TEST_H_

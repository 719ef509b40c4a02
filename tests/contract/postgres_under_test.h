// The PostgreSQL store, for the table of stores.
#ifndef HOLDFAST_TESTS_CONTRACT_POSTGRES_UNDER_TEST_H_
#define HOLDFAST_TESTS_CONTRACT_POSTGRES_UNDER_TEST_H_

#include "tests/contract/store_under_test.h"

#include <memory>

namespace holdfast::test {

// Over a database of its own in the cluster that the tests share, which goes away with it.
std::unique_ptr<StoreUnderTest> MakePostgresUnderTest();
// The same, and every change that may be is committed by CommitMany.
std::unique_ptr<StoreUnderTest> MakeGroupedPostgresUnderTest();

}  // namespace holdfast::test

#endif  // HOLDFAST_TESTS_CONTRACT_POSTGRES_UNDER_TEST_H_

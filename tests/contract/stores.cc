// The stores that the suite runs over: a table of names and makers. A new store adds its own file
// with a StoreUnderTest, and one row here.
#include "tests/contract/fs_under_test.h"
#include "tests/contract/postgres_under_test.h"
#include "tests/contract/reference_under_test.h"
#include "tests/contract/suite.h"

namespace holdfast::test {
namespace {

const StoreFactory kStores[] = {
    {.name = "reference", .make = MakeReferenceUnderTest},
    {.name = "observed", .make = MakeObservedUnderTest},
    {.name = "faulty", .make = MakeFaultyUnderTest},
    {.name = "fs", .make = MakeFsUnderTest},
    {.name = "fs_in_groups", .make = MakeGroupedFsUnderTest},
    {.name = "postgres", .make = MakePostgresUnderTest},
    {.name = "postgres_in_groups", .make = MakeGroupedPostgresUnderTest},
};

INSTANTIATE_TEST_SUITE_P(Stores, Contract, ::testing::ValuesIn(kStores),
                         [](const auto& param) { return param.param.name; });

}  // namespace
}  // namespace holdfast::test

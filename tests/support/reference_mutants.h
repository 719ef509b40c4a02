// One-line behaviour changes of the reference store. The suite must see each of them; a case that
// none of them turns red proves nothing (tests/contract/mutants_test.cc).
#ifndef HOLDFAST_TESTS_SUPPORT_REFERENCE_MUTANTS_H_
#define HOLDFAST_TESTS_SUPPORT_REFERENCE_MUTANTS_H_

#include <cstdint>

namespace holdfast::test {

enum class Mutant : uint8_t {
  kNone,
};

}  // namespace holdfast::test

#endif  // HOLDFAST_TESTS_SUPPORT_REFERENCE_MUTANTS_H_

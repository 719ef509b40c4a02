// Texts that are kept as files and compared whole.
#ifndef HOLDFAST_TESTS_SUPPORT_GOLDEN_H_
#define HOLDFAST_TESTS_SUPPORT_GOLDEN_H_

#include <string>

namespace holdfast::test {

// Expects `actual` to be the text of tests/golden/`name`. With HOLDFAST_UPDATE_GOLDEN set it is
// written there instead, for a person to review.
void ExpectGolden(const std::string& name, const std::string& actual);

// The whole text of a file of the project; empty when there is none.
std::string ReadProjectFile(const std::string& path);

}  // namespace holdfast::test

#endif  // HOLDFAST_TESTS_SUPPORT_GOLDEN_H_

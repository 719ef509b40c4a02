// The page of limits: every bound of the service with its value, who meets it, and what happens
// then.
#ifndef HOLDFAST_TESTS_GOLDEN_LIMITS_PAGE_H_
#define HOLDFAST_TESTS_GOLDEN_LIMITS_PAGE_H_

#include <string>
#include <vector>

namespace holdfast::test {

// The text of docs/limits.md, made from session/limits.h and the configuration's defaults.
std::string LimitsPage();

// The constants of session/limits.h that the page has, by name.
std::vector<std::string> LimitsOnPage();

}  // namespace holdfast::test

#endif  // HOLDFAST_TESTS_GOLDEN_LIMITS_PAGE_H_

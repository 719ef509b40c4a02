// The page of limits: every bound of the service with its value, who meets it, and what happens
// then.
#ifndef HOLDFAST_TESTS_GOLDEN_LIMITS_PAGE_H_
#define HOLDFAST_TESTS_GOLDEN_LIMITS_PAGE_H_

#include <string>
#include <vector>

namespace holdfast::test {

// The text of docs/limits.md, made from the constants of FilesOfLimits and the configuration's
// defaults.
std::string LimitsPage();

// The headers of which every constant is on the page, by their paths in the project.
std::vector<std::string> FilesOfLimits();

// What the page has, by name: a constant, or a key of the configuration.
std::vector<std::string> LimitsOnPage();

}  // namespace holdfast::test

#endif  // HOLDFAST_TESTS_GOLDEN_LIMITS_PAGE_H_

// The two macros of the project: pass an error on, or take the value.
#ifndef HOLDFAST_PLATFORM_STATUS_MACROS_H_
#define HOLDFAST_PLATFORM_STATUS_MACROS_H_

#include "absl/status/status.h"    // IWYU pragma: export
#include "absl/status/statusor.h"  // IWYU pragma: export

#include <utility>

#define HOLDFAST_CONCAT_INNER(a, b) a##b
#define HOLDFAST_CONCAT(a, b) HOLDFAST_CONCAT_INNER(a, b)

// Returns from the function when `expression` is not OK.
#define RETURN_IF_ERROR(expression)                                   \
  if (absl::Status status_of_it = (expression); !status_of_it.ok()) { \
    return status_of_it;                                              \
  }                                                                   \
  static_assert(true, "wants a semicolon")

// NOLINTBEGIN(bugprone-macro-parentheses): a declaration cannot be in parentheses
#define HOLDFAST_ASSIGN_OR_RETURN(result, target, expression) \
  auto result = (expression);                                 \
  if (!(result).ok()) return std::move(result).status();      \
  target = std::move(result).value()
// NOLINTEND(bugprone-macro-parentheses)

// Declares or assigns `target` from a StatusOr, or returns its error.
#define ASSIGN_OR_RETURN(target, expression) \
  HOLDFAST_ASSIGN_OR_RETURN(HOLDFAST_CONCAT(status_or_, __LINE__), target, expression)

#endif  // HOLDFAST_PLATFORM_STATUS_MACROS_H_

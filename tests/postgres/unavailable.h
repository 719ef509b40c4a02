// How PostgreSQL's store explains that it is not available.
#ifndef HOLDFAST_TESTS_POSTGRES_UNAVAILABLE_H_
#define HOLDFAST_TESTS_POSTGRES_UNAVAILABLE_H_

#include "session/refusal.h"

#include "absl/status/status.h"
#include "gtest/gtest.h"

#include <string>

namespace holdfast::testing {

// The message of `status`, which must have the reason STORE_UNAVAILABLE.
inline std::string UnavailableText(const absl::Status& status) {
  EXPECT_TRUE(Is(status, Reason::kStoreUnavailable)) << status;
  return std::string(status.message());
}

}  // namespace holdfast::testing

#endif  // HOLDFAST_TESTS_POSTGRES_UNAVAILABLE_H_

// A store of files whose clock has gone on.
#ifndef HOLDFAST_TESTS_SUPPORT_AGED_STORE_H_
#define HOLDFAST_TESTS_SUPPORT_AGED_STORE_H_

#include "absl/time/time.h"

#include <filesystem>

namespace holdfast::testing {

// Lets `time` pass for the store in `root`, which no server has open: its own clock goes on from
// the latest time that its watermarks have recorded.
void LetTimePass(const std::filesystem::path& root, absl::Duration time);

}  // namespace holdfast::testing

#endif  // HOLDFAST_TESTS_SUPPORT_AGED_STORE_H_

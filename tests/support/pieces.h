// Bytes that lie in several places, as one text.
#ifndef HOLDFAST_TESTS_SUPPORT_PIECES_H_
#define HOLDFAST_TESTS_SUPPORT_PIECES_H_

#include "absl/types/span.h"

#include <string>
#include <string_view>

namespace holdfast::test {

inline std::string Joined(absl::Span<const std::string_view> pieces) {
  std::string joined;
  for (const std::string_view piece : pieces) joined += piece;
  return joined;
}

}  // namespace holdfast::test

#endif  // HOLDFAST_TESTS_SUPPORT_PIECES_H_

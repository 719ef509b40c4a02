// The closed list of refusals as a person at a terminal needs it: what it means, what to do next,
// and whether the same request may simply be sent again.
#ifndef HOLDFAST_CLI_REASONS_H_
#define HOLDFAST_CLI_REASONS_H_

#include <cstdint>
#include <string_view>

namespace holdfast::cli {

// How a refused call may be repeated under its request id.
enum class Repeat : uint8_t {
  kNo,
  kYes,
  kWhenLeaseIsFree,  // only where the user asked to wait for another holder
};

struct Explanation {
  std::string_view reason;
  std::string_view meaning;
  std::string_view next;
  Repeat repeat;
};

// Nothing answered, or not in time: not one of the server's reasons.
inline constexpr std::string_view kUnreachableReason = "UNREACHABLE";

// What answered does not know the call.
inline constexpr std::string_view kNotHoldfastReason = "NOT_HOLDFAST";

// A collection has no item of a key: no refusal, for the server answers which keys are missing.
inline constexpr std::string_view kItemMissingReason = "ITEM_MISSING";

// The explanation of `reason`; of one that is not known here, a general one.
const Explanation& ExplanationOf(std::string_view reason);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLI_REASONS_H_

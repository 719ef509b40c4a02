#include "cli/request_id.h"

#include "absl/strings/str_format.h"

#include <cstdint>
#include <random>

namespace holdfast::cli {
namespace {

constexpr uint64_t kVersionMask = 0xF000;
constexpr uint64_t kVersion4 = 0x4000;
constexpr uint64_t kVariantMask = 0xC000000000000000;
constexpr uint64_t kVariant = 0x8000000000000000;
constexpr uint64_t kLow16 = 0xFFFF;
constexpr uint64_t kLow48 = 0xFFFFFFFFFFFF;

// The machine's entropy, not a seeded generator: two processes must never choose the same id.
uint64_t RandomBits() {
  thread_local std::random_device device;
  return (uint64_t{device()} << 32) | device();
}

}  // namespace

std::string NewRequestId() {
  const uint64_t high = (RandomBits() & ~kVersionMask) | kVersion4;
  const uint64_t low = (RandomBits() & ~kVariantMask) | kVariant;
  return absl::StrFormat("%08x-%04x-%04x-%04x-%012x", high >> 32, (high >> 16) & kLow16,
                         high & kLow16, low >> 48, low & kLow48);
}

}  // namespace holdfast::cli

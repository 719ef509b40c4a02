#include "store-fs/key_filter.h"

#include "store-fs/bounds.h"

#include <algorithm>
#include <bit>
#include <cstddef>

namespace holdfast::fs {
namespace {

constexpr size_t kBitsPerKey = 10;
constexpr int kProbes = 7;  // the best number for ten bits
constexpr size_t kBitsPerByte = 8;
constexpr size_t kLeastBytes = 8;

// The bits of a hash in a filter of so many bits.
template <typename Visit>
bool AllOfBits(uint64_t hash, uint64_t bits, Visit visit) {
  const uint64_t step = std::rotl(hash, 32) | 1;
  for (int probe = 0; probe < kProbes; ++probe) {
    if (!visit(hash % bits)) return false;
    hash += step;
  }
  return true;
}

}  // namespace

// FNV-1a, and the last step of MurmurHash3, without which short keys would share their high bits.
uint64_t HashOfKey(std::string_view key) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : key) {
    hash ^= static_cast<uint8_t>(c);
    hash *= 0x100000001b3;
  }
  hash ^= hash >> 33;
  hash *= 0xff51afd7ed558ccd;
  hash ^= hash >> 33;
  hash *= 0xc4ceb9fe1a85ec53;
  return hash ^ (hash >> 33);
}

KeyFilter KeyFilter::Of(const std::vector<uint64_t>& hashes) {
  const size_t wanted = (hashes.size() * kBitsPerKey + kBitsPerByte - 1) / kBitsPerByte;
  std::string bytes(std::clamp(wanted, kLeastBytes, kRunFilterBytes), '\0');
  for (const uint64_t hash : hashes) {
    AllOfBits(hash, bytes.size() * kBitsPerByte, [&](uint64_t bit) {
      char& byte = bytes[bit / kBitsPerByte];
      byte = static_cast<char>(static_cast<uint8_t>(byte) | (1U << (bit % kBitsPerByte)));
      return true;
    });
  }
  return KeyFilter(std::move(bytes));
}

bool KeyFilter::MayHold(uint64_t hash) const {
  if (bytes_.empty()) return true;
  return AllOfBits(hash, bytes_.size() * kBitsPerByte, [&](uint64_t bit) {
    const auto byte = static_cast<uint8_t>(bytes_[bit / kBitsPerByte]);
    return (byte >> (bit % kBitsPerByte) & 1U) != 0;
  });
}

}  // namespace holdfast::fs

#include "bench/fresh_bytes.h"

#include "session/ids.h"

#include <algorithm>
#include <cstring>
#include <random>

namespace holdfast::bench {

FreshBytes::FreshBytes() {
  std::random_device device;
  state_ = (uint64_t{device()} << 32) | device();
}

// SplitMix64.
uint64_t FreshBytes::Next() {
  uint64_t mixed = state_ += 0x9e3779b97f4a7c15;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
  return mixed ^ (mixed >> 31);
}

std::string FreshBytes::Take(size_t count) {
  std::string bytes(count, '\0');
  for (size_t at = 0; at < count; at += sizeof(uint64_t)) {
    const uint64_t word = Next();
    std::memcpy(bytes.data() + at, &word, std::min(sizeof word, count - at));
  }
  return bytes;
}

std::string FreshBytes::Uuid() { return UuidText(Take(16), 4); }

}  // namespace holdfast::bench

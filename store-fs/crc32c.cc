#include "store-fs/crc32c.h"

#include <array>
#include <cstddef>
#include <cstring>

#ifdef __x86_64__
#include <nmmintrin.h>
#endif

namespace holdfast::fs {
namespace {

constexpr uint32_t kPolynomial = 0x82f63b78;  // reflected

constexpr std::array<uint32_t, 256> MakeTable() {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < table.size(); ++byte) {
    uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? kPolynomial : 0);
    table[byte] = value;
  }
  return table;
}

constexpr std::array<uint32_t, 256> kTable = MakeTable();

uint32_t ByTable(uint32_t crc, std::string_view bytes) {
  for (const char c : bytes) {
    crc = (crc >> 8) ^ kTable[(crc ^ static_cast<uint8_t>(c)) & 0xff];
  }
  return crc;
}

#ifdef __x86_64__
__attribute__((target("sse4.2"))) uint32_t ByInstruction(uint32_t crc, std::string_view bytes) {
  uint64_t wide = crc;
  while (bytes.size() >= sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data(), sizeof word);
    wide = _mm_crc32_u64(wide, word);
    bytes.remove_prefix(sizeof word);
  }
  auto narrow = static_cast<uint32_t>(wide);
  for (const char c : bytes) narrow = _mm_crc32_u8(narrow, static_cast<uint8_t>(c));
  return narrow;
}
#endif

}  // namespace

uint32_t Crc32c(std::string_view bytes, uint32_t before) {
#ifdef __x86_64__
  static const bool kHasInstruction = __builtin_cpu_supports("sse4.2");
  if (kHasInstruction) return ~ByInstruction(~before, bytes);
#endif
  return ~ByTable(~before, bytes);
}

}  // namespace holdfast::fs

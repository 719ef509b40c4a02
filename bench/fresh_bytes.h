// Bytes that occur once: a store that deduplicates or compresses could leave others out.
#ifndef HOLDFAST_BENCH_FRESH_BYTES_H_
#define HOLDFAST_BENCH_FRESH_BYTES_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace holdfast::bench {

inline constexpr size_t kPayload = 8192;  // of one commit, one echo, one write of an opponent

// A fast generator, because making the bytes takes time from the same cores. Used by one thread at
// a time.
class FreshBytes {
 public:
  // Seeded by the machine's entropy.
  FreshBytes();
  // `count` new bytes.
  std::string Take(size_t count);
  // A new random UUID.
  std::string Uuid();

 private:
  uint64_t Next();
  uint64_t state_;
};

}  // namespace holdfast::bench

#endif  // HOLDFAST_BENCH_FRESH_BYTES_H_

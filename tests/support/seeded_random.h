// Randomness that is the same in every run.
#ifndef HOLDFAST_TESTS_SUPPORT_SEEDED_RANDOM_H_
#define HOLDFAST_TESTS_SUPPORT_SEEDED_RANDOM_H_

#include "platform/clock.h"

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>

namespace holdfast::test {

// Any thread may call.
class SeededRandom final : public Random {
 public:
  explicit SeededRandom(uint64_t seed = 1) : engine_(seed) {}

  [[nodiscard]] std::string Bytes(size_t count) override {
    const absl::MutexLock lock(&mutex_);
    std::string bytes(count, '\0');
    for (char& byte : bytes) byte = static_cast<char>(engine_() & 0xff);
    return bytes;
  }

 private:
  absl::Mutex mutex_;
  std::mt19937_64 engine_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::test

#endif  // HOLDFAST_TESTS_SUPPORT_SEEDED_RANDOM_H_

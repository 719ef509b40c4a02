#include "session/clock.h"

#include "absl/time/clock.h"
#include <openssl/rand.h>

#include <cstdlib>
#include <ctime>

namespace holdfast {
namespace {

class MachineClock final : public Clock {
 public:
  [[nodiscard]] absl::Time Wall() const override { return absl::Now(); }
  [[nodiscard]] absl::Duration SinceBoot() const override {
    timespec now{};
    clock_gettime(CLOCK_BOOTTIME, &now);
    return absl::DurationFromTimespec(now);
  }
};

class MachineRandom final : public Random {
 public:
  [[nodiscard]] std::string Bytes(size_t count) override {
    std::string bytes(count, '\0');
    // Without entropy no token is safe: better no server than a guessable one.
    if (RAND_bytes(reinterpret_cast<unsigned char*>(bytes.data()), static_cast<int>(count)) != 1) {
      std::abort();
    }
    return bytes;
  }
};

}  // namespace

const Clock& SystemClock() {
  static const MachineClock kClock;
  return kClock;
}

Random& SystemRandom() {
  static MachineRandom random;
  return random;
}

}  // namespace holdfast

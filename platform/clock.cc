#include "platform/clock.h"

#include "absl/time/clock.h"
#include <openssl/crypto.h>
#include <openssl/rand.h>

#include <array>
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

// Without entropy no token is safe: better no server than a guessable one.
void Draw(char* bytes, size_t count) {
  if (RAND_bytes(reinterpret_cast<unsigned char*>(bytes), static_cast<int>(count)) != 1) {
    std::abort();
  }
}

// Random bytes that one thread has drawn ahead: the generator's own start costs more than 16 bytes.
class Drawn {
 public:
  std::string Take(size_t count) {
    if (left_ < count) {
      Draw(bytes_.data(), bytes_.size());
      left_ = bytes_.size();
    }
    left_ -= count;
    std::string taken(bytes_.data() + left_, count);
    OPENSSL_cleanse(bytes_.data() + left_, count);  // wiped, so that they are not handed out again
    return taken;
  }

 private:
  std::array<char, 1024> bytes_{};
  size_t left_ = 0;
};

class MachineRandom final : public Random {
 public:
  [[nodiscard]] std::string Bytes(size_t count) override {
    thread_local Drawn drawn;
    if (count <= kMostDrawn) return drawn.Take(count);
    std::string bytes(count, '\0');
    Draw(bytes.data(), count);
    return bytes;
  }

 private:
  static constexpr size_t kMostDrawn = 64;
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

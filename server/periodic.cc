#include "server/periodic.h"

#include <cstdint>
#include <utility>

namespace holdfast {

Periodic::Periodic(absl::Duration interval, Random& random, std::function<void()> work)
    : interval_(interval), random_(random), work_(std::move(work)), thread_([this] { Run(); }) {}

Periodic::~Periodic() {
  {
    const absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  thread_.join();
}

absl::Duration Periodic::NextWait() {
  const auto byte = static_cast<uint8_t>(random_.Bytes(1).front());
  return interval_ * (0.9 + 0.2 * byte / 255.0);
}

void Periodic::Run() {
  while (true) {
    const absl::Duration wait = NextWait();
    {
      const absl::MutexLock lock(&mutex_);
      if (mutex_.AwaitWithTimeout(absl::Condition(&stopping_), wait)) return;
    }
    work_();
  }
}

}  // namespace holdfast

#include "store-postgres/pg/waker.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace holdfast::pg {
namespace {

constexpr int kNoSocket = -1;  // poll passes it over

}  // namespace

Waker::Waker() : descriptor_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (descriptor_ < 0) std::abort();
}

Waker::~Waker() { close(descriptor_); }

void Waker::Wake() const {
  constexpr uint64_t kOnce = 1;
  // It cannot fail but by being full, and then everybody is awake.
  [[maybe_unused]] const ssize_t written = write(descriptor_, &kOnce, sizeof kOnce);
}

bool Waker::AwaitInput(int socket, absl::Duration at_most) const {
  constexpr int64_t kLongest = std::numeric_limits<int>::max();
  const int timeout =
      at_most == absl::InfiniteDuration()
          ? -1
          : static_cast<int>(std::min(absl::ToInt64Milliseconds(at_most), kLongest));
  std::array<pollfd, 2> waiting = {{{.fd = socket, .events = POLLIN, .revents = 0},
                                    {.fd = descriptor_, .events = POLLIN, .revents = 0}}};
  // A signal ends the wait early, as if its time had passed.
  const int ready = poll(waiting.data(), waiting.size(), timeout);
  return ready > 0 && waiting[0].revents != 0 && waiting[1].revents == 0;
}

void Waker::Await(absl::Duration at_most) const {
  [[maybe_unused]] const bool input = AwaitInput(kNoSocket, at_most);
}

}  // namespace holdfast::pg

// What libfaketime leaves out: a wait of Abseil's ends at a time of day, which the process reads
// from the clock that libfaketime has moved and which the kernel compares with the one that it has
// not. Preloaded beside it, this moves such times back by $HOLDFAST_CLOCK_OFF seconds, so that a
// process whose clock is wrong waits as long as one on a machine whose clock is.
#include <cstdarg>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <dlfcn.h>
#include <linux/futex.h>
#include <sys/syscall.h>

namespace {

using Syscall = long (*)(long, ...);  // NOLINT(google-runtime-int): as the system declares it

int64_t SecondsOff() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing in the process writes to the environment
  static const char* const kSet = std::getenv("HOLDFAST_CLOCK_OFF");
  static const int64_t kSeconds = kSet == nullptr ? 0 : std::strtoll(kSet, nullptr, 10);
  return kSeconds;
}

}  // namespace

// NOLINTBEGIN(google-runtime-int,readability-identifier-naming): as the system declares it
extern "C" __attribute__((visibility("default"))) long syscall(long number, ...) {
  static const auto kReal = reinterpret_cast<Syscall>(dlsym(RTLD_NEXT, "syscall"));
  va_list arguments;
  va_start(arguments, number);
  const long first = va_arg(arguments, long);
  const long operation = va_arg(arguments, long);
  const long third = va_arg(arguments, long);
  const auto* const until = va_arg(arguments, const timespec*);
  const long fifth = va_arg(arguments, long);
  const long sixth = va_arg(arguments, long);
  va_end(arguments);
  const bool waits_for_a_time_of_day = number == SYS_futex &&
                                       (static_cast<int>(operation) & FUTEX_CLOCK_REALTIME) != 0 &&
                                       until != nullptr;
  if (!waits_for_a_time_of_day) return kReal(number, first, operation, third, until, fifth, sixth);
  timespec moved = *until;
  moved.tv_sec -= SecondsOff();
  return kReal(number, first, operation, third, &moved, fifth, sixth);
}
// NOLINTEND(google-runtime-int,readability-identifier-naming)

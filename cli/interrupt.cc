#include "cli/interrupt.h"

#include <pthread.h>
#include <utility>

namespace holdfast::cli {

Interrupt::Interrupt(std::function<void()> stop) : stop_(std::move(stop)) {
  sigemptyset(&signals_);
  sigaddset(&signals_, SIGINT);
  sigaddset(&signals_, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals_, &before_);
  thread_ = std::thread([this] { Wait(); });
}

Interrupt::~Interrupt() {
  ending_ = true;
  // NOLINTNEXTLINE(bugprone-bad-signal-to-kill-thread): it is blocked, and taken by sigwait alone
  pthread_kill(thread_.native_handle(), SIGTERM);
  thread_.join();
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void Interrupt::Wait() {
  int signal = 0;
  sigwait(&signals_, &signal);
  if (ending_) return;
  came_ = true;
  stop_();
  // The signal by which the destructor ends this thread.
  sigwait(&signals_, &signal);
}

}  // namespace holdfast::cli

#include "server/signals.h"

#include <csignal>
#include <pthread.h>
#include <utility>

namespace holdfast {
namespace {

sigset_t StopSignals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  return set;
}

}  // namespace

void PrepareSignals() {
  std::signal(SIGPIPE, SIG_IGN);
  const sigset_t set = StopSignals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

SignalWatch::SignalWatch(std::function<void()> stop)
    : thread_([stop = std::move(stop)](const std::stop_token& ended) {
        const sigset_t set = StopSignals();
        int signal = 0;
        sigwait(&set, &signal);
        if (!ended.stop_requested()) stop();
      }) {}

SignalWatch::~SignalWatch() {
  thread_.request_stop();
  // Ends the wait; harmless when it has ended, for the signal is blocked and dies with the thread.
  pthread_kill(thread_.native_handle(), SIGINT);
}

}  // namespace holdfast

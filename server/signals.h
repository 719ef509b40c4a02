// SIGTERM and SIGINT as a call on an ordinary thread.
#ifndef HOLDFAST_SERVER_SIGNALS_H_
#define HOLDFAST_SERVER_SIGNALS_H_

#include <functional>
#include <thread>

namespace holdfast {

// Keeps both signals from every thread that is started later, and lets a write to a closed pipe
// fail instead of ending the process. Called first thing in main.
void PrepareSignals();

// Calls `stop` once, on its own thread, when one of the signals arrives.
class SignalWatch {
 public:
  explicit SignalWatch(std::function<void()> stop);
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;
  ~SignalWatch();

 private:
  std::jthread thread_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_SIGNALS_H_

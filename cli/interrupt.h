// Ctrl-C as a request to come to an end, where it is the ordinary way to end a command.
#ifndef HOLDFAST_CLI_INTERRUPT_H_
#define HOLDFAST_CLI_INTERRUPT_H_

#include <atomic>
#include <csignal>
#include <functional>
#include <thread>

namespace holdfast::cli {

// While it lives, SIGINT and SIGTERM call `stop`, once, on a thread of its own. Made before the
// process has other threads, which inherit that they are not interrupted.
class Interrupt final {
 public:
  explicit Interrupt(std::function<void()> stop);
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;
  ~Interrupt();

  // True once there was a signal. Any thread may call.
  [[nodiscard]] bool came() const { return came_; }

 private:
  void Wait();

  const std::function<void()> stop_;
  sigset_t signals_{};
  sigset_t before_{};
  std::atomic<bool> ending_ = false;
  std::atomic<bool> came_ = false;
  std::thread thread_;
};

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLI_INTERRUPT_H_

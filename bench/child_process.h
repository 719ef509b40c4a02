// Another process: started, asked for its first line, and ended by its id.
#ifndef HOLDFAST_BENCH_CHILD_PROCESS_H_
#define HOLDFAST_BENCH_CHILD_PROCESS_H_

#include "absl/status/statusor.h"

#include <memory>
#include <string>
#include <sys/types.h>
#include <vector>

namespace holdfast::bench {

// Used by one thread. It dies with the process that started it.
class ChildProcess {
 public:
  // Runs `command` with its errors appended to the file `log`, and waits for the first line of its
  // standard output. UNAVAILABLE when it ends without one.
  static absl::StatusOr<std::unique_ptr<ChildProcess>> Start(
      const std::vector<std::string>& command, const std::string& log);

  // Takes over a process and the read end of its standard output; see Start.
  ChildProcess(pid_t pid, int output) : pid_(pid), output_(output) {}
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  // Kills it if it is still there.
  ~ChildProcess();

  [[nodiscard]] const std::string& first_line() const { return first_line_; }
  // Processor time it has taken so far, in seconds.
  [[nodiscard]] double ProcessorSeconds() const;
  // Memory that is its own now, in MiB.
  [[nodiscard]] double ResidentMiB() const;
  // Sends `signal` and waits for the end.
  void End(int signal);

 private:
  [[nodiscard]] bool ReadFirstLine();

  pid_t pid_;
  int output_;
  std::string first_line_;
};

}  // namespace holdfast::bench

#endif  // HOLDFAST_BENCH_CHILD_PROCESS_H_

// Another process: started, asked for its first line, and ended by its id.
#ifndef HOLDFAST_BENCH_CHILD_PROCESS_H_
#define HOLDFAST_BENCH_CHILD_PROCESS_H_

#include "absl/status/statusor.h"

#include <memory>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace holdfast::bench {

// Processor cores, by the system's numbers.
using Cores = std::vector<size_t>;

// Those that this thread may use.
Cores CoresOfThisThread();
// From now on this thread, and those it starts, use `cores` alone. UNAVAILABLE when they cannot.
absl::Status UseCores(const Cores& cores);

// Used by one thread. It dies with the process that started it.
class ChildProcess {
 public:
  // Runs `command` with its errors appended to the file `log`, and waits for the first line of its
  // standard output. It runs on `cores` alone, where any are given. UNAVAILABLE when it ends
  // without one.
  static absl::StatusOr<std::unique_ptr<ChildProcess>> Start(
      const std::vector<std::string>& command, const std::string& log, const Cores& cores = {});

  // The same without waiting: for a program that says nothing. first_line() stays empty.
  static absl::StatusOr<std::unique_ptr<ChildProcess>> Launch(
      const std::vector<std::string>& command, const std::string& log, const Cores& cores = {});

  // Takes over a process, the write end of its standard input and the read end of its standard
  // output; see Start.
  ChildProcess(pid_t pid, int input, int output) : pid_(pid), input_(input), output_(output) {}
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  // Kills it if it is still there.
  ~ChildProcess();

  [[nodiscard]] const std::string& first_line() const { return first_line_; }
  // What it writes to its standard output from now on, until it ends; then waits for its end.
  // UNAVAILABLE when that was no success.
  absl::StatusOr<std::string> ReadToEnd();
  // Writes `line` to its standard input and answers the next line of its standard output.
  // UNAVAILABLE when it ends instead.
  absl::StatusOr<std::string> Ask(const std::string& line);
  // Processor time it has taken so far, in seconds.
  [[nodiscard]] double ProcessorSeconds() const;
  // Memory that is its own now, in MiB.
  [[nodiscard]] double ResidentMiB() const;
  // Sends `signal` and waits for the end.
  void End(int signal);
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  // Nothing when it has ended.
  std::optional<std::string> ReadLine();

  pid_t pid_;
  int input_;
  int output_;
  std::string first_line_;
};

}  // namespace holdfast::bench

#endif  // HOLDFAST_BENCH_CHILD_PROCESS_H_

// Another program, started, signalled and waited for by a test.
#ifndef HOLDFAST_TESTS_SUPPORT_CHILD_PROCESS_H_
#define HOLDFAST_TESTS_SUPPORT_CHILD_PROCESS_H_

#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace holdfast::testing {

// The program `name` of this build.
std::string Program(const std::string& name);

// How a process ended.
struct Ending {
  int exit_code = -1;  // -1 when a signal ended it
  int signal = 0;
};

// Kills and reaps the process when it goes away. For one thread.
class ChildProcess final {
 public:
  // Starts `arguments`, the program's path first; its output is added to the two files, which may
  // be one. The test fails when it cannot be started.
  ChildProcess(const std::vector<std::string>& arguments, const std::string& out_file,
               const std::string& err_file);
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess();

  [[nodiscard]] pid_t pid() const { return pid_; }
  void Signal(int signal) const;
  // True while the process has not ended.
  bool Running();
  // Waits for the end.
  Ending Wait();

 private:
  pid_t pid_ = -1;
  std::optional<Ending> ending_;
};

// Runs `arguments` to the end; the outputs go to the files.
Ending RunToEnd(const std::vector<std::string>& arguments, const std::string& out_file,
                const std::string& err_file);

// A file's whole text; empty when there is none.
std::string ReadText(const std::string& file);

}  // namespace holdfast::testing

#endif  // HOLDFAST_TESTS_SUPPORT_CHILD_PROCESS_H_

#include "bench/child_process.h"

#include "bench/processor_time.h"
#include "platform/status_macros.h"

#include "absl/status/status.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace holdfast::bench {
namespace {

constexpr int kNotExecuted = 127;

struct Streams {
  int input;
  int output;
  int errors;
};

cpu_set_t SetOf(const Cores& cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const size_t core : cores) CPU_SET(core, &set);
  return set;
}

[[noreturn]] void Become(char* const* arguments, const Streams& streams, const cpu_set_t* cores) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (cores != nullptr && sched_setaffinity(0, sizeof *cores, cores) != 0) _exit(kNotExecuted);
  dup2(streams.input, STDIN_FILENO);
  dup2(streams.output, STDOUT_FILENO);
  dup2(streams.errors, STDERR_FILENO);
  execv(arguments[0], arguments);
  _exit(kNotExecuted);
}

}  // namespace

Cores CoresOfThisThread() {
  cpu_set_t set;
  Cores cores;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cores;
  for (size_t core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  }
  return cores;
}

absl::Status UseCores(const Cores& cores) {
  const cpu_set_t set = SetOf(cores);
  if (sched_setaffinity(0, sizeof set, &set) == 0) return absl::OkStatus();
  return absl::UnavailableError("cannot keep to some of the cores");
}

absl::StatusOr<std::unique_ptr<ChildProcess>> ChildProcess::Start(
    const std::vector<std::string>& command, const std::string& log, const Cores& cores) {
  ASSIGN_OR_RETURN(auto child, Launch(command, log, cores));
  if (std::optional<std::string> line = child->ReadLine()) {
    child->first_line_ = *std::move(line);
    return child;
  }
  return absl::UnavailableError(command.front() + " did not start: see " + log);
}

absl::StatusOr<std::unique_ptr<ChildProcess>> ChildProcess::Launch(
    const std::vector<std::string>& command, const std::string& log, const Cores& cores) {
  std::vector<std::string> words = command;
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  std::array<int, 2> input{};
  std::array<int, 2> output{};
  const int errors = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (errors < 0 || pipe2(input.data(), O_CLOEXEC) != 0 || pipe2(output.data(), O_CLOEXEC) != 0) {
    return absl::UnavailableError("cannot open " + log);
  }
  const cpu_set_t set = SetOf(cores);
  const pid_t pid = fork();
  if (pid == 0) {
    Become(arguments.data(), {input[0], output[1], errors}, cores.empty() ? nullptr : &set);
  }
  close(errors);
  close(input[0]);
  close(output[1]);
  if (pid < 0) return absl::UnavailableError("cannot fork");
  return std::make_unique<ChildProcess>(pid, input[1], output[0]);
}

absl::StatusOr<std::string> ChildProcess::ReadToEnd() {
  constexpr size_t kBlock = 4096;
  std::string text;
  std::array<char, kBlock> block{};
  for (;;) {
    const ssize_t got = read(output_, block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(block.data(), static_cast<size_t>(got));
  }
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return text;
  return absl::UnavailableError("a program failed: " + text);
}

std::optional<std::string> ChildProcess::ReadLine() {
  std::string line;
  for (;;) {
    char letter = 0;
    const ssize_t got = read(output_, &letter, 1);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::nullopt;
    if (letter == '\n') return line;
    line.push_back(letter);
  }
}

absl::StatusOr<std::string> ChildProcess::Ask(const std::string& line) {
  const std::string text = line + "\n";
  if (write(input_, text.data(), text.size()) == static_cast<ssize_t>(text.size())) {
    if (std::optional<std::string> answer = ReadLine()) return *std::move(answer);
  }
  return absl::UnavailableError("a program ended when it was asked: " + line);
}

ChildProcess::~ChildProcess() {
  End(SIGKILL);
  close(input_);
  close(output_);
}

double ChildProcess::ProcessorSeconds() const { return ProcessorSecondsOf(pid_); }

double ChildProcess::ResidentMiB() const {
  constexpr double kKiBPerMiB = 1024;
  std::ifstream file("/proc/" + std::to_string(pid_) + "/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("RssAnon:"))
      return std::stod(line.substr(line.find(':') + 1)) / kKiBPerMiB;
  }
  return 0;
}

void ChildProcess::End(int signal) {
  if (pid_ <= 0) return;
  kill(pid_, signal);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

}  // namespace holdfast::bench

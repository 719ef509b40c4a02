#include "tests/support/child_process.h"

#include "gtest/gtest.h"

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <spawn.h>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

namespace holdfast::testing {
namespace {

constexpr int kOutputFlags = O_WRONLY | O_CREAT | O_APPEND;
constexpr mode_t kOutputMode = 0600;

Ending EndingOf(int status) {
  if (WIFEXITED(status)) return {.exit_code = WEXITSTATUS(status)};
  return {.signal = WTERMSIG(status)};
}

}  // namespace

std::string Program(const std::string& name) {
  const char* folder = std::getenv("HOLDFAST_BIN_DIR");
  return std::string(folder == nullptr ? "build/bin" : folder) + "/" + name;
}

ChildProcess::ChildProcess(const std::vector<std::string>& arguments, const std::string& out_file,
                           const std::string& err_file) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out_file.c_str(), kOutputFlags,
                                   kOutputMode);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err_file.c_str(), kOutputFlags,
                                   kOutputMode);
  std::vector<std::string> copies = arguments;
  std::vector<char*> words;
  for (std::string& word : copies) words.push_back(word.data());
  words.push_back(nullptr);
  const int failed = posix_spawn(&pid_, words[0], &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  EXPECT_EQ(failed, 0) << arguments[0] << ": " << std::strerror(failed);
  if (failed != 0) ending_ = Ending();
}

ChildProcess::~ChildProcess() {
  if (ending_) return;
  Signal(SIGKILL);
  Wait();
}

void ChildProcess::Signal(int signal) const {
  if (!ending_) kill(pid_, signal);
}

bool ChildProcess::Running() {
  int status = 0;
  if (!ending_ && waitpid(pid_, &status, WNOHANG) == pid_) ending_ = EndingOf(status);
  return !ending_;
}

Ending ChildProcess::Wait() {
  int status = 0;
  if (!ending_ && waitpid(pid_, &status, 0) == pid_) ending_ = EndingOf(status);
  return ending_.value_or(Ending());
}

Ending RunToEnd(const std::vector<std::string>& arguments, const std::string& out_file,
                const std::string& err_file) {
  return ChildProcess(arguments, out_file, err_file).Wait();
}

std::string ReadText(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace holdfast::testing

// The program itself, as a process: its flags, its life over files, its end.
#include "server/healthcheck.h"
#include "server/version.h"
#include "tests/rpc/served.h"
#include "tests/support/channel.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace holdfast::test {
namespace {

// A child process whose standard output and error can be read.
class Child {
 public:
  Child(const std::vector<std::string>& arguments, const std::string& home) {
    std::array<int, 2> out{};
    std::array<int, 2> err{};
    EXPECT_EQ(pipe2(out.data(), O_CLOEXEC), 0);
    EXPECT_EQ(pipe2(err.data(), O_CLOEXEC), 0);
    pid_ = fork();
    if (pid_ == 0) Exec(arguments, home, out[1], err[1]);
    close(out[1]);
    close(err[1]);
    out_ = out[0];
    err_ = err[0];
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      Wait();
    }
    close(out_);
    close(err_);
  }

  // The next line of standard output.
  std::string Line() {
    std::string line;
    char byte = 0;
    while (read(out_, &byte, 1) == 1 && byte != '\n') line += byte;
    return line;
  }
  std::string Errors() { return Rest(err_); }
  std::string Output() { return Rest(out_); }
  // Nothing happens once the child has ended: a signal to pid -1 would reach every process.
  void Signal(int signal) const {
    if (pid_ > 0) kill(pid_, signal);
  }

  // Waits for the end; the exit code, or minus the signal.
  int Wait() {
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

 private:
  [[noreturn]] static void Exec(const std::vector<std::string>& arguments, const std::string& home,
                                int out, int err) {
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    const char* bin = std::getenv("HOLDFAST_BIN_DIR");
    std::string program = std::string(bin == nullptr ? "build/bin" : bin) + "/holdfastd";
    std::string home_variable = "HOME=" + home;
    std::vector<char*> argv = {program.data()};
    for (const std::string& argument : arguments) {
      argv.push_back(const_cast<char*>(argument.c_str()));
    }
    argv.push_back(nullptr);
    // A sanitizer's build needs its options as its parent does.
    const char* options = std::getenv("TSAN_OPTIONS");
    std::string tsan = "TSAN_OPTIONS=" + std::string(options == nullptr ? "" : options);
    std::array<char*, 3> environment = {home_variable.data(), tsan.data(), nullptr};
    execve(program.c_str(), argv.data(), environment.data());
    _exit(127);
  }
  static std::string Rest(int file) {
    std::string text;
    std::array<char, 4096> buffer{};
    ssize_t got = 0;
    while ((got = read(file, buffer.data(), buffer.size())) > 0) text.append(buffer.data(), got);
    return text;
  }

  pid_t pid_ = -1;
  int out_ = -1;
  int err_ = -1;
};

class Process : public ::testing::Test {
 protected:
  Process() {
    std::string pattern = ::testing::TempDir() + "holdfastd_XXXXXX";
    home_ = mkdtemp(pattern.data());
    std::ofstream(ConfigFile()) << "server: {address: \"127.0.0.1:0\"}\n";
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process() override { std::filesystem::remove_all(home_); }

  [[nodiscard]] std::string ConfigFile() const { return home_ + "/config.yaml"; }

  // The value of `name` in a ready line.
  static std::string ValueOf(const std::string& line, const std::string& name) {
    const size_t at = line.find(" " + name + "=");
    if (at == std::string::npos) return "";
    const size_t begin = at + name.size() + 2;
    return line.substr(begin, line.find(' ', begin) - begin);
  }

  [[nodiscard]] const std::string& home() const { return home_; }

 private:
  std::string home_;
};

TEST_F(Process, ServesOverFilesAndFindsThemAgain) {
  std::string store_id;
  pb::CreateSessionResponse created;
  {
    Child server({"--config", ConfigFile()}, home());
    const std::string ready = server.Line();
    const std::string address = ValueOf(ready, "address");
    store_id = ValueOf(ready, "store_id");
    EXPECT_EQ(ValueOf(ready, "kind"), "fs") << ready;
    EXPECT_TRUE(std::filesystem::exists(home() + "/.local/state/holdfast/STORE"));
    EXPECT_TRUE(AskHealth(address).ok());
    Child asked({"healthcheck", "--address", address}, home());
    EXPECT_EQ(asked.Wait(), 0);

    const auto stub = pb::SessionService::NewStub(testing::Connected(address));
    grpc::ClientContext context;
    ASSERT_TRUE(stub->CreateSession(&context, CreateRequest("kept"), &created).ok());
    Child second({"--config", ConfigFile()}, home());
    EXPECT_EQ(second.Wait(), 1) << "two servers on one root";
    EXPECT_NE(second.Errors().find("store local (fs"), std::string::npos);
    server.Signal(SIGTERM);
    EXPECT_EQ(server.Wait(), 0);
  }
  Child server({"--config", ConfigFile()}, home());
  const std::string ready = server.Line();
  EXPECT_EQ(ValueOf(ready, "store_id"), store_id);
  const auto stub = pb::SessionService::NewStub(testing::Connected(ValueOf(ready, "address")));
  grpc::ClientContext context;
  pb::BeginTurnResponse begun;
  const grpc::Status status =
      stub->BeginTurn(&context, BeginRequest("kept", created.lease_token()), &begun);
  EXPECT_TRUE(status.ok()) << status.error_message() << ": the stop touched the lease";
  server.Signal(SIGINT);
  EXPECT_EQ(server.Wait(), 0);
}

TEST_F(Process, APortThatIsTakenIsSaid) {
  Child server({"--config", ConfigFile()}, home());
  const std::string address = ValueOf(server.Line(), "address");
  std::ofstream(ConfigFile()) << "server: {address: \"" << address << "\"}\n"
                              << "stores: [{name: b, active: true, root: " << home() << "/b}]\n";
  Child second({"--config", ConfigFile()}, home());
  EXPECT_EQ(second.Wait(), 1);
  EXPECT_NE(second.Errors().find("server.address: " + address + " cannot be served"),
            std::string::npos);
}

TEST_F(Process, ASocketFileIsServedToItsUserAloneAndByOneServer) {
  const std::string path = home() + "/server.sock";
  const std::string address = "unix:" + path;
  const auto configure = [&](const std::string& store) {
    std::ofstream(ConfigFile()) << "server: {address: \"" << address << "\"}\n"
                                << "stores: [{name: b, active: true, root: " << home() << "/"
                                << store << "}]\n";
  };
  configure("a");
  Child killed({"--config", ConfigFile()}, home());
  EXPECT_EQ(ValueOf(killed.Line(), "address"), address);
  struct stat file {};
  ASSERT_EQ(stat(path.c_str(), &file), 0);
  EXPECT_TRUE(S_ISSOCK(file.st_mode));
  EXPECT_EQ(file.st_mode & 0777, 0600U);
  EXPECT_EQ(AskHealth(address), absl::OkStatus());

  configure("b");
  Child second({"--config", ConfigFile()}, home());
  EXPECT_EQ(second.Wait(), 1);
  EXPECT_NE(second.Errors().find(address + " cannot be served: another server serves there"),
            std::string::npos);
  EXPECT_EQ(AskHealth(address), absl::OkStatus()) << "it was taken away";

  killed.Signal(SIGKILL);
  killed.Wait();
  Child third({"--config", ConfigFile()}, home());
  EXPECT_EQ(ValueOf(third.Line(), "address"), address) << "what a dead server left is in the way";
  EXPECT_EQ(AskHealth(address), absl::OkStatus());
  third.Signal(SIGTERM);
  EXPECT_EQ(third.Wait(), 0);
  EXPECT_NE(stat(path.c_str(), &file), 0) << "the file stays behind";
}

TEST_F(Process, ALimitOfOpenFilesThatIsTooLowIsSaid) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit low{.rlim_cur = 100, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  Child server({"--config", ConfigFile()}, home());
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(server.Wait(), 1);
  EXPECT_NE(server.Errors().find("the process may have 100 files open and the store needs 768"),
            std::string::npos);
}

TEST_F(Process, FlagsThatServeNothing) {
  Child version({"--version"}, home());
  EXPECT_EQ(version.Wait(), 0);
  EXPECT_EQ(version.Line(), "holdfastd " + std::string(kVersion));

  Child print({"--print-config"}, home());
  EXPECT_EQ(print.Wait(), 0);
  std::ofstream(ConfigFile()) << print.Output();
  Child check({"--check-config", "--config", ConfigFile()}, home());
  EXPECT_EQ(check.Wait(), 0);

  std::ofstream(ConfigFile()) << "servers: {}\nserver: {workers: 0}\n";
  Child refused({"--check-config", "--config", ConfigFile()}, home());
  EXPECT_EQ(refused.Wait(), 1);
  EXPECT_EQ(refused.Errors(),
            "holdfastd: the configuration is refused:\n"
            "line 1: servers: unknown key\n"
            "server.workers: must be between 1 and 1024\n");

  Child unknown({"--nothing"}, home());
  EXPECT_EQ(unknown.Wait(), 2);
  Child nobody({"healthcheck", "--address", "127.0.0.1:1"}, home());
  EXPECT_EQ(nobody.Wait(), 1);
}

}  // namespace
}  // namespace holdfast::test

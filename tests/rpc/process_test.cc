// The program itself, as a process: its flags, its life over files, its end.
#include "holdfast/version.h"
#include "server/healthcheck.h"
#include "session/saboteur.h"
#include "tests/rpc/served.h"
#include "tests/support/channel.h"
#include "tests/support/child_process.h"

#include "absl/strings/str_split.h"
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

constexpr uid_t kSomeUser = 65534;  // has no right that root has

// What a child is given before it becomes the program.
struct Restrictions {
  std::vector<std::pair<int, rlimit>> resources;
  uid_t user = geteuid();
};

// A child process whose standard output and error can be read.
class Child {
 public:
  Child(const std::vector<std::string>& arguments, const std::string& home,
        const Restrictions& restrictions = {}) {
    std::array<int, 2> out{};
    std::array<int, 2> err{};
    EXPECT_EQ(pipe2(out.data(), O_CLOEXEC), 0);
    EXPECT_EQ(pipe2(err.data(), O_CLOEXEC), 0);
    pid_ = fork();
    if (pid_ == 0) {
      // Opened with the test's rights: another user may not reach the directory of a checkout.
      const std::string path = Program();
      const int program = open(path.c_str(), O_RDONLY | O_CLOEXEC);
      Restrict(restrictions);
      Exec(program, arguments, home, out[1], err[1]);
    }
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
  [[nodiscard]] pid_t pid() const { return pid_; }
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
  static void Restrict(const Restrictions& restrictions) {
    for (const auto& [resource, limit] : restrictions.resources) {
      if (setrlimit(static_cast<__rlimit_resource_t>(resource), &limit) != 0) _exit(126);
    }
    if (restrictions.user != geteuid() && setuid(restrictions.user) != 0) _exit(125);
  }
  static std::string Program() {
    const char* bin = std::getenv("HOLDFAST_BIN_DIR");
    return std::string(bin == nullptr ? "build/bin" : bin) + "/holdfastd";
  }
  static std::string SameVariable(const std::string& name) {
    const char* value = std::getenv(name.c_str());
    return name + "=" + (value == nullptr ? "" : value);
  }
  [[noreturn]] static void Exec(int program, const std::vector<std::string>& arguments,
                                const std::string& home, int out, int err) {
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    std::string name = "holdfastd";
    std::string home_variable = "HOME=" + home;
    std::vector<char*> argv = {name.data()};
    for (const std::string& argument : arguments) {
      argv.push_back(const_cast<char*>(argument.c_str()));
    }
    argv.push_back(nullptr);
    // A sanitizer's build needs its options as its parent does.
    std::string asan = SameVariable("ASAN_OPTIONS");
    std::string tsan = SameVariable("TSAN_OPTIONS");
    std::vector<char*> environment = {home_variable.data(), asan.data(), tsan.data(), nullptr};
    fexecve(program, argv.data(), environment.data());
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

  // The problems in lines of a log, each of which must be an error with this message.
  static std::vector<std::string> Problems(const std::string& log, const std::string& message) {
    std::vector<std::string> problems;
    const std::vector<std::string> lines = absl::StrSplit(log, '\n', absl::SkipEmpty());
    for (const std::string& text : lines) {
      const auto line = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
      EXPECT_TRUE(line.is_object()) << text;
      if (!line.is_object()) continue;
      EXPECT_EQ(line.value("level", ""), "error") << text;
      EXPECT_EQ(line.value("message", ""), message) << text;
      problems.push_back(line.value("problem", ""));
    }
    return problems;
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
    EXPECT_TRUE(AskHealth({.address = address}).ok());
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
  EXPECT_EQ(AskHealth({.address = address}), absl::OkStatus());

  configure("b");
  Child second({"--config", ConfigFile()}, home());
  EXPECT_EQ(second.Wait(), 1);
  EXPECT_NE(second.Errors().find(address + " cannot be served: another server serves there"),
            std::string::npos);
  EXPECT_EQ(AskHealth({.address = address}), absl::OkStatus()) << "it was taken away";

  killed.Signal(SIGKILL);
  killed.Wait();
  Child third({"--config", ConfigFile()}, home());
  EXPECT_EQ(ValueOf(third.Line(), "address"), address) << "what a dead server left is in the way";
  EXPECT_EQ(AskHealth({.address = address}), absl::OkStatus());
  third.Signal(SIGTERM);
  EXPECT_EQ(third.Wait(), 0);
  EXPECT_NE(stat(path.c_str(), &file), 0) << "the file stays behind";
}

// Others must not connect in the moment before its mode is set.
TEST_F(Process, ASocketFileIsItsUsersAloneFromItsFirstMoment) {
  const std::string path = home() + "/server.sock";
  std::ofstream(ConfigFile()) << "server: {address: \"unix:" << path << "\"}\n";
  for (int round = 0; round < 5; ++round) {
    Child server({"--config", ConfigFile()}, home());
    struct stat file {};
    while (lstat(path.c_str(), &file) != 0) ASSERT_EQ(kill(server.pid(), 0), 0);
    EXPECT_EQ(file.st_mode & 0777, 0600U);
    ASSERT_NE(server.Line(), "");
    server.Signal(SIGTERM);
    EXPECT_EQ(server.Wait(), 0);
  }
}

TEST_F(Process, ASocketFileThatOthersCouldReplaceIsRefused) {
  const std::string folder = home() + "/run";
  const std::string path = folder + "/server.sock";
  std::ofstream(ConfigFile()) << "server: {address: \"unix:" << path << "\"}\n";
  const auto refusal = [&] {
    Child server({"--config", ConfigFile()}, home());
    EXPECT_EQ(server.Wait(), 1);
    return server.Errors();
  };
  std::filesystem::create_directory(folder);
  ASSERT_EQ(chmod(folder.c_str(), 0770), 0);
  EXPECT_NE(refusal().find(folder + " may be written by other users"), std::string::npos);
  if (geteuid() == 0) {
    ASSERT_EQ(chmod(folder.c_str(), 0700), 0);
    ASSERT_EQ(chown(folder.c_str(), kSomeUser, static_cast<gid_t>(-1)), 0);
    EXPECT_NE(refusal().find(folder + " belongs to another user"), std::string::npos);
    ASSERT_EQ(chown(folder.c_str(), geteuid(), static_cast<gid_t>(-1)), 0);
  }
  ASSERT_EQ(chmod(folder.c_str(), 0700), 0);
  std::ofstream(home() + "/victim") << "precious";
  std::filesystem::create_symlink(home() + "/victim", path + ".lock");
  EXPECT_NE(refusal().find(path + ".lock: is a symbolic link: remove it"), std::string::npos);
  std::filesystem::remove(path + ".lock");
  std::ofstream(path) << "no socket";
  EXPECT_NE(refusal().find("there is a file that is no socket: remove it"), std::string::npos);
  EXPECT_TRUE(std::filesystem::exists(path));
  std::filesystem::remove(path);

  ASSERT_EQ(chmod(folder.c_str(), 01777), 0) << "sticky: others can take a path that is free";
  EXPECT_NE(refusal().find(folder + " may be written by other users"), std::string::npos);
  if (geteuid() != 0) return;
  ASSERT_EQ(chmod(folder.c_str(), 0755), 0) << "of root: no other user can write there";
  Child server({"--config", ConfigFile()}, home());
  EXPECT_EQ(ValueOf(server.Line(), "address"), "unix:" + path);
}

TEST_F(Process, ATestBuildServesThisMachineAlone) {
  if (!kTestBuild) GTEST_SKIP() << "this build is none";
  std::ofstream(ConfigFile()) << "server: {address: \"0.0.0.0:0\", insecure: true}\n";
  Child server({"--config", ConfigFile()}, home());
  ASSERT_EQ(server.Line(), "") << "it serves";
  EXPECT_EQ(server.Wait(), 1);
  EXPECT_NE(server.Errors().find("server.address: this is a test build"), std::string::npos);
}

TEST_F(Process, ALimitOfOpenFilesThatIsTooLowIsSaid) {
  const rlimit low{.rlim_cur = 100, .rlim_max = 800};
  Child server({"--config", ConfigFile()}, home(), {.resources = {{RLIMIT_NOFILE, low}}});
  EXPECT_EQ(server.Wait(), 1);
  EXPECT_EQ(Problems(server.Errors(), "the start is refused"),
            std::vector<std::string>{
                "the process may have 800 files open and needs 4864: server.connections 4096, the "
                "stores 512, others 256; raise the hard limit (ulimit -Hn, LimitNOFILE) or lower "
                "server.connections"});
}

TEST_F(Process, TheSoftLimitOfOpenFilesIsRaised) {
  std::ofstream(ConfigFile()) << "server: {address: \"127.0.0.1:0\", connections: 20}\n";
  const rlimit low{.rlim_cur = 100, .rlim_max = 800};
  Child server({"--config", ConfigFile()}, home(), {.resources = {{RLIMIT_NOFILE, low}}});
  ASSERT_NE(server.Line(), "");
  rlimit raised{};
  ASSERT_EQ(prlimit(server.pid(), RLIMIT_NOFILE, nullptr, &raised), 0);
  EXPECT_EQ(raised.rlim_cur, 800);
}

// A core dump, or a debugger of the same user, would show tokens.
TEST_F(Process, ItsMemoryIsShownOnlyWhereThatIsWanted) {
  for (const bool wanted : {false, true}) {
    std::ofstream(ConfigFile()) << "server: {address: \"127.0.0.1:0\", core_dumps: "
                                << (wanted ? "true" : "false") << "}\n";
    const rlimit some{.rlim_cur = 4096, .rlim_max = 4096};
    const uid_t user = geteuid() == 0 ? kSomeUser : geteuid();
    ASSERT_EQ(chown(home().c_str(), user, static_cast<gid_t>(-1)), 0);
    Child server({"--config", ConfigFile()}, home(),
                 {.resources = {{RLIMIT_CORE, some}}, .user = user});
    ASSERT_NE(server.Line(), "") << server.Errors();
    EXPECT_THAT(holdfast::testing::ReadText("/proc/" + std::to_string(server.pid()) + "/limits"),
                ::testing::ContainsRegex(wanted ? "Max core file size +4096 +4096 "
                                                : "Max core file size +0 +0 "));
    // The kernel gives what is below /proc/PID to root where the process may not be looked into.
    struct stat files {};
    ASSERT_EQ(stat(("/proc/" + std::to_string(server.pid()) + "/environ").c_str(), &files), 0);
    EXPECT_EQ(files.st_uid != 0, wanted);
  }
}

TEST_F(Process, FlagsThatServeNothing) {
  Child version({"--version"}, home());
  EXPECT_EQ(version.Wait(), 0);
  EXPECT_THAT(version.Line(), ::testing::MatchesRegex("holdfastd " + std::string(kVersion) +
                                                      "([+][0-9a-f]{12}(-dirty)?)?" +
                                                      (kTestBuild ? " [(]test build[)]" : "")));

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
            "line 2: server.workers: must be between 1 and 1024\n");

  Child served({"--config", ConfigFile()}, home());
  EXPECT_EQ(served.Wait(), 1);
  EXPECT_EQ(Problems(served.Errors(), "the configuration is refused"),
            (std::vector<std::string>{"line 1: servers: unknown key",
                                      "line 2: server.workers: must be between 1 and 1024"}));

  Child unknown({"--nothing"}, home());
  EXPECT_EQ(unknown.Wait(), 2);
  EXPECT_EQ(unknown.Errors(),
            "holdfastd: --nothing: unknown argument\n"
            "Run `holdfastd --help` for the usage.\n");
  Child help({"migrate", "--help"}, home());
  EXPECT_EQ(help.Wait(), 0);
  EXPECT_EQ(help.Line(), "Brings the schema of databases up to date, and ends");
  Child no_server({"healthcheck", "--address", "127.0.0.1:1"}, home());
  EXPECT_EQ(no_server.Wait(), 1);
  Child no_port({"healthcheck", "--address", "127.0.0.1:73000"}, home());
  EXPECT_EQ(no_port.Wait(), 2);
}

// The log of a server with these keys of `telemetry`, of which one call is done and one refused.
std::string LogOfTwoCalls(const std::string& config, const std::string& home,
                          const std::string& telemetry) {
  std::ofstream(config) << "server: {address: \"127.0.0.1:0\"}\ntelemetry: {" << telemetry << "}\n";
  Child server({"--config", config}, home);
  const std::string ready = server.Line();
  const size_t begin = ready.find("address=") + std::string("address=").size();
  const std::string address = ready.substr(begin, ready.find(' ', begin) - begin);
  const auto stub = pb::SessionService::NewStub(testing::Connected(address));
  const pb::CreateSessionRequest request = CreateRequest("one");
  pb::CreateSessionResponse created;
  grpc::ClientContext first;
  EXPECT_TRUE(stub->CreateSession(&first, request, &created).ok());
  grpc::ClientContext second;
  EXPECT_FALSE(stub->CreateSession(&second, CreateRequest("one"), &created).ok());
  server.Signal(SIGTERM);
  EXPECT_EQ(server.Wait(), 0);
  std::filesystem::remove_all(home + "/.local");
  return server.Errors();
}

size_t CallsIn(const std::string& log) {
  const std::vector<std::string> parts = absl::StrSplit(log, "\"message\":\"call\"");
  return parts.size() - 1;
}

TEST_F(Process, TheLogHasTheLinesThatTheConfigurationWants) {
  const auto log = [this](const std::string& telemetry) {
    return LogOfTwoCalls(ConfigFile(), home(), telemetry);
  };
  EXPECT_EQ(CallsIn(log("")), 2);
  const std::string refused = log("calls: refused");
  EXPECT_EQ(CallsIn(refused), 1) << refused;
  EXPECT_NE(refused.find("\"reason\":\"SESSION_EXISTS\""), std::string::npos) << refused;
  const std::string none = log("calls: none");
  EXPECT_EQ(CallsIn(none), 0) << none;
  EXPECT_NE(none.find("\"message\":\"serving\""), std::string::npos) << none;
  // A test build warns that it is one.
  const std::string warnings = log("log_level: warning");
  EXPECT_EQ(std::ranges::count(warnings, '\n'), kTestBuild ? 1 : 0) << warnings;
  EXPECT_EQ(warnings.find("TEST BUILD") != std::string::npos, kTestBuild) << warnings;
  EXPECT_EQ(log("log_level: error"), "");
}

TEST_F(Process, OutputThatCannotBeWrittenIsAFailureWithItsCause) {
  const char* bin = std::getenv("HOLDFAST_BIN_DIR");
  const std::string program = std::string(bin == nullptr ? "build/bin" : bin) + "/holdfastd";
  for (const char* flag : {"--version", "--help"}) {
    std::FILE* const pipe = popen(("'" + program + "' " + flag + " 2>&1 >/dev/full").c_str(), "r");
    std::array<char, 256> buffer{};
    const size_t got = std::fread(buffer.data(), 1, buffer.size(), pipe);
    EXPECT_EQ(WEXITSTATUS(pclose(pipe)), 1) << flag;
    EXPECT_EQ(std::string(buffer.data(), got),
              "holdfastd: the output could not be written: No space left on device\n");
  }
}

}  // namespace
}  // namespace holdfast::test

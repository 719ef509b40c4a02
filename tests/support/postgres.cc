#include "tests/support/postgres.h"

#include "tests/support/wait.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <spawn.h>
#include <sstream>
#include <sys/file.h>
#include <unistd.h>

namespace holdfast::testing {
namespace {

using std::filesystem::path;

constexpr char kScript[] = "scripts/postgres";

[[noreturn]] void GiveUp(const std::string& why) {
  std::cerr << "no PostgreSQL for this test: " << why << std::endl;
  std::_Exit(EXIT_FAILURE);
}

// Where the processes of this build meet.
path MeetingPlace() { return path(Program("")).parent_path().parent_path() / "postgres"; }

// Holds a lock on a file until it goes away, or with the process. A started program does not
// inherit it.
class FileLock final {
 public:
  FileLock(const path& file, int kind)
      : descriptor_(open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    int failed = 0;
    do {
      failed = flock(descriptor_, kind);
    } while (failed != 0 && errno == EINTR);
    if (failed != 0) GiveUp(absl::StrCat(file.string(), ": ", std::strerror(errno)));
  }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  ~FileLock() { close(descriptor_); }

 private:
  const int descriptor_;
};

bool Answers(const std::string& directory) {
  if (directory.empty()) return false;
  return pg::Connection::Open({.dsn = DsnOf(directory, "postgres")}).ok();
}

std::string ReadyDirectory(const path& place) {
  std::string text = ReadText(place / "ready");
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

// Starts the supervisor, which outlives this process and has none of its files open.
void StartSupervisor(const path& place) {
  const std::string log = place / "log";
  std::vector<std::string> words = {"/usr/bin/setsid",     kScript, "share", place, "fsync=off",
                                    "full_page_writes=off"};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t pid = -1;
  const int failed = posix_spawn(&pid, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) GiveUp(std::strerror(failed));
  if (!WaitUntil([&] { return Answers(ReadyDirectory(place)); })) GiveUp(ReadText(log));
}

std::string FindOrStart() {
  const path place = MeetingPlace();
  std::filesystem::create_directories(place);
  // Held to the end of the process: the cluster stays while somebody holds it.
  static const FileLock kUser(place / "users", LOCK_SH);
  const FileLock starting(place / "starting", LOCK_EX);
  if (!Answers(ReadyDirectory(place))) StartSupervisor(place);
  return ReadyDirectory(place);
}

std::vector<pid_t> ChildrenOf(pid_t pid) {
  std::istringstream text(ReadText(absl::StrCat("/proc/", pid, "/task/", pid, "/children")));
  return {std::istream_iterator<pid_t>(text), {}};
}

// Whether nothing of the process but its number may be left.
bool IsGone(pid_t pid) {
  const std::string status = ReadText(absl::StrCat("/proc/", pid, "/stat"));
  return status.empty() || status.find(") Z ") != std::string::npos;
}

std::string FreshName() {
  static std::atomic<int> made = 0;
  return absl::StrCat("t_", getpid(), "_", ++made);
}

}  // namespace

const std::string& SharedPostgres() {
  static const std::string kDirectory = FindOrStart();
  return kDirectory;
}

std::unique_ptr<pg::Connection> Connect(const std::string& dsn) {
  absl::StatusOr<std::unique_ptr<pg::Connection>> made = pg::Connection::Open({.dsn = dsn});
  if (!made.ok()) GiveUp(std::string(made.status().message()));
  return *std::move(made);
}

std::string DsnOf(const std::string& directory, const std::string& name) {
  const std::string host = absl::StrReplaceAll(directory, {{"\\", "\\\\"}, {"'", "\\'"}});
  return absl::StrCat("host='", host, "' user=holdfast dbname=", name);
}

TestDatabase::TestDatabase(const std::string& directory)
    : directory_(directory), name_(FreshName()) {
  const absl::Status made =
      Connect(DsnOf(directory_, "postgres"))->Script(absl::StrCat("CREATE DATABASE ", name_));
  if (!made.ok()) GiveUp(std::string(made.message()));
}

TestDatabase::~TestDatabase() {
  const auto connection = pg::Connection::Open({.dsn = DsnOf(directory_, "postgres")});
  if (!connection.ok()) return;  // its cluster is gone, and with it the database
  EXPECT_EQ((*connection)->Script(absl::StrCat("DROP DATABASE ", name_, " WITH (FORCE)")),
            absl::OkStatus());
}

OwnPostgres::OwnPostgres(std::vector<std::string> settings) : settings_(std::move(settings)) {
  // The server runs as another user, who must come through here.
  std::filesystem::permissions(
      folder_.path(), std::filesystem::perms::group_exec | std::filesystem::perms::others_exec,
      std::filesystem::perm_options::add);
}

OwnPostgres::~OwnPostgres() {
  if (process_ != nullptr) Kill();
}

void OwnPostgres::Start() {
  std::vector<std::string> words = {kScript, "serve", directory()};
  words.insert(words.end(), settings_.begin(), settings_.end());
  process_ = std::make_unique<ChildProcess>(words, folder_.File("log"), folder_.File("log"));
  const bool up = WaitUntil([&] { return Answers(directory()) || !process_->Running(); });
  if (!up || !process_->Running()) GiveUp(Log());
}

void OwnPostgres::Kill() {
  // Stopped first, so that it neither replaces nor tells its children while they are killed.
  process_->Signal(SIGSTOP);
  const std::vector<pid_t> children = ChildrenOf(process_->pid());
  for (const pid_t child : children) kill(child, SIGKILL);
  process_->Signal(SIGKILL);
  process_->Wait();
  for (const pid_t child : children) EXPECT_TRUE(WaitUntil([&] { return IsGone(child); }));
}

void OwnPostgres::Stop() {
  process_->Signal(SIGINT);
  process_->Wait();
}

}  // namespace holdfast::testing

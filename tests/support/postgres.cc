#include "tests/support/postgres.h"

#include "platform/digest.h"
#include "store-postgres/migrations.h"
#include "tests/support/wait.h"

#include "absl/strings/escaping.h"
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
  std::vector<std::string> words = {
      "/usr/bin/setsid",    kScript, "share", place, "fsync=off", "full_page_writes=off",
      "max_connections=400"};
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
  // Held to the end of the process. The cluster runs while any process holds this lock.
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

void Do(pg::Connection& connection, const std::string& sql) {
  const absl::Status done = connection.Script(sql);
  if (!done.ok()) GiveUp(absl::StrCat(sql, ": ", std::string(done.message())));
}

// Replaces the clock of a store by one that a test moves.
constexpr char kOwnClock[] = R"(
CREATE SCHEMA holdfast_test;
CREATE TABLE holdfast_test.clock (ahead interval NOT NULL);
INSERT INTO holdfast_test.clock VALUES ('0');
CREATE OR REPLACE FUNCTION holdfast.clock() RETURNS timestamptz
LANGUAGE sql VOLATILE PARALLEL SAFE
AS 'SELECT clock_timestamp() + (SELECT ahead FROM holdfast_test.clock)';
)";

// The name of a database with a store, of which others are copies; made when there is none of this
// program's migrations. `connection` leads to the cluster in `directory`.
std::string TemplateIn(const std::string& directory, pg::Connection& connection) {
  constexpr pg::Statement kThere = {"there",
                                    "SELECT count(*) FROM pg_database WHERE datname = $1::text"};
  Sha256Stream steps;
  for (const pg::Migration& step : pg::Migrations()) steps.Add(step.sql);
  const Digest digest = steps.Sum();
  const std::string name =
      absl::StrCat("store_", absl::BytesToHexString(std::string(View(digest)).substr(0, 8)));
  Do(connection, "SELECT pg_advisory_lock(1)");
  const pg::Answer found = connection.Run(kThere, pg::Params().Text(name));
  if (std::get<pg::Rows>(found).Int(0, 0) == 0) {
    const std::string fresh = name + "_new";
    Do(connection, absl::StrCat("DROP DATABASE IF EXISTS ", fresh));
    Do(connection, absl::StrCat("CREATE DATABASE ", fresh));
    {
      const std::string dsn = DsnOf(directory, fresh);
      const auto migrated = pg::Migrate(*ConnectAdmin(dsn));
      if (!migrated.ok()) GiveUp(std::string(migrated.status().message()));
      Do(*Connect(dsn), kOwnClock);
    }
    Do(connection, absl::StrCat("ALTER DATABASE ", fresh, " RENAME TO ", name));
  }
  Do(connection, "SELECT pg_advisory_unlock(1)");
  return name;
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

std::unique_ptr<pg::AdminConnection> ConnectAdmin(const std::string& dsn) {
  absl::StatusOr<std::unique_ptr<pg::AdminConnection>> made =
      pg::AdminConnection::Open({.dsn = dsn, .statement_timeout = absl::InfiniteDuration()});
  if (!made.ok()) GiveUp(std::string(made.status().message()));
  return *std::move(made);
}

std::string DsnOf(const std::string& directory, const std::string& name) {
  const std::string host = absl::StrReplaceAll(directory, {{"\\", "\\\\"}, {"'", "\\'"}});
  return absl::StrCat("host='", host, "' user=holdfast dbname=", name);
}

TestDatabase::TestDatabase(Contents contents, const std::string& directory)
    : directory_(directory), name_(FreshName()) {
  const std::unique_ptr<pg::Connection> connection = Connect(DsnOf(directory_, "postgres"));
  std::string sql = absl::StrCat("CREATE DATABASE ", name_);
  if (contents == Contents::kStore) {
    absl::StrAppend(&sql, " TEMPLATE ", TemplateIn(directory_, *connection));
  }
  Do(*connection, sql);
}

void TestDatabase::AdvanceClock(absl::Duration passed) {
  constexpr pg::Statement kAdvance = {"advance",
                                      "UPDATE holdfast_test.clock SET ahead = ahead + $1"};
  const pg::Answer answer = Connect(dsn())->Run(kAdvance, pg::Params().Interval(passed));
  EXPECT_TRUE(std::holds_alternative<pg::Rows>(answer));
}

TestDatabase::~TestDatabase() {
  const auto connection = pg::Connection::Open({.dsn = DsnOf(directory_, "postgres")});
  if (!connection.ok()) return;  // its cluster is gone, and with it the database
  EXPECT_EQ((*connection)->Script(absl::StrCat("DROP DATABASE ", name_, " WITH (FORCE)")),
            absl::OkStatus());
}

OwnPostgres::OwnPostgres(std::vector<std::string> settings) : settings_(std::move(settings)) {
  // PostgreSQL runs as another user, which must be able to traverse this directory.
  std::filesystem::permissions(
      folder_.path(), std::filesystem::perms::group_exec | std::filesystem::perms::others_exec,
      std::filesystem::perm_options::add);
}

OwnPostgres::~OwnPostgres() {
  if (process_ != nullptr) Kill();
}

void OwnPostgres::CopyFrom(const OwnPostgres& primary) {
  const Ending ending = RunToEnd({kScript, "copy", primary.directory(), directory()},
                                 folder_.File("log"), folder_.File("log"));
  if (ending.exit_code != 0) GiveUp(Log());
}

void OwnPostgres::Start() {
  std::vector<std::string> words = {kScript, "serve", directory()};
  words.insert(words.end(), settings_.begin(), settings_.end());
  process_ = std::make_unique<ChildProcess>(words, folder_.File("log"), folder_.File("log"));
  const bool up = WaitUntil([&] { return Answers(directory()) || !process_->Running(); });
  if (!up || !process_->Running()) GiveUp(Log());
}

void OwnPostgres::Kill() {
  // Stopped first, so that it neither restarts nor signals its children while they are killed.
  process_->Signal(SIGSTOP);
  const std::vector<pid_t> children = ChildrenOf(process_->pid());
  for (const pid_t child : children) kill(child, SIGKILL);
  process_->Signal(SIGKILL);
  process_->Wait();
  for (const pid_t child : children) EXPECT_TRUE(WaitUntil([&] { return IsGone(child); }));
}

void OwnPostgres::Pause() {
  process_->Signal(SIGSTOP);  // first, so that it starts no others
  for (const pid_t child : ChildrenOf(process_->pid())) kill(child, SIGSTOP);
}

void OwnPostgres::GoOn() {
  for (const pid_t child : ChildrenOf(process_->pid())) kill(child, SIGCONT);
  process_->Signal(SIGCONT);
}

void OwnPostgres::Stop() {
  process_->Signal(SIGINT);
  process_->Wait();
}

}  // namespace holdfast::testing

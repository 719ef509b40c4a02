#include "bench/postgres.h"

#include "bench/benches.h"
#include "bench/figures.h"
#include "bench/machine.h"
#include "bench/processor_time.h"
#include "platform/status_macros.h"
#include "store-postgres/admin/connection.h"
#include "store-postgres/admin/migrate.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>
#include <variant>

namespace holdfast::bench {
namespace {

constexpr char kScript[] = "scripts/postgres";
// What a person would give a machine like this one: a cache that fits, and checkpoints that are
// rare.
constexpr std::array kSettings = {
    "fsync=on",          "synchronous_commit=on",    "full_page_writes=on",
    "max_wal_size=16GB", "checkpoint_timeout=30min", "shared_buffers=1GB",
    "jit=off",           "max_connections=300",      "default_toast_compression=lz4",
    "wal_buffers=16MB"};
constexpr auto kPatience = std::chrono::minutes(2);
constexpr auto kPause = std::chrono::milliseconds(20);

// `text` inside the quotes of a connection string.
std::string Escaped(const std::string& text) {
  std::string escaped;
  for (const char letter : text) {
    if (letter == '\\' || letter == '\'') escaped.push_back('\\');
    escaped.push_back(letter);
  }
  return escaped;
}

// Whether nothing of the process but its number may be left.
bool IsGone(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  return !std::getline(file, text) || text.find(") Z ") != std::string::npos;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Postgres>> Postgres::Start(const Plan& plan, Figures& figures) {
  // Where its user can reach it, and short enough for a socket; the project's directory may be
  // neither.
  std::string name = "/var/tmp/holdfast-bench.XXXXXX";
  if (mkdtemp(name.data()) == nullptr) return absl::UnavailableError("cannot make " + name);
  auto database = std::make_unique<Postgres>(name);
  RETURN_IF_ERROR(CheckMachine(name));
  RETURN_IF_ERROR(database->Open());
  RETURN_IF_ERROR(database->CheckSettings(figures));
  RETURN_IF_ERROR(database->MakeStore("store"));
  std::filesystem::create_directories(plan.directory);
  return database;
}

Postgres::~Postgres() {
  connection_.reset();
  if (process_ != nullptr) process_->End(SIGQUIT);
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

absl::Status Postgres::Open() {
  std::vector<std::string> command = {std::filesystem::absolute(kScript), "serve", directory_};
  command.insert(command.end(), kSettings.begin(), kSettings.end());
  ASSIGN_OR_RETURN(process_, ChildProcess::Launch(command, directory_ + "/log"));
  const auto end = std::chrono::steady_clock::now() + kPatience;
  absl::StatusOr<std::unique_ptr<pg::Connection>> made = Connect("postgres");
  while (!made.ok() && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(kPause);
    made = Connect("postgres");
  }
  if (!made.ok())
    return absl::UnavailableError("PostgreSQL does not start: see " + directory_ + "/log");
  connection_ = *std::move(made);
  return absl::OkStatus();
}

absl::Status Postgres::Crash() {
  connection_.reset();
  const std::vector<pid_t> children = ChildrenOf(process_->pid());
  process_->End(SIGKILL);
  for (const pid_t child : children) kill(child, SIGKILL);
  while (!std::ranges::all_of(children, IsGone)) std::this_thread::sleep_for(kPause);
  return Open();
}

absl::StatusOr<std::unique_ptr<pg::Connection>> Postgres::Connect(const std::string& database) {
  return pg::Connection::Open(
      {.dsn = dsn(database), .statement_timeout = absl::InfiniteDuration()});
}

std::string Postgres::dsn(const std::string& database) const {
  return "host='" + Escaped(directory_) + "' user=holdfast dbname=" + database;
}

absl::Status Postgres::MakeDatabase(const std::string& name) {
  return connection_->Script("CREATE DATABASE " + name);
}

absl::Status Postgres::MakeStore(const std::string& name) {
  RETURN_IF_ERROR(MakeDatabase(name));
  ASSIGN_OR_RETURN(
      const auto connection,
      pg::AdminConnection::Open({.dsn = dsn(name), .statement_timeout = absl::InfiniteDuration()}));
  return pg::Migrate(*connection).status();
}

absl::Status Postgres::DoInStore(const std::string& sql) {
  ASSIGN_OR_RETURN(const auto connection, Connect("store"));
  return connection->Script("SET search_path = public;" + sql);
}

absl::StatusOr<pg::Rows> Postgres::Ask(const std::string& sql, const std::string& database) {
  ASSIGN_OR_RETURN(const auto connection, Connect(database));
  RETURN_IF_ERROR(connection->Script("SET search_path = public, holdfast"));
  pg::Answer answer = connection->Run({.name = "ask", .sql = sql.c_str()}, pg::Params());
  if (const auto* failure = std::get_if<pg::Failure>(&answer)) {
    return absl::UnavailableError(failure->text);
  }
  return std::get<pg::Rows>(std::move(answer));
}

absl::StatusOr<int64_t> Postgres::Number(const std::string& sql, const std::string& database) {
  ASSIGN_OR_RETURN(const pg::Rows rows, Ask(sql, database));
  return rows.Int(0, 0);
}

absl::StatusOr<std::vector<std::string>> Postgres::Texts(const std::string& sql) {
  ASSIGN_OR_RETURN(const pg::Rows rows, Ask(sql, "store"));
  std::vector<std::string> texts;
  for (size_t row = 0; row < rows.size(); ++row) texts.emplace_back(rows.Text(row, 0));
  return texts;
}

absl::Status Postgres::CheckSettings(Figures& figures) {
  constexpr pg::Statement kShow = {"show", "SELECT current_setting($1)"};
  std::string line = "postgresql";
  for (const char* name : {"server_version", "fsync", "synchronous_commit", "full_page_writes",
                           "shared_buffers", "max_wal_size", "wal_sync_method", "autovacuum"}) {
    const pg::Answer answer = connection_->Run(kShow, pg::Params().Text(name));
    if (std::holds_alternative<pg::Failure>(answer)) return absl::UnavailableError(name);
    const std::string value(std::get<pg::Rows>(answer).Text(0, 0));
    line.append(" ").append(name).append("=").append(value);
    const bool durable = std::string(name) == "fsync" ||
                         std::string(name) == "synchronous_commit" ||
                         std::string(name) == "full_page_writes";
    if (durable && value != "on")
      return absl::FailedPreconditionError(std::string(name) + " is off");
  }
  figures.Remark(line);
  return absl::OkStatus();
}

double Postgres::ProcessorSeconds() const {
  const pid_t postmaster = process_->pid();
  double seconds = ProcessorSecondsOf(postmaster) + EndedChildrenSecondsOf(postmaster);
  for (const pid_t child : ChildrenOf(postmaster)) seconds += ProcessorSecondsOf(child);
  return seconds;
}

}  // namespace holdfast::bench

#include "bench/pgbench.h"

#include "bench/child_process.h"
#include "platform/status_macros.h"

#include "absl/strings/escaping.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

namespace holdfast::bench {
namespace {

constexpr char kProgram[] = "/usr/bin/pgbench";
constexpr size_t kThreadsMost = 2;

// The number behind `label` in `text`; 0 when there is none.
double NumberBehind(const std::string& text, const std::string& label) {
  const size_t at = text.find(label);
  return at == std::string::npos ? 0 : std::atof(text.c_str() + at + label.size());
}

// The latencies that pgbench logged, in ms: the third field of each line, in microseconds. Takes
// the files away.
std::vector<double> TakeLatencies(const std::string& directory, const std::string& prefix) {
  std::vector<double> latencies;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (!entry.path().filename().string().starts_with(prefix)) continue;
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);) {
      std::istringstream fields(line);
      double client = 0;
      double number = 0;
      double microseconds = 0;
      fields >> client >> number >> microseconds;
      latencies.push_back(microseconds / 1000);
    }
    std::filesystem::remove(entry.path());
  }
  return latencies;
}

}  // namespace

absl::Status Pgbench::Open() {
  std::ofstream(database_.directory() + "/" + table_ + ".sql")
      << "INSERT INTO " << table_ << " VALUES (:bytes);\n";
  return database_.DoInStore("CREATE TABLE " + table_ + " (bytes bytea);" + "ALTER TABLE " +
                             table_ + " ALTER COLUMN bytes SET STORAGE EXTERNAL");
}

absl::StatusOr<Round> Pgbench::Insert(size_t clients, uint64_t count) {
  const uint64_t each = std::max<uint64_t>(1, count / clients);
  const std::string prefix = table_ + ".log";
  std::vector<std::string> command = {
      kProgram,
      "--no-vacuum",
      "--protocol=prepared",
      "--client=" + std::to_string(clients),
      "--jobs=" + std::to_string(std::min(clients, kThreadsMost)),
      "--transactions=" + std::to_string(each),
      "--define=bytes=\\x" + absl::BytesToHexString(fresh_.Take(bytes_)),
      "--file=" + database_.directory() + "/" + table_ + ".sql"};
  if (clients == 1) {
    command.insert(command.end(),
                   {"--log", "--log-prefix=" + database_.directory() + "/" + prefix});
  }
  command.push_back(database_.dsn("store"));
  ASSIGN_OR_RETURN(const auto program,
                   ChildProcess::Launch(command, database_.directory() + "/" + table_ + ".err"));
  ASSIGN_OR_RETURN(const std::string report, program->ReadToEnd());
  const double rate = NumberBehind(report, "tps = ");
  const auto done = static_cast<uint64_t>(NumberBehind(report, "actually processed: "));
  if (rate <= 0 || done != each * clients) {
    return absl::UnavailableError("pgbench says: " + report);
  }
  Note(done);
  return Summarise(done, static_cast<double>(done) / rate,
                   TakeLatencies(database_.directory(), prefix));
}

absl::Status Pgbench::Count() {
  ASSIGN_OR_RETURN(const int64_t rows, database_.Number("SELECT count(*) FROM " + table_));
  if (static_cast<uint64_t>(rows) == acknowledged_) return absl::OkStatus();
  return absl::FailedPreconditionError(table_ + " holds " + std::to_string(rows) + " rows after " +
                                       std::to_string(acknowledged_) + " were acknowledged");
}

}  // namespace holdfast::bench

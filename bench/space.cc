// space-fs, space-pg: what the disk holds for a session's payload. All of it is messages, which are
// kept for ever; replaced slots would flatter the figure.
#include "bench/agent.h"
#include "bench/benches.h"
#include "bench/postgres.h"
#include "bench/served.h"
#include "platform/status_macros.h"

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <sys/stat.h>
#include <vector>

namespace holdfast::bench {
namespace {

constexpr size_t kCommits = 10'000;
constexpr size_t kSmokeCommits = 300;
constexpr uint64_t kBlock = 512;   // the unit of st_blocks, whatever the file system's is
constexpr double kLeastMiB = 0.5;  // of a table that is printed
constexpr Goal kOpen = AtMost(1.6);
constexpr Goal kClosedFiles = AtMost(1.2);
constexpr Goal kClosedRows = AtMost(1.2, 1.13);

uint64_t BlocksOf(const std::filesystem::path& path) {
  struct stat info {};
  return lstat(path.c_str(), &info) == 0 ? static_cast<uint64_t>(info.st_blocks) : 0;
}

// Bytes that are allocated for everything below `root`, directories included.
uint64_t BytesOnDisk(const std::string& root) {
  uint64_t blocks = BlocksOf(root);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    blocks += BlocksOf(entry.path());
  }
  return blocks * kBlock;
}

// The bytes that a store takes, however it keeps them.
using Bytes = std::function<absl::StatusOr<double>()>;

// Measures `served`, which holds nothing yet.
absl::Status Measure(const Plan& plan, Figures& figures, Served& served, const Bytes& bytes,
                     const Goal& goal) {
  const size_t commits = plan.Many(kCommits, kSmokeCommits);
  const CommitShape shape{.messages = 8, .message_bytes = kPayload / 8, .slots = {}};
  RETURN_IF_ERROR(served.Start());
  ASSIGN_OR_RETURN(const auto agent, Agent::Make(served, "space", shape));
  ASSIGN_OR_RETURN(const Round took, Drive({agent.get()}, commits));
  const auto payload = static_cast<double>(commits * shape.Bytes());
  ASSIGN_OR_RETURN(double open, bytes());
  open /= payload;
  RETURN_IF_ERROR(agent->Close());
  ASSIGN_OR_RETURN(double closed, bytes());
  closed /= payload;
  served.End(SIGTERM);
  RETURN_IF_ERROR(served.Start());
  RETURN_IF_ERROR(agent->Count());
  figures.Note(1, "open", "bytes_per_byte", open);
  figures.Note(1, "closed", "bytes_per_byte", closed);
  figures.Print("bytes-per-payload-byte", open, kOpen);
  figures.Print("bytes-per-payload-byte-closed", closed, goal);
  figures.Print("commits", static_cast<double>(commits));
  figures.Print("commits-per-second", took.Rate());
  return absl::OkStatus();
}

}  // namespace

absl::Status BenchSpaceFs(const Plan& plan, Figures& figures) {
  Served served(plan.holdfastd, plan.directory);
  return Measure(
      plan, figures, served,
      // Without the write-ahead log, which is used again and again, whatever it holds.
      [&] {
        const std::string root = served.root();
        return static_cast<double>(BytesOnDisk(root) - BytesOnDisk(root + "/wal"));
      },
      kClosedFiles);
}

absl::Status BenchSpacePg(const Plan& plan, Figures& figures) {
  ASSIGN_OR_RETURN(const auto database, Postgres::Start(plan, figures));
  // The files of the database; its log is used again and again, whatever it holds.
  const auto size = [&] { return database->Number("SELECT pg_database_size(current_database())"); };
  ASSIGN_OR_RETURN(const int64_t before, size());
  Served served(plan.holdfastd, plan.directory, Keeping::In(database->dsn("store")));
  RETURN_IF_ERROR(Measure(
      plan, figures, served,
      [&]() -> absl::StatusOr<double> {
        ASSIGN_OR_RETURN(const int64_t now, size());
        return static_cast<double>(now - before);
      },
      kClosedRows));
  constexpr char kTables[] =
      "SELECT tablename::text FROM pg_tables WHERE schemaname = 'holdfast' ORDER BY 1";
  ASSIGN_OR_RETURN(const std::vector<std::string> tables, database->Texts(kTables));
  for (const std::string& table : tables) {
    ASSIGN_OR_RETURN(const int64_t bytes,
                     database->Number("SELECT pg_total_relation_size('holdfast." + table + "')"));
    const double size_mib = static_cast<double>(bytes) / (1 << 20);
    if (size_mib >= kLeastMiB) figures.Print("MiB-of-" + table, size_mib);
  }
  return absl::OkStatus();
}

}  // namespace holdfast::bench

// append-pg: journal entries of 1 KB over 32 streams against single inserts of 1 KB by as many
// connections.
#include "bench/benches.h"
#include "bench/journal_stream.h"
#include "bench/pgbench.h"
#include "bench/postgres.h"
#include "bench/rounds.h"
#include "platform/status_macros.h"

#include <csignal>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::bench {
namespace {

constexpr size_t kStreams = 32;
constexpr size_t kEntryBytes = 1024;
constexpr uint64_t kCount = 32'768;  // of a round
constexpr uint64_t kSmokeCount = 4'096;
constexpr Goal kOverPgbench = AtLeast(2);

class AppendPg {
 public:
  AppendPg(const Plan& plan, Figures& figures, Postgres& database)
      : plan_(plan),
        figures_(figures),
        database_(database),
        served_(plan.holdfastd, plan.directory + "/server", Keeping::In(database.dsn("store"))),
        pgbench_(database, "raw", kEntryBytes) {}

  absl::Status Run() {
    RETURN_IF_ERROR(pgbench_.Open());
    served_.ServeAtFile();  // as pgbench reaches the database
    RETURN_IF_ERROR(served_.Start());
    RETURN_IF_ERROR(streams_.Open(kStreams));
    const std::vector<Contender> contenders = {
        {.name = "pgbench",
         .run = [this](uint64_t count) { return pgbench_.Insert(kStreams, count); },
         .database = &database_},
        {.name = "append",
         .run = [this](uint64_t count) { return streams_.Append(count); },
         .process = &served_.process(),
         .database = &database_}};
    RETURN_IF_ERROR(database_.Checkpoint());
    ASSIGN_OR_RETURN(
        const auto results,
        TakeTurns(contenders, {.count = plan_.Many(kCount, kSmokeCount), .rounds = plan_.rounds},
                  figures_));
    RETURN_IF_ERROR(Count());
    const Results& append = results.at("append");
    const Results& pgbench = results.at("pgbench");
    figures_.Print("append-over-pgbench.32", MedianRatio(append.rates, pgbench.rates),
                   kOverPgbench);
    figures_.Print("append-per-second", Median(append.rates));
    figures_.Print("pgbench-per-second", Median(pgbench.rates));
    figures_.Print("append-cpu-us", Median(append.processor_us));
    figures_.Print("append-database-cpu-us", Median(append.database_us));
    figures_.Print("pgbench-cpu-us", Median(pgbench.processor_us));
    return absl::OkStatus();
  }

 private:
  // Everything acknowledged must be there after everything was killed.
  absl::Status Count() {
    served_.End(SIGKILL);
    RETURN_IF_ERROR(database_.Crash());
    RETURN_IF_ERROR(served_.Start());
    RETURN_IF_ERROR(streams_.Count());
    return pgbench_.Count();
  }

  const Plan& plan_;
  Figures& figures_;
  Postgres& database_;
  Served served_;
  Pgbench pgbench_;
  JournalStreams streams_{served_, kEntryBytes};
};

}  // namespace

absl::Status BenchAppendPg(const Plan& plan, Figures& figures) {
  ASSIGN_OR_RETURN(const auto database, Postgres::Start(plan, figures));
  return AppendPg(plan, figures, *database).Run();
}

}  // namespace holdfast::bench

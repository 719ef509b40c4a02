// append-fs: journal entries of 1 KB over 32 streams against as many Echo calls of 1 KB.
#include "bench/benches.h"
#include "bench/echo.h"
#include "bench/journal_stream.h"
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
constexpr uint64_t kCount = 65'536;  // of a round
constexpr uint64_t kSmokeCount = 4'096;
constexpr Goal kOverEcho = AtLeast(1.5);

class AppendFs {
 public:
  AppendFs(const Plan& plan, Figures& figures)
      : plan_(plan), figures_(figures), served_(plan.holdfastd, plan.directory + "/disk") {}

  absl::Status Run() {
    RETURN_IF_ERROR(served_.Start());
    RETURN_IF_ERROR(streams_.Open(kStreams));
    const auto echoes = MakeEchoes(served_.admin(), kStreams, EchoReply::kBytes, kEntryBytes);
    const std::vector<Contender> contenders = {
        {.name = "echo",
         .run = [&](uint64_t count) { return Drive(SlotsOf(echoes), count); },
         .process = &served_.process()},
        {.name = "append",
         .run = [this](uint64_t count) { return streams_.Append(count); },
         .process = &served_.process()}};
    ASSIGN_OR_RETURN(
        const auto results,
        TakeTurns(contenders, {.count = plan_.Many(kCount, kSmokeCount), .rounds = plan_.rounds},
                  figures_));
    RETURN_IF_ERROR(Count());
    const Results& append = results.at("append");
    const Results& echo = results.at("echo");
    figures_.Print("append-over-echo.32", MedianRatio(append.rates, echo.rates), kOverEcho);
    figures_.Print("append-per-second", Median(append.rates));
    figures_.Print("echo-per-second", Median(echo.rates));
    figures_.Print("append-cpu-us", Median(append.processor_us));
    return absl::OkStatus();
  }

 private:
  // Everything acknowledged must be there after the server was killed.
  absl::Status Count() {
    served_.End(SIGKILL);
    RETURN_IF_ERROR(served_.Start());
    return streams_.Count();
  }

  const Plan& plan_;
  Figures& figures_;
  Served served_;
  JournalStreams streams_{served_, kEntryBytes};
};

}  // namespace

absl::Status BenchAppendFs(const Plan& plan, Figures& figures) {
  return AppendFs(plan, figures).Run();
}

}  // namespace holdfast::bench

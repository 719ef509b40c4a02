// telemetry: what spans and scrapes cost commits. Six more servers, over roots of their own, take
// turns with one that shows nothing. Two export spans of a tenth of the traces and of all. Three
// export as many as there are by default to a receiver that is away, that hangs, or that refuses
// every export. One is scraped once a second.
#include "bench/agent.h"
#include "bench/benches.h"
#include "bench/rounds.h"
#include "bench/scraper.h"
#include "bench/served.h"
#include "bench/span_sink.h"
#include "platform/status_macros.h"
#include "session/limits.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include <csignal>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::bench {
namespace {

constexpr size_t kInFlight = 32;
constexpr uint64_t kCommits = 6144;  // of each side in each round
constexpr uint64_t kSmokeCommits = 512;
constexpr Goal kTenth = AtLeast(0.95);
constexpr Goal kAll = AtLeast(0.85);
constexpr Goal kScraped = AtLeast(0.95);
constexpr Goal kLatency = AtMost(1.1);  // whatever a receiver does
// Nothing listens at the port of the service that discards.
constexpr char kNoReceiver[] = "127.0.0.1:9";

// A server whose sessions are committed to.
class Side {
 public:
  Side(const Plan& plan, std::string name) : name_(std::move(name)) {
    served_ = std::make_unique<Served>(plan.holdfastd, plan.directory + "/" + name_);
  }

  absl::Status Open(const std::string& telemetry) {
    if (!telemetry.empty()) served_->Configure("telemetry: {" + telemetry + "}");
    RETURN_IF_ERROR(served_->Start());
    ASSIGN_OR_RETURN(agents_, MakeAgents(*served_, name_, kInFlight));
    return absl::OkStatus();
  }
  [[nodiscard]] Contender AsContender() const {
    return {.name = name_,
            .run = [slots = SlotsOf(agents_)](uint64_t count) { return Drive(slots, count); },
            .process = &served_->process()};
  }
  absl::Status Close() {
    for (const auto& agent : agents_) RETURN_IF_ERROR(agent->Count());
    served_->End(SIGTERM);
    return absl::OkStatus();
  }
  [[nodiscard]] const Served& served() const { return *served_; }

 private:
  std::string name_;
  std::unique_ptr<Served> served_;
  std::vector<std::unique_ptr<Agent>> agents_;
};

// The port in the word `metrics=HOST:PORT` of the line that says that a server is ready.
std::optional<uint16_t> MetricsPort(const std::string& ready) {
  constexpr std::string_view kWord = " metrics=127.0.0.1:";
  const size_t at = ready.find(kWord);
  if (at == std::string::npos) return std::nullopt;
  const size_t from = at + kWord.size();
  uint32_t port = 0;
  if (!absl::SimpleAtoi(ready.substr(from, ready.find(' ', from) - from), &port)) {
    return std::nullopt;
  }
  return static_cast<uint16_t>(port);
}

// With the sampling that there is by default.
std::string ExportingTo(const std::string& address) {
  return absl::StrCat("otlp_endpoint: '", address, "'");
}

std::string Exporting(const SpanSink& sink, const char* ratio) {
  return absl::StrCat(ExportingTo(sink.address()), ", sampling_ratio: ", ratio,
                      ", sampled_roots_per_second: ", kSampledRootsMost);
}

// Each side beside the one that shows nothing, round by round.
void PrintRatios(const std::map<std::string, Results>& results, Figures& figures) {
  const Results& off = results.at("off");
  const auto rate = [&](const char* name) {
    return MedianRatio(results.at(name).rates, off.rates);
  };
  const auto p99 = [&](const char* name) {
    return MedianRatio(results.at(name).p99_ms, off.p99_ms);
  };
  figures.Print("commits-with-spans-of-a-tenth-over-off", rate("spans-of-a-tenth"), kTenth);
  figures.Print("commits-with-spans-of-all-over-off", rate("spans-of-all"), kAll);
  figures.Print("commits-with-scrapes-over-off", rate("scraped"), kScraped);
  figures.Print("p99-with-no-receiver-over-off", p99("receiver-away"), kLatency);
  figures.Print("p99-with-a-receiver-that-hangs-over-off", p99("receiver-hangs"), kLatency);
  figures.Print("p99-with-a-receiver-that-refuses-over-off", p99("receiver-refuses"), kLatency);
  for (const auto& [name, result] : results) {
    figures.Print(name + "-per-second", Median(result.rates));
    figures.Print(name + "-server-cpu-us", Median(result.processor_us));
  }
}

}  // namespace

absl::Status BenchTelemetry(const Plan& plan, Figures& figures) {
  ASSIGN_OR_RETURN(const auto tenth_sink, SpanSink::Start());
  ASSIGN_OR_RETURN(const auto all_sink, SpanSink::Start());
  ASSIGN_OR_RETURN(const auto hanging_sink, SpanSink::Start(SpanReply::kHang));
  ASSIGN_OR_RETURN(const auto refusing_sink, SpanSink::Start(SpanReply::kRefuse));
  Side off(plan, "off");
  Side tenth(plan, "spans-of-a-tenth");
  Side all(plan, "spans-of-all");
  Side away(plan, "receiver-away");
  Side hanging(plan, "receiver-hangs");
  Side refusing(plan, "receiver-refuses");
  Side scraped(plan, "scraped");
  const std::vector<Side*> sides = {&off, &tenth, &all, &away, &hanging, &refusing, &scraped};
  RETURN_IF_ERROR(off.Open(""));
  RETURN_IF_ERROR(tenth.Open(Exporting(*tenth_sink, "0.1")));
  RETURN_IF_ERROR(all.Open(Exporting(*all_sink, "1")));
  RETURN_IF_ERROR(away.Open(ExportingTo(kNoReceiver)));
  RETURN_IF_ERROR(hanging.Open(ExportingTo(hanging_sink->address())));
  RETURN_IF_ERROR(refusing.Open(ExportingTo(refusing_sink->address())));
  RETURN_IF_ERROR(scraped.Open("metrics_address: '127.0.0.1:0'"));
  const auto port = MetricsPort(scraped.served().process().first_line());
  if (!port) return absl::UnavailableError("the server serves no metrics");
  const Scraper scraper(*port);
  std::vector<Contender> contenders;
  for (const Side* side : sides) contenders.push_back(side->AsContender());
  ASSIGN_OR_RETURN(
      const auto results,
      TakeTurns(contenders, {.count = plan.Many(kCommits, kSmokeCommits), .rounds = plan.rounds},
                figures));
  for (const SpanSink* sink :
       {tenth_sink.get(), all_sink.get(), hanging_sink.get(), refusing_sink.get()}) {
    if (sink->bytes() == 0) return absl::FailedPreconditionError("no spans were exported");
  }
  if (scraper.scrapes() == 0) return absl::FailedPreconditionError("no metrics were scraped");
  PrintRatios(results, figures);
  for (Side* side : sides) RETURN_IF_ERROR(side->Close());
  return absl::OkStatus();
}

}  // namespace holdfast::bench

// items-fs, items-pg: puts of items against CommitTurn, and reads and puts in a session with many
// items against one with few.
#include "bench/agent.h"
#include "bench/benches.h"
#include "bench/item_writer.h"
#include "bench/postgres.h"
#include "bench/rounds.h"
#include "bench/served.h"
#include "bench/timing.h"
#include "platform/status_macros.h"

#include "absl/strings/str_cat.h"

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::bench {
namespace {

constexpr std::array<size_t, 2> kInFlight = {1, 32};
constexpr uint64_t kCallsAlone = 600;  // of a round
constexpr uint64_t kCallsTogether = 6400;
constexpr uint64_t kSmokeShare = 16;
constexpr PutShape kOne = {.items = 1, .item_bytes = 8192};
constexpr PutShape kThree = {.items = 3, .item_bytes = 2730};
constexpr Goal kOverCommit = AtLeast(0.9);

constexpr uint64_t kMany = 100'000;
constexpr uint64_t kSmokeMany = 4'000;
constexpr uint64_t kFew = 10;
constexpr size_t kReads = 300;  // of a round
constexpr uint64_t kPage = 10;
constexpr PutShape kLarge = {.items = 1, .item_bytes = size_t{12} * 1024};
constexpr Goal kFlat = AtMost(1.2);

// So many writers of each kind beside so many agents.
absl::Status ComparePuts(const Plan& plan, Figures& figures, Served& served, size_t in_flight) {
  const std::string level = absl::StrCat(".", in_flight);
  const uint64_t all = in_flight == 1 ? kCallsAlone : kCallsTogether;
  const uint64_t calls = plan.Many(all, all / kSmokeShare);
  ASSIGN_OR_RETURN(const auto agents, MakeAgents(served, "agent" + level, in_flight));
  ASSIGN_OR_RETURN(const auto ones, MakeItemWriters(served, "one" + level, in_flight, kOne));
  ASSIGN_OR_RETURN(const auto threes, MakeItemWriters(served, "three" + level, in_flight, kThree));
  const ChildProcess& process = served.process();
  ASSIGN_OR_RETURN(const auto results,
                   TakeTurns({Calls("commit" + level, agents, process, calls),
                              Calls("put" + level, ones, process, calls),
                              Calls("put-three" + level, threes, process, calls)},
                             {.count = calls, .rounds = plan.rounds}, figures));
  const std::vector<double>& commits = results.at("commit" + level).rates;
  figures.Print("put-over-commit" + level, MedianRatio(results.at("put" + level).rates, commits),
                kOverCommit);
  figures.Print("put-three-over-commit" + level,
                MedianRatio(results.at("put-three" + level).rates, commits), kOverCommit);
  for (const auto* const writers : {&ones, &threes}) {
    for (const auto& writer : *writers) RETURN_IF_ERROR(writer->Count());
  }
  return absl::OkStatus();
}

v1::ReadItemsRequest RequestOn(const ItemWriter& writer) {
  v1::ReadItemsRequest request;
  request.set_session_id(writer.id());
  request.set_collection("filled");
  return request;
}

absl::Status PutOne(ItemWriter& writer) {
  grpc::CompletionQueue queue;
  writer.Start(queue, &writer);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  return writer.End();
}

// Each is done in a session with few items and in one with many.
std::map<std::string, std::function<absl::Status(ItemWriter&)>> Acts() {
  return {{"read-key",
           [](ItemWriter& writer) {
             v1::ReadItemsRequest request = RequestOn(writer);
             request.add_keys(FilledKey(kFew / 2));
             return writer.Read(request, 1);
           }},
          {"read-last",
           [](ItemWriter& writer) {
             v1::ReadItemsRequest request = RequestOn(writer);
             request.mutable_range()->set_key_prefix("0000");
             request.mutable_range()->set_descending(true);
             request.set_page_size(1);
             return writer.Read(request, 1);
           }},
          {"read-page",
           [](ItemWriter& writer) {
             v1::ReadItemsRequest request = RequestOn(writer);
             request.set_page_size(kPage);
             return writer.Read(request, kPage);
           }},
          {"put-12k", PutOne}};
}

absl::Status CompareSizes(const Plan& plan, Figures& figures, Served& served) {
  ASSIGN_OR_RETURN(const auto few, ItemWriter::Make(served, "few", kLarge));
  ASSIGN_OR_RETURN(const auto many, ItemWriter::Make(served, "many", kLarge));
  RETURN_IF_ERROR(few->Fill("filled", kFew));
  RETURN_IF_ERROR(many->Fill("filled", plan.Many(kMany, kSmokeMany)));
  for (const auto& [name, act] : Acts()) {
    std::vector<double> with_few;
    std::vector<double> with_many;
    for (size_t round = 1; round <= plan.rounds; ++round) {
      ASSIGN_OR_RETURN(const double few_ms, MedianMilliseconds(kReads, [&] { return act(*few); }));
      ASSIGN_OR_RETURN(const double many_ms,
                       MedianMilliseconds(kReads, [&] { return act(*many); }));
      figures.Keep(round, name + "-few", "ms", few_ms, with_few);
      figures.Keep(round, name + "-many", "ms", many_ms, with_many);
    }
    figures.Print(name + "-many-over-few", MedianRatio(with_many, with_few), kFlat);
    figures.Print(name + "-many-ms", Median(with_many));
  }
  RETURN_IF_ERROR(few->Count());
  return many->Count();
}

absl::Status Measure(const Plan& plan, Figures& figures, Served& served) {
  RETURN_IF_ERROR(served.Start());
  for (const size_t in_flight : kInFlight) {
    RETURN_IF_ERROR(ComparePuts(plan, figures, served, in_flight));
  }
  return CompareSizes(plan, figures, served);
}

}  // namespace

absl::Status BenchItemsFs(const Plan& plan, Figures& figures) {
  Served served(plan.holdfastd, plan.directory);
  return Measure(plan, figures, served);
}

absl::Status BenchItemsPg(const Plan& plan, Figures& figures) {
  ASSIGN_OR_RETURN(const auto database, Postgres::Start(plan, figures));
  Served served(plan.holdfastd, plan.directory, Keeping::In(database->dsn("store")));
  return Measure(plan, figures, served);
}

}  // namespace holdfast::bench

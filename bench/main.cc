// holdfast-bench: measures a holdfastd and prints one line per figure.
// scripts/bench builds and calls it.
#include "bench/benches.h"
#include "bench/echo.h"
#include "bench/machine.h"
#include "platform/status_macros.h"

#include <CLI/CLI.hpp>

#include <array>
#include <filesystem>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::bench {
namespace {

constexpr size_t kSmokeRounds = 1;

struct Bench {
  std::string_view name;
  absl::Status (*run)(const Plan& plan, Figures& figures);
};
constexpr std::array<Bench, 24> kBenches = {{{.name = "commit-fs", .run = BenchCommitFs},
                                             {.name = "append-fs", .run = BenchAppendFs},
                                             {.name = "recover-fs", .run = BenchRecoverFs},
                                             {.name = "resume-fs", .run = BenchResumeFs},
                                             {.name = "list-fs", .run = BenchListFs},
                                             {.name = "items-fs", .run = BenchItemsFs},
                                             {.name = "branch-fs", .run = BenchBranchFs},
                                             {.name = "memory-fs", .run = BenchMemoryFs},
                                             {.name = "space-fs", .run = BenchSpaceFs},
                                             {.name = "overload", .run = BenchOverload},
                                             {.name = "watch", .run = BenchWatch},
                                             {.name = "checker", .run = BenchChecker},
                                             {.name = "telemetry", .run = BenchTelemetry},
                                             {.name = "commit-pg", .run = BenchCommitPg},
                                             {.name = "append-pg", .run = BenchAppendPg},
                                             {.name = "resume-pg", .run = BenchResumePg},
                                             {.name = "list-pg", .run = BenchListPg},
                                             {.name = "items-pg", .run = BenchItemsPg},
                                             {.name = "branch-pg", .run = BenchBranchPg},
                                             {.name = "memory-pg", .run = BenchMemoryPg},
                                             {.name = "space-pg", .run = BenchSpacePg},
                                             {.name = "scale-pg", .run = BenchScalePg},
                                             {.name = "neighbours-pg", .run = BenchNeighboursPg},
                                             {.name = "peers-pg", .run = BenchPeersPg}}};

struct Options {
  Plan plan;
  bool list = false;
  bool serve_echo = false;
  std::vector<std::string> names;
};

absl::Status Measure(const Bench& bench, const Plan& all, const std::string& environment) {
  Plan plan = all;
  plan.directory += "/data/" + std::string(bench.name);
  if (!plan.journaled.empty()) plan.journaled += "/" + std::string(bench.name);
  std::filesystem::remove_all(plan.directory);
  std::filesystem::create_directories(plan.directory);
  Figures figures(std::string(bench.name), all.directory, environment + "# " + LoadLine() + "\n");
  const absl::Status status = bench.run(plan, figures);
  figures.Remark("at the end: " + LoadLine());
  if (status.ok()) std::filesystem::remove_all(plan.directory);  // else the logs say what happened
  return status;
}

// Answers an exit code: 0 when everything was measured, 1 when not, 2 for a wrong name.
int Run(const Options& options) {
  std::vector<const Bench*> wanted;
  for (const std::string& name : options.names) {
    for (const Bench& bench : kBenches) {
      if (bench.name == name) wanted.push_back(&bench);
    }
  }
  if (wanted.size() != options.names.size() || wanted.empty()) {
    std::cerr << "bench: name one or more of --list\n";
    return 2;
  }
  std::filesystem::create_directories(options.plan.directory);
  absl::Status status = CheckMachine(options.plan.directory);
  absl::StatusOr<std::string> environment = DescribeMachine(options.plan.directory);
  status.Update(environment.status());
  if (status.ok()) {
    if (options.plan.quick) *environment += "# quick: a smoke test, these are no figures\n";
    std::cerr << *environment;
  }
  for (const Bench* bench : wanted) {
    if (status.ok()) status = Measure(*bench, options.plan, *environment);
  }
  if (!status.ok()) std::cerr << "bench: not measured: " << status.message() << "\n";
  return status.ok() ? 0 : 1;
}

int Main(int argc, char** argv) {
  Options options;
  Plan& plan = options.plan;
  CLI::App app("Measures a holdfastd.", "holdfast-bench");
  app.add_flag("--list", options.list, "the names of the benches");
  app.add_flag("--quick", plan.quick, "a smoke test: few and short rounds");
  app.add_flag("--serve-echo", options.serve_echo, "be the opponent that only echoes");
  app.add_option("--holdfastd", plan.holdfastd, "the server that is measured");
  app.add_option("--directory", plan.directory, "where data and the files of rounds go");
  app.add_option("--journaled", plan.journaled, "a directory on ext4 with a journal");
  app.add_option("--peers", plan.peers, "where the opponents of peers-pg are installed");
  app.add_option("names", options.names);
  CLI11_PARSE(app, argc, argv);
  if (options.list) {
    for (const Bench& bench : kBenches) std::cout << bench.name << "\n";
    return 0;
  }
  if (options.serve_echo) return ServeBareEcho();
  if (plan.quick) plan.rounds = kSmokeRounds;
  plan.self = std::filesystem::canonical(argv[0]);
  plan.directory = std::filesystem::absolute(plan.directory);
  return Run(options);
}

}  // namespace
}  // namespace holdfast::bench

int main(int argc, char** argv) { return holdfast::bench::Main(argc, argv); }

// Every bench, by name.
#ifndef HOLDFAST_BENCH_BENCHES_H_
#define HOLDFAST_BENCH_BENCHES_H_

#include "bench/figures.h"

#include "absl/status/status.h"

#include <cstddef>
#include <string>

namespace holdfast::bench {

// What a run is given.
struct Plan {
  std::string holdfastd;  // the binary that is measured
  std::string self;       // this program, for the opponents that are processes of their own
  std::string directory;  // for data of this run alone
  std::string journaled;  // a directory on ext4 with a journal; empty where there is none
  std::string peers;      // where the opponents of peers-pg are installed; empty where they are not
  size_t rounds = 7;
  bool quick = false;  // a smoke test: what it prints are no figures

  // So many of `full`, or of `smoke` in a smoke test.
  [[nodiscard]] size_t Many(size_t full, size_t smoke) const { return quick ? smoke : full; }
};

// Each prints its figures, or answers why there are none: something failed, or what was
// acknowledged was not there afterwards.
absl::Status BenchCommitFs(const Plan& plan, Figures& figures);
absl::Status BenchCommitPg(const Plan& plan, Figures& figures);
absl::Status BenchAppendPg(const Plan& plan, Figures& figures);
absl::Status BenchResumePg(const Plan& plan, Figures& figures);
absl::Status BenchListPg(const Plan& plan, Figures& figures);
absl::Status BenchMemoryPg(const Plan& plan, Figures& figures);
absl::Status BenchSpacePg(const Plan& plan, Figures& figures);
absl::Status BenchScalePg(const Plan& plan, Figures& figures);
absl::Status BenchNeighboursPg(const Plan& plan, Figures& figures);
absl::Status BenchPeersPg(const Plan& plan, Figures& figures);
absl::Status BenchRecoverFs(const Plan& plan, Figures& figures);
absl::Status BenchSpaceFs(const Plan& plan, Figures& figures);
absl::Status BenchWatch(const Plan& plan, Figures& figures);
absl::Status BenchAppendFs(const Plan& plan, Figures& figures);
absl::Status BenchResumeFs(const Plan& plan, Figures& figures);
absl::Status BenchItemsFs(const Plan& plan, Figures& figures);
absl::Status BenchItemsPg(const Plan& plan, Figures& figures);
absl::Status BenchBranchFs(const Plan& plan, Figures& figures);
absl::Status BenchBranchPg(const Plan& plan, Figures& figures);
absl::Status BenchListFs(const Plan& plan, Figures& figures);
absl::Status BenchMemoryFs(const Plan& plan, Figures& figures);
absl::Status BenchOverload(const Plan& plan, Figures& figures);
absl::Status BenchChecker(const Plan& plan, Figures& figures);
absl::Status BenchTelemetry(const Plan& plan, Figures& figures);

}  // namespace holdfast::bench

#endif  // HOLDFAST_BENCH_BENCHES_H_

// How a session is kept without a log: each changed file is written anew, synced and renamed over
// the old one, and the directory is synced. Runs without a server and without gRPC.
#ifndef HOLDFAST_BENCH_RENAME_STORE_H_
#define HOLDFAST_BENCH_RENAME_STORE_H_

#include "bench/closed_loop.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::bench {

class RenameSession;

// Used by one thread, which starts one more for each session while a round lasts.
class RenameStore {
 public:
  // Makes `sessions` directories below `directory`.
  static absl::StatusOr<std::unique_ptr<RenameStore>> Make(const std::string& directory,
                                                           size_t sessions);
  RenameStore();
  RenameStore(const RenameStore&) = delete;
  RenameStore& operator=(const RenameStore&) = delete;
  ~RenameStore();

  // Commits `count` times 8 KB of fresh bytes, one session per thread.
  absl::StatusOr<Round> Commit(uint64_t count);
  // FAILED_PRECONDITION unless the files hold exactly what was acknowledged.
  absl::Status Count();

 private:
  std::vector<std::unique_ptr<RenameSession>> sessions_;
};

}  // namespace holdfast::bench

#endif  // HOLDFAST_BENCH_RENAME_STORE_H_

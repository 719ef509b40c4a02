// What the disk alone allows: 8 KB appended to a file that has its space already, and synced.
#ifndef HOLDFAST_BENCH_RAW_SYNC_H_
#define HOLDFAST_BENCH_RAW_SYNC_H_

#include "bench/closed_loop.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::bench {

class RawFile;

// Used by one thread, which starts one more for each file while a round lasts.
class RawSync {
 public:
  // Makes `files` files below `directory`.
  static absl::StatusOr<std::unique_ptr<RawSync>> Make(const std::string& directory, size_t files);
  RawSync();
  RawSync(const RawSync&) = delete;
  RawSync& operator=(const RawSync&) = delete;
  ~RawSync();

  // Writes and syncs `count` times 8 KB of fresh bytes.
  absl::StatusOr<Round> Commit(uint64_t count);

 private:
  std::vector<std::unique_ptr<RawFile>> files_;
};

}  // namespace holdfast::bench

#endif  // HOLDFAST_BENCH_RAW_SYNC_H_

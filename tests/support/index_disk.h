// A disk in memory with the directory of one session, for tests of its sorted index.
#ifndef HOLDFAST_TESTS_SUPPORT_INDEX_DISK_H_
#define HOLDFAST_TESTS_SUPPORT_INDEX_DISK_H_

#include "session/ids.h"
#include "store-fs/files.h"
#include "store-fs/index_entry.h"
#include "store-fs/index_view.h"
#include "store-fs/sorted_run.h"
#include "tests/support/memory_files.h"

#include "absl/status/statusor.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::test {

class IndexDisk {
 public:
  IndexDisk();

  [[nodiscard]] fs::RunFiles where() { return {.files = *files_, .key = key_}; }
  // The path of run.<file>.
  [[nodiscard]] std::string PathOf(uint64_t file) const;
  // Writes run.<file> of entries that are in order.
  std::shared_ptr<const fs::SortedRun> Write(uint64_t file,
                                             const std::vector<fs::IndexEntry>& entries,
                                             size_t suffix = 0);
  // How often files were read since the last call.
  size_t TakeReads();
  MemoryDisk& disk() { return disk_; }

 private:
  const SessionKey key_;
  MemoryDisk disk_;
  size_t reads_ = 0;
  std::unique_ptr<fs::Files> files_;
};

// All entries of a run, read from the beginning to the end.
absl::StatusOr<std::vector<fs::IndexEntry>> EntriesOf(const fs::RunFiles& where,
                                                      const fs::SortedRun& run);
// All entries of a view in a range, in the order in which they are read.
absl::StatusOr<std::vector<fs::IndexEntry>> EntriesIn(
    const fs::RunFiles& where, const fs::IndexView& view, const fs::KeyRange& range,
    fs::Direction direction = fs::Direction::kAscending);
// Those that a cursor has not read yet.
absl::StatusOr<std::vector<fs::IndexEntry>> EntriesLeft(fs::IndexCursor& cursor);

}  // namespace holdfast::test

#endif  // HOLDFAST_TESTS_SUPPORT_INDEX_DISK_H_

// A disk in memory that knows what is durable: what a power cut would leave of it can be looked at.
//
// Contents and names are durable by their own syncs, as on a real file system: a synced file whose
// name was never synced may be gone, and a renamed file may be back under its old name.
#ifndef HOLDFAST_TESTS_SUPPORT_MEMORY_FILES_H_
#define HOLDFAST_TESTS_SUPPORT_MEMORY_FILES_H_

#include "store-fs/files.h"

#include "absl/synchronization/mutex.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::test {

// A file or directory behind any number of names.
struct MemoryNode {
  uint64_t inode = 0;
  bool directory = false;
  std::string bytes;          // of a file, as the running system shows it
  std::string durable_bytes;  // as it surely is on the disk
  std::map<std::string, std::shared_ptr<MemoryNode>> names;  // of a directory
  std::map<std::string, std::shared_ptr<MemoryNode>> durable_names;
};

// What a power cut does to what was not synced.
enum class CutKind {
  kKilled,      // nothing is lost: the process alone died
  kNothing,     // everything unsynced is lost
  kNamesOnly,   // names survive, contents do not
  kBytesOnly,   // contents survive, names do not
  kTorn,        // names survive; of contents every second 512-byte sector
  kZeroHeaded,  // names survive; of contents all but the first changed sector
};
inline constexpr CutKind kCuts[] = {CutKind::kKilled,    CutKind::kNothing, CutKind::kNamesOnly,
                                    CutKind::kBytesOnly, CutKind::kTorn,    CutKind::kZeroHeaded};

// Which syncs the disk ignores, as a store that forgot them would leave it.
struct MissingSyncs {
  bool of_files = false;
  bool of_directories = false;
  std::string directories_ending;  // of these alone; empty: of all
};

class MemoryDisk {
 public:
  MemoryDisk();

  // The disk as a seam. `before` is called before each operation that changes it; what it answers,
  // if it is not OK, is what the operation answers, undone.
  std::unique_ptr<fs::Files> Open(
      std::function<absl::Status(const std::string& operation, const std::string& path)> before,
      MissingSyncs missing = {});
  // The same, where nothing fails.
  std::unique_ptr<fs::Files> Open(MissingSyncs missing = {});

  // What is left after a cut, as a disk of its own.
  [[nodiscard]] MemoryDisk After(CutKind cut) const;
  // The same bytes and names give the same text.
  [[nodiscard]] std::string Digest() const;
  // The file's bytes as they are now; empty when there is none.
  [[nodiscard]] std::string Read(const std::string& path) const;
  // Replaces them, durably.
  void Write(const std::string& path, const std::string& bytes);
  // Makes the same tree below `directory`, with the modes that a store gives.
  void CopyTo(const std::filesystem::path& directory) const;

 private:
  std::shared_ptr<absl::Mutex> mutex_;
  std::shared_ptr<MemoryNode> root_;
};

// The files of `disk` in place of the system's. `disk` must outlive them.
fs::FilesWrapper OnDisk(MemoryDisk& disk);

}  // namespace holdfast::test

#endif  // HOLDFAST_TESTS_SUPPORT_MEMORY_FILES_H_

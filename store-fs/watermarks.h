// The file `watermarks`: how far the journal of each session has been acknowledged
// (docs/formats.md, "watermarks"). A journal that ends before its watermark has lost what was
// acknowledged, which an unfinished write never does: it is damage and no tail to be cut.
//
// A watermark is written when its bytes are durable and without a sync of its own. It outlives the
// process; what a power cut leaves of it may be old, and is true all the same.
#ifndef HOLDFAST_STORE_FS_WATERMARKS_H_
#define HOLDFAST_STORE_FS_WATERMARKS_H_

#include "session/ids.h"
#include "store-fs/files.h"

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::fs {

// A file by its inode and its birth: a copy that is put in its place is another one.
struct FileIdentity {
  uint64_t inode = 0;  // 0 and 0: any file
  int64_t birth_ns = 0;

  bool operator==(const FileIdentity&) const = default;
};

struct Watermark {
  FileIdentity file;
  uint64_t end = 0;  // of the last frame that was acknowledged
  Revision revision;

  // Whether it says something of the file `other`.
  [[nodiscard]] bool IsOf(const FileIdentity& other) const {
    return file == FileIdentity() || file == other;
  }
};

// How far the watermarks of the run before apply.
enum class WatermarkUse : uint8_t {
  kOfTheseFiles,  // each of the file that it names
  kOfCopies,      // the root was copied after an orderly end: each of the file that is there
  kOfNothing,     // what lies there is what counts from now on
};

// Any thread may call.
class Watermarks {
 public:
  // Reads the file, or starts it. Without space for it, or after a failed write, watermarks are
  // kept in memory alone. UNAVAILABLE when it is there and cannot be read.
  static absl::StatusOr<std::unique_ptr<Watermarks>> Open(Files& files, WatermarkUse use);

  std::optional<Watermark> Find(const SessionKey& key);
  // `now` is the store's time. The bytes up to the watermark are durable.
  void Note(const SessionKey& key, const Watermark& mark, absl::Time now);
  // The session is deleted.
  void Forget(const SessionKey& key);
  // The same two of tombstones.log, whose place no file can take.
  std::optional<Watermark> FindTombstones();
  void NoteTombstones(uint64_t end, absl::Time now);
  // Makes what was noted durable.
  absl::Status Sync();

  // The latest store's time that was noted in the run before.
  [[nodiscard]] absl::Time recorded() const { return recorded_; }

  // For Open alone.
  explicit Watermarks(std::unique_ptr<File> file) : file_(std::move(file)) {}

 private:
  using Name = std::array<char, 16>;  // the beginning of a digest of the key
  struct Row {
    uint64_t slot = 0;
    Watermark mark;
  };

  static Name NameOf(const SessionKey& key);
  static Name NameOfTombstones() { return {}; }
  absl::Status Load(WatermarkUse use);
  std::optional<Watermark> FindNamed(const Name& name);
  void NoteNamed(const Name& name, const Watermark& mark, absl::Time now);
  void Write(uint64_t slot, const std::string& bytes);

  const std::unique_ptr<File> file_;  // nullptr: there is none
  absl::Time recorded_ = absl::UnixEpoch();
  absl::Mutex mutex_;
  absl::flat_hash_map<Name, Row> rows_ ABSL_GUARDED_BY(mutex_);
  std::vector<uint64_t> free_ ABSL_GUARDED_BY(mutex_);  // slots without a watermark
  uint64_t slots_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_WATERMARKS_H_

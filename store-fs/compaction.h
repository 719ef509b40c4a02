// Compaction: sealed logs of which most is dead, or that are many and small, are written anew as
// one log of their live items and slots (docs/formats.md). It reads and writes without the
// session's lock; only the switch to the new log needs it.
#ifndef HOLDFAST_STORE_FS_COMPACTION_H_
#define HOLDFAST_STORE_FS_COMPACTION_H_

#include "session/ids.h"
#include "store-fs/files.h"
#include "store-fs/manifest.h"
#include "store-fs/segment.h"
#include "store-fs/session_state.h"

#include "absl/status/statusor.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::fs {

// Which sealed logs are to become one: adjacent ones of which more than half is dead, else a group
// of small ones of like size. Empty when it is not worth its cost. None of `unreadable` is among
// them.
std::set<uint64_t> ChooseLogs(const SessionState& state, const std::set<uint64_t>& unreadable);

// The live items and slots of several sealed logs, in a log and an index of their own that nothing
// names yet.
class CompactedLog {
 public:
  // Writes both to tmp/, durably, from the state in a head file, which is all that any later
  // ones name of these logs. DATA_LOSS when an item cannot
  // be read, whatever the disk says of it: its log joins `unreadable`. NOT_FOUND when one of the
  // logs is no longer there.
  static absl::StatusOr<CompactedLog> Write(Files& files, const Manifest& manifest,
                                            const SessionState& state,
                                            const std::set<uint64_t>& sources,
                                            std::set<uint64_t>& unreadable);

  // Gives both files the names of log.<file> and index.<file>.
  static absl::Status PutInPlace(Files& files, const Manifest& manifest, uint64_t file);
  // Removes both from tmp/.
  static absl::Status Discard(Files& files, const Manifest& manifest);

  // The logs that it takes the place of.
  [[nodiscard]] const std::set<uint64_t>& sources() const { return sources_; }
  // Lets `state`, of that moment or a later one, name log.<file> in place of the sources.
  void Adopt(uint64_t file, SessionState& state) const;

 private:
  // The former place of a slot version or a segment: a file, and a place in the log or in the
  // index.
  using Origin = std::pair<uint64_t, uint64_t>;
  class Writer;

  void AdoptSegments(uint64_t file, NumberedLog& log) const;

  std::set<uint64_t> sources_;
  uint64_t bytes_ = 0;
  std::vector<SegmentInfo> joined_;  // one for each log of items
  std::map<Origin, size_t> joined_by_source_;
  std::map<Origin, Extent> slots_;
};

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_COMPACTION_H_

// A log of items numbered from 1: older ones in sealed logs, the newest in the journal.
#ifndef HOLDFAST_STORE_FS_NUMBERED_LOG_H_
#define HOLDFAST_STORE_FS_NUMBERED_LOG_H_

#include "platform/encoding.h"
#include "session/ids.h"
#include "store-fs/files.h"
#include "store-fs/segment.h"

#include "absl/status/statusor.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::fs {

struct NumberedLog {
  std::vector<SegmentInfo> segments;  // oldest first
  std::vector<Extent> tail;           // in journal.log, newest last
  uint64_t next = 1;                  // the number of the item to come

  [[nodiscard]] uint64_t tail_first() const { return next - tail.size(); }
  // The oldest number that is still kept; `next` when there is none.
  [[nodiscard]] uint64_t first() const {
    return segments.empty() ? tail_first() : segments.front().first;
  }
  void Add(const Extent& extent) {
    tail.push_back(extent);
    ++next;
  }
  // Forgets the items behind `last`.
  void Cut(uint64_t last);
};

// Where a log's bytes are found.
struct LogFiles {
  Files* files;
  File* journal;  // the open journal.log that `tail` lies in
  const SessionKey* key;
};

// Items from number `from` on, until `most` items or `limit` bytes (one at least), or the log's
// end. DATA_LOSS when one of them cannot be read, NOT_FOUND when a sealed log has just been
// replaced.
absl::StatusOr<std::vector<std::string>> ReadLog(const LogFiles& where, const NumberedLog& log,
                                                 uint64_t from, size_t most, size_t limit);

// The log as a head file names it: its tail is empty there.
void PutLog(const NumberedLog& log, Encoder& out);
NumberedLog ReadLogRecord(Decoder& in);

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_NUMBERED_LOG_H_

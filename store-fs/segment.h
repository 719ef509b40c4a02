// Sealed logs: immutable files of items, and where in them each item is (docs/formats.md).
//
// log.<g> is a journal that a rotation has sealed, or what a compaction wrote; index.<g> has the
// places of its items. Each item has its own checksum, so that a damaged one fails its own read
// alone.
#ifndef HOLDFAST_STORE_FS_SEGMENT_H_
#define HOLDFAST_STORE_FS_SEGMENT_H_

#include "session/ids.h"
#include "store-fs/files.h"
#include "store-fs/request_table.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::fs {

// Where an item's bytes lie: in the journal (file 0) or in log.<file>.
struct Extent {
  uint64_t file = 0;
  uint64_t offset = 0;
  uint64_t size = 0;
  uint32_t crc = 0;

  bool operator==(const Extent&) const = default;
};

// Consecutively numbered items of one kind in one sealed log.
struct SegmentInfo {
  uint64_t file = 0;   // log.<file> and index.<file>
  uint64_t first = 0;  // number of its first item
  uint64_t count = 0;
  uint64_t bytes = 0;     // of the items together
  uint64_t index = 0;     // where their places begin in index.<file>
  bool keyed = false;     // whether each place has a request id
  int64_t newest_us = 0;  // time of the rotation that sealed its newest item
};

// Puts index.<g> together in memory. Every item lies in the one log that it is of.
class IndexBuilder {
 public:
  // Adds the places of items; answers where they begin.
  uint64_t Add(std::span<const Extent> items);
  // The same of items that are found by a key: one for each.
  uint64_t Add(std::span<const Extent> items, std::span<const RequestKey> keys);
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// How many bytes of an index a place takes, without and with a key.
inline constexpr size_t kPlaceBytes = 12;
inline constexpr size_t kKeyedPlaceBytes = 32;

// A part of a log: from which number on, and how much of it at most.
struct Part {
  uint64_t from = 0;
  size_t items = 0;
  size_t bytes = 0;  // one item is read whatever its size
};

// The items of `info` that `part` asks for. DATA_LOSS when one of them cannot be read.
absl::StatusOr<std::vector<std::string>> ReadItems(Files& files, const SessionKey& key,
                                                   const SegmentInfo& info, const Part& part);

// The places of all items of `info`. DATA_LOSS when the index is too short.
absl::StatusOr<std::vector<Extent>> ReadPlaces(Files& files, const SessionKey& key,
                                               const SegmentInfo& info);

// The keys of the items of `info`, in order, without reading an item; nullopt for one that is not
// what was written. DATA_LOSS when the index is too short.
absl::StatusOr<std::vector<std::optional<RequestKey>>> ReadKeys(Files& files, const SessionKey& key,
                                                                const SegmentInfo& info);

// The bytes at `extent`, checked. DATA_LOSS when they are not what was written.
absl::StatusOr<std::string> ReadExtent(File& file, const Extent& extent);

// The bytes at each extent, all of one file, from its beginning on. Adjacent extents are read
// together. DATA_LOSS when one of them is not what was written.
absl::StatusOr<std::vector<std::string>> ReadExtents(File& file, std::span<const Extent> extents);

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_SEGMENT_H_

// Segments: immutable files of items, written once by a rotation (docs/formats.md).
//
// Each item carries its own checksum, so that one damaged item fails its own read and nobody
// else's.
#ifndef HOLDFAST_STORE_FS_SEGMENT_H_
#define HOLDFAST_STORE_FS_SEGMENT_H_

#include "store-fs/files.h"
#include "store-fs/request_table.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::fs {

// Where an item's bytes lie: in the journal (file 0) or in the segment of that rotation.
struct Extent {
  uint64_t file = 0;
  uint64_t offset = 0;
  uint64_t size = 0;
  uint32_t crc = 0;
};

// A segment of consecutively numbered items.
struct SegmentInfo {
  uint64_t file = 0;   // the rotation that wrote it
  uint64_t first = 0;  // number of its first item
  uint64_t count = 0;
  uint64_t bytes = 0;     // of items, where the index begins
  int64_t newest_us = 0;  // time of the rotation that wrote its newest item
};

// Puts a segment together in memory.
class SegmentBuilder {
 public:
  // Answers where the item will lie in the file.
  Extent Add(std::string_view item);
  // The same of an item that is found by `key`: either every item of a segment has one, or none.
  void Add(std::string_view item, const RequestKey& key);
  // All items of another one, in order.
  void AddAll(const SegmentBuilder& other);
  [[nodiscard]] uint64_t count() const { return offsets_.size(); }
  [[nodiscard]] uint64_t bytes() const { return bytes_.size(); }
  [[nodiscard]] bool empty() const { return offsets_.empty(); }
  // The file's bytes: items, then their offsets, then their keys with a checksum.
  [[nodiscard]] std::string Finish() const;

 private:
  std::string bytes_;
  std::vector<uint64_t> offsets_;
  std::string keys_;
};

// A part of a log: from which number on, and how much of it at most.
struct Part {
  uint64_t from = 0;
  size_t items = 0;
  size_t bytes = 0;  // one item is read whatever its size
};

// The items of `info` that `part` asks for. DATA_LOSS when one of them cannot be read.
absl::StatusOr<std::vector<std::string>> ReadItems(Files& files, const std::string& path,
                                                   const SegmentInfo& info, const Part& part);

// All items of `bytes`, a whole file of `info`, as views into it. DATA_LOSS when one of them is not
// what was written.
absl::StatusOr<std::vector<std::string_view>> ItemsOf(std::string_view bytes,
                                                      const SegmentInfo& info);

// The keys of the items of `info`, in order, without reading an item. DATA_LOSS when they are not
// what was written.
absl::StatusOr<std::vector<RequestKey>> ReadKeys(Files& files, const std::string& path,
                                                 const SegmentInfo& info);

// The bytes at `extent`, checked. DATA_LOSS when they are not what was written.
absl::StatusOr<std::string> ReadExtent(File& file, const Extent& extent);
// The same in a file whose bytes from its beginning on are `bytes`; a view into them.
absl::StatusOr<std::string_view> FindExtent(std::string_view bytes, const Extent& extent);

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_SEGMENT_H_

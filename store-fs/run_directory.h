// What is behind the blocks of a run: where each block begins, its checksum and its first key, and
// a filter of all keys. A reader trusts nothing in it before its own checksum, which head.<g> has.
#ifndef HOLDFAST_STORE_FS_RUN_DIRECTORY_H_
#define HOLDFAST_STORE_FS_RUN_DIRECTORY_H_

#include "platform/encoding.h"
#include "store-fs/key_filter.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::fs {

// What a head file says of a run.
struct RunInfo {
  uint64_t file = 0;             // run.<file>
  uint64_t blocks_bytes = 0;     // of the blocks together; the directory follows
  uint64_t directory_bytes = 0;  // of it
  uint32_t directory_crc = 0;
  // No earlier run of its space has a greater key of the same filter part as one of its keys.
  bool is_later = true;

  [[nodiscard]] uint64_t bytes() const { return blocks_bytes + directory_bytes; }
  bool operator==(const RunInfo&) const = default;
};

void PutRun(const RunInfo& info, Encoder& out);
// Fails `in` when no writer would have written such a run.
RunInfo ReadRun(Decoder& in);

struct RunBlock {
  uint64_t offset = 0;
  uint64_t size = 0;
  uint32_t crc = 0;
  std::string first;  // its first key
};

struct RunDirectory {
  size_t suffix = 0;             // of each key; see FilterPart
  std::vector<RunBlock> blocks;  // in the order of their keys; at least one
  std::string last;              // the greatest key
  KeyFilter filter;

  // The block in which the greatest key that is not greater than `key` would be; nullptr when all
  // keys are greater.
  [[nodiscard]] const RunBlock* Find(std::string_view key) const;
};

std::string EncodeDirectory(const RunDirectory& directory);
// Nothing when no writer would have written these bytes for blocks of `blocks_bytes`.
std::optional<RunDirectory> DecodeDirectory(std::string_view bytes, uint64_t blocks_bytes);

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_RUN_DIRECTORY_H_

// A block of a run: entries in the order of their keys, of at most kRunBlockBytes together.
#ifndef HOLDFAST_STORE_FS_RUN_BLOCK_H_
#define HOLDFAST_STORE_FS_RUN_BLOCK_H_

#include "platform/encoding.h"
#include "store-fs/index_entry.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::fs {

// OUT_OF_RANGE for an entry that a reader would take for damage: its key is empty or has more than
// kIndexKeyBytes, or its value more than kIndexValueBytes.
absl::Status CheckEntry(const IndexEntry& entry);

// How many bytes of a block `entry` takes.
size_t EncodedSize(const IndexEntry& entry);
// Writes it behind those before.
void PutEntry(const IndexEntry& entry, Encoder& out);

// Reads the entries of a block whose checksum is right. A view that it answers lives as long as the
// block's bytes.
class BlockReader {
 public:
  struct Entry {
    std::string_view key;
    std::optional<std::string_view> value;  // absent: the key is deleted

    [[nodiscard]] IndexEntry Copy() const;
  };

  explicit BlockReader(std::string_view block) : in_(block), more_(!block.empty()) {}

  // The next entry; nullopt at the end. DATA_LOSS when the bytes are no entry, or when its key is
  // not greater than the one before.
  absl::StatusOr<std::optional<Entry>> Next();

 private:
  Decoder in_;
  bool more_;
  std::string_view last_;
};

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_RUN_BLOCK_H_

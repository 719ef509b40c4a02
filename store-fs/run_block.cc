#include "store-fs/run_block.h"

#include "store-fs/bounds.h"

namespace holdfast::fs {
namespace {

enum EntryKind : uint8_t { kDeleted = 0, kValue = 1 };

absl::Status UnreadableBlock() {
  return absl::DataLossError("a block of a run is not what was written");
}

}  // namespace

absl::Status CheckEntry(const IndexEntry& entry) {
  const bool is_possible = !entry.key.empty() && entry.key.size() <= kIndexKeyBytes &&
                           (!entry.value || entry.value->size() <= kIndexValueBytes);
  if (is_possible) return absl::OkStatus();
  return absl::OutOfRangeError("an entry of the index would be larger than it may be");
}

size_t EncodedSize(const IndexEntry& entry) {
  Encoder sizes;
  sizes.Number(entry.key.size()).Number(kDeleted);
  if (!entry.value) return sizes.size() + entry.key.size();
  sizes.Number(entry.value->size());
  return sizes.size() + entry.key.size() + entry.value->size();
}

void PutEntry(const IndexEntry& entry, Encoder& out) {
  out.Text(entry.key).Number(entry.value ? kValue : kDeleted);
  if (entry.value) out.Text(*entry.value);
}

IndexEntry BlockReader::Entry::Copy() const {
  IndexEntry entry{.key = std::string(key), .value = std::nullopt};
  if (value) entry.value.emplace(*value);
  return entry;
}

absl::StatusOr<std::optional<BlockReader::Entry>> BlockReader::Next() {
  if (!more_) return std::nullopt;
  Entry entry{.key = in_.Text(), .value = std::nullopt};
  const uint64_t kind = in_.Number();
  if (kind == kValue) entry.value = in_.Text();
  const bool is_possible = in_.ok() && kind <= kValue && !entry.key.empty() &&
                           entry.key.size() <= kIndexKeyBytes && entry.key > last_ &&
                           (!entry.value || entry.value->size() <= kIndexValueBytes);
  if (!is_possible) {
    more_ = false;
    return UnreadableBlock();
  }
  last_ = entry.key;
  more_ = !in_.Done();
  return entry;
}

}  // namespace holdfast::fs

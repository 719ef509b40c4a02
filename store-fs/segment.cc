#include "store-fs/segment.h"

#include "session/status_macros.h"
#include "store-fs/crc32c.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

namespace holdfast::fs {
namespace {

// Before each item: its size and checksum.
struct ItemHead {
  uint32_t size;
  uint32_t crc;
};

std::string_view AsBytes(const ItemHead& head) {
  return {reinterpret_cast<const char*>(&head), sizeof head};
}

absl::Status Unreadable() { return absl::DataLossError("an item is not what was written"); }

// Where `count` items from the one at `index` on begin, and behind them where the last one ends.
absl::StatusOr<std::vector<uint64_t>> BordersOf(File& file, const SegmentInfo& info, uint64_t index,
                                                uint64_t count) {
  const bool to_the_end = index + count == info.count;
  std::vector<uint64_t> borders(count + (to_the_end ? 0 : 1));
  const size_t size = borders.size() * sizeof(uint64_t);
  ASSIGN_OR_RETURN(const std::string bytes, file.Read(info.bytes + index * sizeof(uint64_t), size));
  if (bytes.size() != size) return Unreadable();
  std::memcpy(borders.data(), bytes.data(), size);
  if (to_the_end) borders.push_back(info.bytes);
  if (borders.back() > info.bytes) return Unreadable();
  for (size_t at = 1; at < borders.size(); ++at) {
    if (borders[at] < borders[at - 1] + sizeof(ItemHead)) return Unreadable();
  }
  return borders;
}

// How many of the items between `borders` fit into `most` bytes; at least one.
size_t HowManyFit(const std::vector<uint64_t>& borders, size_t most) {
  size_t fit = 1;
  size_t bytes = 0;
  for (size_t at = 0; at + 1 < borders.size(); ++at) {
    bytes += borders[at + 1] - borders[at] - sizeof(ItemHead);
    if (at > 0 && bytes > most) break;
    fit = at + 1;
  }
  return fit;
}

// The item that is all of `bytes`, with its head.
absl::StatusOr<std::string> ItemIn(std::string_view bytes) {
  ItemHead head{};
  std::memcpy(&head, bytes.data(), sizeof head);
  const std::string_view item = bytes.substr(sizeof head);
  if (head.size != item.size() || head.crc != Crc32c(item)) return Unreadable();
  return std::string(item);
}

}  // namespace

Extent SegmentBuilder::Add(std::string_view item) {
  const ItemHead head{.size = static_cast<uint32_t>(item.size()), .crc = Crc32c(item)};
  offsets_.push_back(bytes_.size());
  bytes_.append(AsBytes(head));
  const uint64_t at = bytes_.size();
  bytes_.append(item);
  return {.file = 0, .offset = at, .size = item.size(), .crc = head.crc};
}

void SegmentBuilder::Add(std::string_view item, const RequestKey& key) {
  Add(item);
  keys_.append(key.data(), key.size());
}

void SegmentBuilder::AddAll(const SegmentBuilder& other) {
  keys_.append(other.keys_);
  const uint64_t behind = bytes_.size();
  bytes_.append(other.bytes_);
  for (const uint64_t offset : other.offsets_) offsets_.push_back(behind + offset);
}

std::string SegmentBuilder::Finish() const {
  std::string bytes = bytes_;
  bytes.append(reinterpret_cast<const char*>(offsets_.data()), offsets_.size() * sizeof(uint64_t));
  if (keys_.empty()) return bytes;
  const uint32_t crc = Crc32c(keys_);
  bytes.append(keys_).append(reinterpret_cast<const char*>(&crc), sizeof crc);
  return bytes;
}

// Two reads, however many items.
absl::StatusOr<std::vector<std::string>> ReadItems(Files& files, const std::string& path,
                                                   const SegmentInfo& info, const Part& part) {
  ASSIGN_OR_RETURN(const std::unique_ptr<File> file, files.Open(path, OpenMode::kRead));
  const uint64_t index = part.from - info.first;
  const uint64_t asked = std::min<uint64_t>(part.items, info.count - index);
  if (asked == 0) return std::vector<std::string>();
  ASSIGN_OR_RETURN(const std::vector<uint64_t> borders, BordersOf(*file, info, index, asked));
  const size_t count = HowManyFit(borders, part.bytes);
  const uint64_t begin = borders.front();
  ASSIGN_OR_RETURN(const std::string run, file->Read(begin, borders[count] - begin));
  if (run.size() != borders[count] - begin) return Unreadable();
  std::vector<std::string> items;
  items.reserve(count);
  for (size_t at = 0; at < count; ++at) {
    const std::string_view bytes(run.data() + borders[at] - begin, borders[at + 1] - borders[at]);
    ASSIGN_OR_RETURN(items.emplace_back(), ItemIn(bytes));
  }
  return items;
}

absl::StatusOr<std::vector<RequestKey>> ReadKeys(Files& files, const std::string& path,
                                                 const SegmentInfo& info) {
  ASSIGN_OR_RETURN(const std::unique_ptr<File> file, files.Open(path, OpenMode::kRead));
  std::vector<RequestKey> keys(info.count);
  const size_t size = keys.size() * sizeof(RequestKey);
  uint32_t crc = 0;
  const uint64_t at = info.bytes + info.count * sizeof(uint64_t);
  ASSIGN_OR_RETURN(const std::string bytes, file->Read(at, size + sizeof crc));
  if (bytes.size() != size + sizeof crc) return Unreadable();
  std::memcpy(&crc, bytes.data() + size, sizeof crc);
  if (crc != Crc32c(std::string_view(bytes).substr(0, size))) return Unreadable();
  std::memcpy(keys.data(), bytes.data(), size);
  return keys;
}

absl::StatusOr<std::vector<std::string_view>> ItemsOf(std::string_view bytes,
                                                      const SegmentInfo& info) {
  std::vector<std::string_view> items;
  uint64_t offset = 0;
  for (uint64_t at = 0; at < info.count; ++at) {
    if (offset + sizeof(ItemHead) > bytes.size()) return Unreadable();
    ItemHead head{};
    std::memcpy(&head, bytes.data() + offset, sizeof head);
    offset += sizeof head;
    ASSIGN_OR_RETURN(const std::string_view item,
                     FindExtent(bytes, {.offset = offset, .size = head.size, .crc = head.crc}));
    items.push_back(item);
    offset += head.size;
  }
  return items;
}

absl::StatusOr<std::string_view> FindExtent(std::string_view bytes, const Extent& extent) {
  if (extent.offset > bytes.size() || extent.size > bytes.size() - extent.offset) {
    return Unreadable();
  }
  const std::string_view found = bytes.substr(extent.offset, extent.size);
  if (Crc32c(found) != extent.crc) return Unreadable();
  return found;
}

absl::StatusOr<std::string> ReadExtent(File& file, const Extent& extent) {
  ASSIGN_OR_RETURN(std::string bytes, file.Read(extent.offset, extent.size));
  if (bytes.size() != extent.size || Crc32c(bytes) != extent.crc) return Unreadable();
  return bytes;
}

}  // namespace holdfast::fs

#include "store-fs/segment.h"

#include "session/status_macros.h"
#include "store-fs/crc32c.h"

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

absl::StatusOr<uint64_t> OffsetOf(File& file, const SegmentInfo& info, uint64_t index) {
  uint64_t offset = 0;
  ASSIGN_OR_RETURN(const std::string bytes,
                   file.Read(info.bytes + index * sizeof offset, sizeof offset));
  if (bytes.size() != sizeof offset) return Unreadable();
  std::memcpy(&offset, bytes.data(), sizeof offset);
  if (offset + sizeof(ItemHead) > info.bytes) return Unreadable();
  return offset;
}

// One item at `offset`; moves it behind the item.
absl::StatusOr<std::string> ItemAt(File& file, const SegmentInfo& info, uint64_t& offset) {
  ASSIGN_OR_RETURN(const std::string bytes, file.Read(offset, sizeof(ItemHead)));
  if (bytes.size() != sizeof(ItemHead)) return Unreadable();
  ItemHead head{};
  std::memcpy(&head, bytes.data(), sizeof head);
  const uint64_t start = offset + sizeof head;
  if (head.size > info.bytes - start) return Unreadable();
  offset = start + head.size;
  return ReadExtent(file, {.file = info.file, .offset = start, .size = head.size, .crc = head.crc});
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

void SegmentBuilder::AddAll(const SegmentBuilder& other) {
  const uint64_t behind = bytes_.size();
  bytes_.append(other.bytes_);
  for (const uint64_t offset : other.offsets_) offsets_.push_back(behind + offset);
}

std::string SegmentBuilder::Finish() const {
  std::string bytes = bytes_;
  bytes.append(reinterpret_cast<const char*>(offsets_.data()), offsets_.size() * sizeof(uint64_t));
  return bytes;
}

absl::StatusOr<std::vector<std::string>> ReadItems(Files& files, const std::string& path,
                                                   const SegmentInfo& info, const Part& part) {
  ASSIGN_OR_RETURN(const std::unique_ptr<File> file, files.Open(path, OpenMode::kRead));
  ASSIGN_OR_RETURN(uint64_t offset, OffsetOf(*file, info, part.from - info.first));
  std::vector<std::string> items;
  size_t bytes = 0;
  for (uint64_t number = part.from; number < info.first + info.count; ++number) {
    if (items.size() == part.items) break;
    ASSIGN_OR_RETURN(std::string item, ItemAt(*file, info, offset));
    if (!items.empty() && bytes + item.size() > part.bytes) break;
    bytes += item.size();
    items.push_back(std::move(item));
  }
  return items;
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

#include "store-fs/segment.h"

#include "platform/status_macros.h"
#include "session/limits.h"
#include "store-fs/crc32c.h"
#include "store-fs/layout.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

namespace holdfast::fs {
namespace {

// Extents that are so near are read together, and so much of a file at once.
constexpr uint64_t kGapMost = 16 * kKiB;
constexpr uint64_t kRunMost = kMiB;

// A place in an index. A place with a key is followed by the key and the checksum of both.
struct Place {
  uint32_t offset;
  uint32_t size;
  uint32_t crc;
};
static_assert(sizeof(Place) == kPlaceBytes);
static_assert(kPlaceBytes + sizeof(RequestKey) + sizeof(uint32_t) == kKeyedPlaceBytes);

absl::Status UnreadableItem() { return absl::DataLossError("an item is not what was written"); }

size_t PlaceBytesOf(const SegmentInfo& info) { return info.keyed ? kKeyedPlaceBytes : kPlaceBytes; }

void PutPlace(const Extent& extent, std::string& out) {
  const Place place{.offset = static_cast<uint32_t>(extent.offset),
                    .size = static_cast<uint32_t>(extent.size),
                    .crc = extent.crc};
  out.append(reinterpret_cast<const char*>(&place), sizeof place);
}

// The index's bytes of `count` items from the one at `at` on.
absl::StatusOr<std::string> ReadIndex(Files& files, const SessionKey& key, const SegmentInfo& info,
                                      uint64_t at, uint64_t count) {
  ASSIGN_OR_RETURN(const std::unique_ptr<File> file,
                   files.Open(PathOf(key, FileKind::kIndex, info.file), OpenMode::kRead));
  const size_t each = PlaceBytesOf(info);
  ASSIGN_OR_RETURN(std::string bytes, file->Read(info.index + at * each, count * each));
  if (bytes.size() != count * each) return UnreadableItem();
  return bytes;
}

absl::StatusOr<std::vector<Extent>> PlacesOf(Files& files, const SessionKey& key,
                                             const SegmentInfo& info, uint64_t at, uint64_t count) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadIndex(files, key, info, at, count));
  std::vector<Extent> extents(count);
  for (uint64_t i = 0; i < count; ++i) {
    Place place{};
    std::memcpy(&place, bytes.data() + i * PlaceBytesOf(info), sizeof place);
    extents[i] = {.file = info.file, .offset = place.offset, .size = place.size, .crc = place.crc};
  }
  return extents;
}

// How many of the items fit into `most` bytes; at least one.
size_t HowManyFit(std::span<const Extent> extents, size_t most) {
  size_t fit = 1;
  size_t bytes = 0;
  for (size_t at = 0; at < extents.size(); ++at) {
    bytes += extents[at].size;
    if (at > 0 && bytes > most) break;
    fit = at + 1;
  }
  return fit;
}

// How many extents from the first on are read as one run.
size_t CountOneRun(std::span<const Extent> extents) {
  size_t together = 1;
  for (; together < extents.size(); ++together) {
    const Extent& last = extents[together - 1];
    const Extent& next = extents[together];
    const uint64_t end = last.offset + last.size;
    if (next.offset < end || next.offset - end > kGapMost) break;
    if (next.offset + next.size - extents.front().offset > kRunMost) break;
  }
  return together;
}

}  // namespace

uint64_t IndexBuilder::Add(std::span<const Extent> items) {
  const uint64_t begin = bytes_.size();
  for (const Extent& extent : items) PutPlace(extent, bytes_);
  return begin;
}

uint64_t IndexBuilder::Add(std::span<const Extent> items, std::span<const RequestKey> keys) {
  const uint64_t begin = bytes_.size();
  for (size_t at = 0; at < items.size(); ++at) {
    const size_t from = bytes_.size();
    PutPlace(items[at], bytes_);
    bytes_.append(keys[at].data(), keys[at].size());
    const uint32_t crc = Crc32c(std::string_view(bytes_).substr(from));
    bytes_.append(reinterpret_cast<const char*>(&crc), sizeof crc);
  }
  return begin;
}

absl::StatusOr<std::vector<std::string>> ReadItems(Files& files, const SessionKey& key,
                                                   const SegmentInfo& info, const Part& part) {
  const uint64_t at = part.from - info.first;
  const uint64_t asked = std::min<uint64_t>(part.items, info.count - at);
  if (asked == 0) return std::vector<std::string>();
  ASSIGN_OR_RETURN(const std::vector<Extent> extents, PlacesOf(files, key, info, at, asked));
  ASSIGN_OR_RETURN(const std::unique_ptr<File> log,
                   files.Open(PathOf(key, FileKind::kLog, info.file), OpenMode::kRead));
  return ReadExtents(*log, std::span(extents).first(HowManyFit(extents, part.bytes)));
}

absl::StatusOr<std::vector<Extent>> ReadPlaces(Files& files, const SessionKey& key,
                                               const SegmentInfo& info) {
  return PlacesOf(files, key, info, 0, info.count);
}

absl::StatusOr<std::vector<std::optional<RequestKey>>> ReadKeys(Files& files, const SessionKey& key,
                                                                const SegmentInfo& info) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadIndex(files, key, info, 0, info.count));
  std::vector<std::optional<RequestKey>> keys(info.count);
  for (uint64_t at = 0; at < info.count; ++at) {
    const std::string_view place =
        std::string_view(bytes).substr(at * kKeyedPlaceBytes, kKeyedPlaceBytes);
    uint32_t crc = 0;
    const std::string_view checked = place.substr(0, kKeyedPlaceBytes - sizeof crc);
    std::memcpy(&crc, place.data() + checked.size(), sizeof crc);
    if (Crc32c(checked) != crc) continue;
    std::memcpy(keys[at].emplace().data(), checked.data() + kPlaceBytes, sizeof(RequestKey));
  }
  return keys;
}

absl::StatusOr<std::string> ReadExtent(File& file, const Extent& extent) {
  // No item is larger than what a frame may hold: a place that says so is damaged.
  if (extent.size > kFramePayloadBytes) return UnreadableItem();
  ASSIGN_OR_RETURN(std::string bytes, file.Read(extent.offset, extent.size));
  if (bytes.size() != extent.size || Crc32c(bytes) != extent.crc) return UnreadableItem();
  return bytes;
}

absl::StatusOr<std::vector<std::string>> ReadExtents(File& file, std::span<const Extent> extents) {
  std::vector<std::string> items;
  items.reserve(extents.size());
  while (!extents.empty()) {
    const std::span<const Extent> run = extents.first(CountOneRun(extents));
    extents = extents.subspan(run.size());
    if (run.size() == 1) {
      ASSIGN_OR_RETURN(items.emplace_back(), ReadExtent(file, run.front()));
      continue;
    }
    const uint64_t begin = run.front().offset;
    ASSIGN_OR_RETURN(const std::string bytes,
                     file.Read(begin, run.back().offset + run.back().size - begin));
    for (const Extent& extent : run) {
      const uint64_t at = extent.offset - begin;
      if (at + extent.size > bytes.size()) return UnreadableItem();
      const std::string_view item = std::string_view(bytes).substr(at, extent.size);
      if (Crc32c(item) != extent.crc) return UnreadableItem();
      items.emplace_back(item);
    }
  }
  return items;
}

}  // namespace holdfast::fs

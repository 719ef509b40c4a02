#include "store-fs/item_entry.h"

#include "platform/encoding.h"
#include "store-fs/bounds.h"

#include <limits>

namespace holdfast::fs {
namespace {

constexpr uint64_t kItemEntryVersion = 1;
constexpr char kEndOfCollection = '\0';

// What has no bytes has no place.
void PutPlaceOf(const Extent& extent, Encoder& out) {
  out.Number(extent.size);
  if (extent.size == 0) return;
  out.Number(extent.file).Number(extent.offset).Number(extent.crc);
}

Extent ReadPlaceOf(Decoder& in) {
  Extent extent;
  extent.size = in.Number();
  if (extent.size == 0) return extent;
  extent.file = in.Number();
  extent.offset = in.Number();
  const uint64_t crc = in.Number();
  if (crc > std::numeric_limits<uint32_t>::max()) in.Fail();
  extent.crc = static_cast<uint32_t>(crc);
  return extent;
}

}  // namespace

std::string ItemKey(const ItemName& name) {
  std::string key = name.collection;
  key.push_back(kEndOfCollection);
  key.append(name.key);
  return key;
}

std::optional<ItemName> NameOfItemKey(std::string_view key) {
  const size_t end = key.find(kEndOfCollection);
  if (end == std::string_view::npos) return std::nullopt;
  return ItemName{.collection = std::string(key.substr(0, end)),
                  .key = std::string(key.substr(end + 1))};
}

KeyRange ItemKeysIn(const std::string& collection, const holdfast::KeyRange& range) {
  KeyRange keys{.from = ItemKey({.collection = collection, .key = range.start}), .to = {}};
  if (range.end.empty()) {
    keys.to = collection;
    keys.to.push_back(kEndOfCollection + 1);
  } else {
    keys.to = ItemKey({.collection = collection, .key = range.end});
  }
  return keys;
}

IndexEntry EncodeItemEntry(const ItemEntry& entry) {
  Encoder out;
  out.Number(kItemEntryVersion).Number(entry.version.value());
  out.Time(entry.created_at).Time(entry.updated_at).Number(entry.bytes);
  PutPlaceOf(entry.data, out);
  PutPlaceOf(entry.facts_at, out);
  if (entry.facts_at.size == 0) out.Text(entry.facts);
  return {.key = ItemKey(entry.name), .value = out.Take()};
}

std::optional<ItemEntry> DecodeItemEntry(const IndexEntry& entry) {
  std::optional<ItemName> name = NameOfItemKey(entry.key);
  if (!name || !entry.value) return std::nullopt;
  ItemEntry item;
  item.name = *std::move(name);
  Decoder in(*entry.value);
  if (in.Number() != kItemEntryVersion) in.Fail();
  item.version = ItemVersion(in.Number());
  item.created_at = in.Time();
  item.updated_at = in.Time();
  item.bytes = in.Number();
  item.data = ReadPlaceOf(in);
  item.facts_at = ReadPlaceOf(in);
  if (item.facts_at.size == 0) item.facts = in.Text();
  if (!in.Done()) return std::nullopt;
  return item;
}

}  // namespace holdfast::fs

// A version of a slot, and how the index holds it: the key is the owner and the position from which
// the version counts. It ends where the next version of its owner begins.
#ifndef HOLDFAST_STORE_FS_SLOT_VERSION_H_
#define HOLDFAST_STORE_FS_SLOT_VERSION_H_

#include "session/model.h"
#include "store-fs/index_entry.h"
#include "store-fs/index_key.h"
#include "store-fs/segment.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace holdfast::fs {

// The bytes of the slot are a slot record at `where`.
struct SlotVersion {
  Slot meta;  // without data
  uint64_t size = 0;
  Extent where;
};

// What an owner has from a position on.
struct SlotEntry {
  std::string owner;
  Position from;
  std::optional<SlotVersion> version;  // absent: the owner has no slot from there on
};

// The position, which is the end of each key (see FilterPart).
inline constexpr size_t kSlotKeySuffix = 2 * kKeyNumberBytes;

// What all keys of one owner begin with.
std::string SlotKeyPart(const std::string& owner);
std::string SlotKey(const std::string& owner, Position from);
// The key behind all positions of an owner.
std::string LastSlotKey(const std::string& owner);

IndexEntry EncodeSlotEntry(const SlotEntry& entry);
// Nothing when `entry` is not what EncodeSlotEntry makes.
std::optional<SlotEntry> DecodeSlotEntry(const IndexEntry& entry);

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_SLOT_VERSION_H_

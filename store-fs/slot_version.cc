#include "store-fs/slot_version.h"

#include "platform/encoding.h"
#include "session/codec/records.h"

#include <limits>
#include <string_view>
#include <utility>

namespace holdfast::fs {
namespace {

enum SlotValueKind : uint8_t { kNoSlot = 0, kSlotVersion = 1 };

std::string ValueOf(const std::optional<SlotVersion>& version) {
  Encoder out;
  if (!version) return out.Number(kNoSlot).Take();
  Slot meta = version->meta;
  meta.owner.clear();  // the key has it
  out.Number(kSlotVersion).Text(EncodeSlot(meta)).Number(version->size);
  out.Number(version->where.file).Number(version->where.offset).Number(version->where.size);
  out.Number(version->where.crc);
  return out.Take();
}

SlotVersion ReadVersion(const std::string& owner, Decoder& in) {
  SlotVersion version;
  std::optional<Slot> meta = DecodeSlot(in.Text());
  if (meta) {
    version.meta = *std::move(meta);
    version.meta.owner = owner;
  } else {
    in.Fail();
  }
  version.size = in.Number();
  version.where.file = in.Number();
  version.where.offset = in.Number();
  version.where.size = in.Number();
  const uint64_t crc = in.Number();
  if (crc > std::numeric_limits<uint32_t>::max()) in.Fail();
  version.where.crc = static_cast<uint32_t>(crc);
  return version;
}

}  // namespace

std::string SlotKeyPart(const std::string& owner) {
  std::string key;
  PutKeyText(owner, key);
  return key;
}

std::string SlotKey(const std::string& owner, Position from) {
  std::string key = SlotKeyPart(owner);
  PutKeyNumber(from.revision.value(), key);
  PutKeyNumber(from.journal.value(), key);
  return key;
}

std::string LastSlotKey(const std::string& owner) {
  constexpr uint64_t kLast = std::numeric_limits<uint64_t>::max();
  return SlotKey(owner, {.revision = Revision(kLast), .journal = JournalNumber(kLast)});
}

IndexEntry EncodeSlotEntry(const SlotEntry& entry) {
  return {.key = SlotKey(entry.owner, entry.from), .value = ValueOf(entry.version)};
}

std::optional<SlotEntry> DecodeSlotEntry(const IndexEntry& entry) {
  std::string_view key = entry.key;
  std::optional<std::string> owner = TakeKeyText(key);
  const std::optional<uint64_t> revision = TakeKeyNumber(key);
  const std::optional<uint64_t> journal = TakeKeyNumber(key);
  if (!owner || !revision || !journal || !key.empty() || !entry.value) return std::nullopt;
  SlotEntry slot{.owner = *std::move(owner),
                 .from = {.revision = Revision(*revision), .journal = JournalNumber(*journal)},
                 .version = std::nullopt};
  Decoder in(*entry.value);
  const uint64_t kind = in.Number();
  if (kind == kSlotVersion) slot.version = ReadVersion(slot.owner, in);
  if (kind > kSlotVersion || !in.Done()) return std::nullopt;
  return slot;
}

}  // namespace holdfast::fs

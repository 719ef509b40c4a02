#include "store-fs/change_record.h"

#include "platform/encoding.h"
#include "session/codec/item_facts.h"
#include "session/codec/records.h"
#include "session/data_bytes.h"
#include "store-fs/bounds.h"
#include "store-fs/frame.h"
#include "store-fs/item_entry.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>

namespace holdfast::fs {
namespace {

constexpr uint64_t kChangeVersion = 4;

// What a change has beside the rest, in the number behind its events.
constexpr uint64_t kTakesUpload = 1;
constexpr uint64_t kWritesItems = 2;
constexpr uint64_t kAllParts = kTakesUpload | kWritesItems;

void PutTurn(const std::optional<TurnNumber>& turn, Encoder& out) {
  out.Number(turn ? turn->value() + 1 : 0);
}

std::optional<TurnNumber> ReadTurn(Decoder& in) {
  const uint64_t value = in.Number();
  if (value == 0) return std::nullopt;
  return TurnNumber(value - 1);
}

// Messages and audit records carry whole bytes; everything is length-prefixed, so that a reader can
// step over what it does not need.
template <typename T, typename Encode>
void PutAll(const std::vector<T>& items, Encode encode, Encoder& out) {
  out.Number(items.size());
  for (const T& item : items) out.Text(encode(item));
}

// The same of items whose bytes are copied once.
template <typename T>
void PutParts(const std::vector<T>& items, Encoder& out) {
  out.Number(items.size());
  for (const T& item : items) {
    const RecordParts parts = PartsOf(item);
    out.Number(parts.size()).Raw(parts.head).Raw(parts.bytes);
  }
}

void PutChange(const Applied& change, Encoder& out) {
  // The audit record is the first part, before the state that its act leaves.
  out.Text(change.audit ? EncodeAudit(*change.audit) : "");
  out.Text(EncodeHead(change.head));
  out.Text(
      change.request
          ? EncodeRequest({.stamp = *change.request, .receipt = change.receipt, .at = change.at})
          : "");
  PutTurn(change.applied_turn, out);
  PutTurn(change.dropped, out);
  PutParts(change.slots, out);
  out.Number(change.deleted_slots.size());
  for (const std::string& owner : change.deleted_slots) out.Text(owner);
  PutParts(change.messages, out);
  PutAll(change.entries, EncodeEntry, out);
  PutAll(change.events, EncodeEvent, out);
}

// Head, audit record, reply and events of most changes.
constexpr size_t kBesideData = 2 * kKiB;

LinkedUpload UploadOf(const Applied& change) {
  const bool holds_messages = std::ranges::any_of(
      change.messages, [](const Message& message) { return message.staged.has_value(); });
  return {.id = change.upload->id,
          .bytes = change.upload->bytes,
          .messages = holds_messages ? change.head.generation : Generation()};
}

bool HasItemEffects(const Applied& change) {
  return !change.item_effects.deleted.empty() || !change.item_effects.written.empty();
}

// In the order of names, and without what a name has in common with the one before: those that a
// range has deleted are many and begin alike.
void PutNames(const std::vector<ItemName>& names, Encoder& out) {
  out.Number(names.size());
  std::string before;
  for (const ItemName& name : names) {
    const std::string key = ItemKey(name);
    const size_t same =
        static_cast<size_t>(std::distance(key.begin(), std::ranges::mismatch(key, before).in1));
    out.Number(same).Text(std::string_view(key).substr(same));
    before = key;
  }
}

std::vector<ItemName> ReadNames(Decoder& in) {
  std::vector<ItemName> names;
  std::string key;
  for (size_t left = in.Count(); left > 0; --left) {
    const uint64_t same = in.Number();
    if (same > key.size()) in.Fail();
    key.resize(std::min<uint64_t>(same, key.size()));
    key.append(in.Text());
    std::optional<ItemName> name = NameOfItemKey(key);
    if (!name) in.Fail();
    names.push_back(std::move(name).value_or(ItemName()));
  }
  return names;
}

void PutItems(const ItemEffects& effects, Encoder& out) {
  out.Number(effects.totals.items).Number(effects.totals.bytes);
  PutNames(effects.deleted, out);
  out.Number(effects.written.size());
  for (const Item& item : effects.written) {
    out.Text(item.name.collection).Text(item.name.key).Number(item.version.value());
    out.Time(item.created_at).Time(item.updated_at).Number(ItemBytes(item));
    out.Text(EncodeItemFacts(item)).Text(item.data);
  }
}

size_t RoomForItems(const ItemEffects& effects) {
  constexpr size_t kBesideItem = 64;
  size_t room = 0;
  for (const Item& item : effects.written) room += item.data.size() + kBesideItem;
  return room;
}

class ChangeReader {
 public:
  explicit ChangeReader(std::string_view payload) : in_(payload) {}

  std::optional<std::vector<StoredChange>> ReadAll() {
    if (in_.Number() != kChangeVersion) in_.Fail();
    std::vector<StoredChange> changes;
    for (size_t left = in_.Count(); left > 0; --left) changes.push_back(ReadOne());
    if (!in_.Done()) return std::nullopt;
    return changes;
  }

 private:
  StoredChange ReadOne() {
    StoredChange change;
    const auto [audit, audit_span] = Record();
    if (!audit.empty()) change.audit = audit_span;
    change.head = Required(DecodeHead(Record().first));
    const auto [request, request_span] = Record();
    if (!request.empty()) {
      change.request = {.item = Required(DecodeRequest(request)), .span = request_span};
    }
    change.applied_turn = ReadTurn(in_);
    change.dropped = ReadTurn(in_);
    ReadPlaced(DecodeSlot, change.slots);
    for (size_t left = in_.Count(); left > 0; --left) change.deleted_slots.emplace_back(in_.Text());
    ReadSpans(change.messages);
    ReadPlaced(DecodeEntry, change.entries);
    ReadSpans(change.events);
    const uint64_t parts = in_.Number();
    if (parts > kAllParts) in_.Fail();
    if ((parts & kTakesUpload) != 0) change.upload = ReadUpload(in_);
    if ((parts & kWritesItems) != 0) change.items = ReadItems();
    return change;
  }

  StoredItems ReadItems() {
    StoredItems items;
    items.totals.items = in_.Number();
    items.totals.bytes = in_.Number();
    items.deleted = ReadNames(in_);
    for (size_t left = in_.Count(); left > 0; --left) {
      PlacedItem& item = items.written.emplace_back();
      item.name.collection = in_.Text();
      item.name.key = in_.Text();
      item.version = ItemVersion(in_.Number());
      item.created_at = in_.Time();
      item.updated_at = in_.Time();
      item.bytes = in_.Number();
      item.facts = Record().second;
      item.data = Record().second;
    }
    return items;
  }

  std::pair<std::string_view, Span> Record() {
    const std::string_view bytes = in_.Text();
    return {bytes, Span{.offset = in_.position() - bytes.size(), .size = bytes.size()}};
  }

  template <typename T>
  T Required(std::optional<T> value) {
    if (!value) in_.Fail();
    return std::move(value).value_or(T());
  }

  template <typename Decode, typename T>
  void ReadPlaced(Decode decode, std::vector<Placed<T>>& out) {
    for (size_t left = in_.Count(); left > 0; --left) {
      const auto [bytes, span] = Record();
      out.push_back({.item = Required(decode(bytes)), .span = span});
    }
  }

  void ReadSpans(std::vector<Span>& out) {
    for (size_t left = in_.Count(); left > 0; --left) out.push_back(Record().second);
  }

  Decoder in_;
};

}  // namespace

void PutUpload(const LinkedUpload& upload, Encoder& out) {
  out.Text(upload.id.value()).Number(upload.bytes).Number(upload.messages.value());
}

LinkedUpload ReadUpload(Decoder& in) {
  LinkedUpload upload;
  upload.id = ReadId<UploadId>(in);
  upload.bytes = in.Number();
  upload.messages = Generation(in.Number());
  return upload;
}

std::string EncodeChange(const Applied& change, std::string begun) {
  const bool writes_items = HasItemEffects(change);
  const size_t room =
      begun.size() + DataBytes(change) + RoomForItems(change.item_effects) + kBesideData;
  Encoder out(std::move(begun), FrameSize(room));
  PutChange(change, out);
  out.Number((change.upload ? kTakesUpload : uint64_t{0}) |
             (writes_items ? kWritesItems : uint64_t{0}));
  if (change.upload) PutUpload(UploadOf(change), out);
  if (writes_items) PutItems(change.item_effects, out);
  return out.Take();
}

std::string BeginOnlyChange(std::string begun) {
  const size_t room = begun.size() + kPayloadHeadBytes;
  return Encoder(std::move(begun), room).Number(kChangeVersion).Number(1).Take();
}

std::string JoinChanges(std::string begun, const std::vector<std::string_view>& changes) {
  size_t room = begun.size() + kPayloadHeadBytes;
  for (const std::string_view change : changes) room += change.size();
  Encoder out(std::move(begun), FrameSize(room));
  out.Number(kChangeVersion).Number(changes.size());
  for (const std::string_view change : changes) out.Raw(change);
  return out.Take();
}

std::optional<std::vector<StoredChange>> DecodeChanges(std::string_view payload) {
  return ChangeReader(payload).ReadAll();
}

}  // namespace holdfast::fs

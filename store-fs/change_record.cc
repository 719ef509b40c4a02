#include "store-fs/change_record.h"

#include "platform/encoding.h"
#include "session/codec/records.h"
#include "session/data_bytes.h"
#include "store-fs/bounds.h"
#include "store-fs/frame.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace holdfast::fs {
namespace {

constexpr uint64_t kChangeVersion = 3;

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
    if (in_.Number() == 1) change.upload = ReadUpload(in_);
    return change;
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
  const size_t room = begun.size() + DataBytes(change) + kBesideData;
  Encoder out(std::move(begun), FrameSize(room));
  PutChange(change, out);
  out.Number(change.upload ? 1 : 0);
  if (change.upload) PutUpload(UploadOf(change), out);
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

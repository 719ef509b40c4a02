#include "session/codec/records.h"

#include "session/limits.h"

#include <cstddef>
#include <map>
#include <utility>

namespace holdfast {
namespace {

constexpr uint64_t kRecordVersion = 1;
constexpr uint64_t kStagedVersion = 2;
// Of messages: the same two, of those that have the digest of the history up to them.
constexpr uint64_t kDigestVersion = 3;
constexpr uint64_t kStagedDigestVersion = 4;
// Of requests: those of writes of items say what became of each, and those of restores what was
// removed.
constexpr uint64_t kRequestVersion = 2;
constexpr uint64_t kItemsRequestVersion = 3;
constexpr uint64_t kRestoreRequestVersion = 4;

using Texts = std::map<std::string, std::string>;

void PutTexts(const Texts& texts, Encoder& out) {
  out.Number(texts.size());
  for (const auto& [name, value] : texts) out.Text(name).Text(value);
}

Texts ReadTexts(Decoder& in) {
  Texts texts;
  for (size_t left = in.Count(); left > 0; --left) {
    std::string name(in.Text());
    texts.insert_or_assign(std::move(name), std::string(in.Text()));
  }
  return texts;
}

template <typename N>
N ReadNumber(Decoder& in) {
  return N(in.Number());
}

// An enum whose values are 0 or 1 up to `most`.
template <typename E>
E ReadEnum(Decoder& in, E most) {
  const uint64_t value = in.Number();
  if (value > static_cast<uint64_t>(most)) in.Fail();
  return static_cast<E>(value);
}

template <typename E>
void PutEnum(E value, Encoder& out) {
  out.Number(static_cast<uint64_t>(value));
}

bool ReadFlag(Decoder& in) {
  const uint64_t value = in.Number();
  if (value > 1) in.Fail();
  return value == 1;
}

void PutItemResults(const Receipt& receipt, Encoder& out) {
  out.Number(receipt.items_version.value()).Number(receipt.items_deleted);
  out.Number(receipt.puts.size());
  for (const PutResult& put : receipt.puts) {
    out.Number(put.version.value()).Number(put.existed ? 1 : 0);
  }
}

void ReadItemResults(Decoder& in, Receipt& receipt) {
  receipt.items_version = ReadNumber<ItemVersion>(in);
  receipt.items_deleted = in.Number();
  const size_t puts = in.Count();
  if (puts > kItemPutsPerChange) return in.Fail();
  receipt.puts.reserve(puts);
  for (size_t left = puts; left > 0; --left) {
    const auto version = ReadNumber<ItemVersion>(in);
    receipt.puts.push_back({.version = version, .existed = ReadFlag(in)});
  }
}

void PutRemoved(const Receipt& receipt, Encoder& out) {
  out.Number(receipt.removed_messages).Number(receipt.removed.size());
  for (const Message& message : receipt.removed) out.Text(EncodeMessage(message));
}

void ReadRemoved(Decoder& in, Receipt& receipt) {
  receipt.removed_messages = in.Number();
  const size_t count = in.Count();
  if (count > kReturnedMessages) return in.Fail();
  for (size_t left = count; left > 0; --left) {
    std::optional<Message> message = DecodeMessage(in.Text());
    if (!message) return in.Fail();
    receipt.removed.push_back(*std::move(message));
  }
}

// Each record begins with its version, by which a decoder distinguishes layouts.
Encoder BeginRecord() {
  Encoder out;
  out.Number(kRecordVersion);
  return out;
}

Decoder Open(std::string_view bytes) {
  Decoder in(bytes);
  if (in.Number() != kRecordVersion) in.Fail();
  return in;
}

// A message or a slot whose bytes lie in an upload has a version of its own: its record contains
// the place in the upload instead of the bytes.
Encoder BeginRecord(const std::optional<StagedBytes>& staged) {
  Encoder out;
  out.Number(staged ? kStagedVersion : kRecordVersion);
  return out;
}

bool IsStaged(Decoder& in) {
  const uint64_t version = in.Number();
  if (version != kRecordVersion && version != kStagedVersion) in.Fail();
  return version == kStagedVersion;
}

// The record that begins with `out`, and ends with the item's bytes or the place where they lie.
template <typename Item>
RecordParts EndWithData(const Item& item, Encoder out) {
  if (!item.staged) {
    out.Number(item.data.size());
    return {.head = out.Take(), .bytes = item.data};
  }
  out.Text(item.staged->upload.value()).Number(item.staged->offset).Number(item.staged->size);
  out.Raw(View(item.staged->digest));
  return {.head = out.Take(), .bytes = {}};
}

std::string Join(RecordParts parts) {
  parts.head += parts.bytes;
  return std::move(parts.head);
}

template <typename Item>
void ReadData(bool staged, Decoder& in, Item& item) {
  if (!staged) {
    item.data = in.Text();
    return;
  }
  StagedBytes place;
  place.upload = ReadId<UploadId>(in);
  place.offset = in.Number();
  place.size = in.Number();
  place.digest = DigestFrom(in.Raw(kDigestBytes));
  item.staged = std::move(place);
}

template <typename T>
std::optional<T> Finish(const Decoder& in, T value) {
  if (!in.Done()) return std::nullopt;
  return value;
}

uint64_t VersionOf(const RequestRow& row) {
  if (row.receipt.items_version > ItemVersion()) return kItemsRequestVersion;
  return row.stamp.method == Method::kRestore ? kRestoreRequestVersion : kRequestVersion;
}

}  // namespace

RecordParts PartsOf(const Message& message) {
  Encoder out;
  if (message.history) {
    out.Number(message.staged ? kStagedDigestVersion : kDigestVersion);
  } else {
    out.Number(message.staged ? kStagedVersion : kRecordVersion);
  }
  out.Number(message.seq.value()).Text(message.role).Text(message.content_type);
  if (message.history) out.Raw(View(*message.history));
  return EndWithData(message, std::move(out));
}

std::string EncodeMessage(const Message& message) { return Join(PartsOf(message)); }

std::optional<Message> DecodeMessage(std::string_view bytes) {
  Decoder in(bytes);
  const uint64_t version = in.Number();
  if (version < kRecordVersion || version > kStagedDigestVersion) in.Fail();
  Message message;
  message.seq = ReadNumber<MessageSeq>(in);
  message.role = in.Text();
  message.content_type = in.Text();
  if (version >= kDigestVersion) message.history = DigestFrom(in.Raw(kDigestBytes));
  ReadData(version == kStagedVersion || version == kStagedDigestVersion, in, message);
  return Finish(in, std::move(message));
}

RecordParts PartsOf(const Slot& slot) {
  Encoder out = BeginRecord(slot.staged);
  out.Text(slot.owner).Text(slot.version).Number(slot.revision.value());
  PutEnum(slot.policy, out);
  return EndWithData(slot, std::move(out));
}

std::string EncodeSlot(const Slot& slot) { return Join(PartsOf(slot)); }

std::optional<Slot> DecodeSlot(std::string_view bytes) {
  Decoder in(bytes);
  const bool staged = IsStaged(in);
  Slot slot;
  slot.owner = in.Text();
  slot.version = in.Text();
  slot.revision = ReadNumber<Revision>(in);
  slot.policy = ReadEnum(in, DriftPolicy::kReject);
  ReadData(staged, in, slot);
  return Finish(in, std::move(slot));
}

std::string EncodeEntry(const JournalEntry& entry) {
  Encoder out = BeginRecord();
  out.Number(entry.turn.value()).Number(entry.number.value());
  PutEnum(entry.kind, out);
  out.Text(entry.ref).Text(entry.data).Number(entry.journal_number.value());
  out.Text(entry.slot ? EncodeSlot(*entry.slot) : "");
  return out.Take();
}

std::optional<JournalEntry> DecodeEntry(std::string_view bytes) {
  Decoder in = Open(bytes);
  JournalEntry entry;
  entry.turn = ReadNumber<TurnNumber>(in);
  entry.number = ReadNumber<EntryNumber>(in);
  entry.kind = ReadEnum(in, JournalKind::kNote);
  entry.ref = in.Text();
  entry.data = in.Text();
  entry.journal_number = ReadNumber<JournalNumber>(in);
  const std::string_view slot = in.Text();
  if (!slot.empty()) {
    entry.slot = DecodeSlot(slot);
    if (!entry.slot) in.Fail();
  }
  return Finish(in, std::move(entry));
}

std::string_view SlotRecordIn(std::string_view entry) {
  Decoder in = Open(entry);
  in.Number();  // turn
  in.Number();  // number
  in.Number();  // kind
  in.Text();    // ref
  in.Text();    // data
  in.Number();  // journal number
  const std::string_view slot = in.Text();
  return in.Done() ? slot : std::string_view();
}

std::string EncodeEvent(const Event& event) {
  Encoder out = BeginRecord();
  out.Number(event.seq.value()).Text(event.name).Number(event.revision.value());
  out.Text(event.correlation_id).Text(event.trace_id).Time(event.time);
  PutTexts(event.payload, out);
  return out.Take();
}

std::optional<Event> DecodeEvent(std::string_view bytes) {
  Decoder in = Open(bytes);
  Event event;
  event.seq = ReadNumber<EventSeq>(in);
  event.name = in.Text();
  event.revision = ReadNumber<Revision>(in);
  event.correlation_id = in.Text();
  event.trace_id = in.Text();
  event.time = in.Time();
  event.payload = ReadTexts(in);
  return Finish(in, std::move(event));
}

std::string EncodeFormer(const FormerSession& former) {
  return BeginRecord().Text(former.uid.value()).Number(former.generation.value()).Take();
}

std::optional<FormerSession> DecodeFormer(std::string_view bytes) {
  Decoder in = Open(bytes);
  FormerSession former;
  former.uid = ReadId<SessionUid>(in);
  former.generation = ReadNumber<Generation>(in);
  return Finish(in, std::move(former));
}

std::string EncodeAudit(const AuditRecord& record) {
  Encoder out;
  PutEnum(record.version, out);
  out.Number(record.seq.value()).Text(record.audit_class).Text(record.code);
  out.Text(record.correlation_id).Number(record.revision.value()).Number(record.epoch.value());
  out.Time(record.time);
  PutTexts(record.data, out);
  out.Raw(View(record.previous)).Raw(View(record.hash));
  if (record.version == AuditVersion::kWithTrace) out.Text(record.trace_id);
  return out.Take();
}

std::optional<AuditRecord> DecodeAudit(std::string_view bytes) {
  Decoder in(bytes);
  AuditRecord record;
  record.version = ReadEnum(in, AuditVersion::kWithTrace);
  if (record.version < AuditVersion::kWithoutTrace) in.Fail();
  record.seq = ReadNumber<AuditSeq>(in);
  record.audit_class = in.Text();
  record.code = in.Text();
  record.correlation_id = in.Text();
  record.revision = ReadNumber<Revision>(in);
  record.epoch = ReadNumber<Epoch>(in);
  record.time = in.Time();
  record.data = ReadTexts(in);
  record.previous = DigestFrom(in.Raw(kDigestBytes));
  record.hash = DigestFrom(in.Raw(kDigestBytes));
  if (record.version == AuditVersion::kWithTrace) record.trace_id = in.Text();
  return Finish(in, std::move(record));
}

std::string EncodeRequest(const RequestRow& row) {
  Encoder out;
  const Receipt& receipt = row.receipt;
  const bool of_items = receipt.items_version > ItemVersion();
  const bool of_restore = row.stamp.method == Method::kRestore;
  out.Number(VersionOf(row)).Text(row.stamp.id.value());
  PutEnum(row.stamp.method, out);
  out.Raw(View(row.stamp.fingerprint)).Time(row.at);
  out.Number(receipt.revision.value()).Number(receipt.epoch.value()).Number(receipt.turn.value());
  out.Number(receipt.last_entry.value()).Number(receipt.messages.value());
  out.Number(receipt.abandoned_turn.value()).Number(receipt.entries_dropped);
  out.Number(receipt.sm_slot_handed_out ? 1 : 0).Number(receipt.created ? 1 : 0);
  out.Number(receipt.before.value()).Number(receipt.snapshot.value());
  out.Text(receipt.previous_holder).Number(receipt.tail_bytes_truncated).Text(receipt.token);
  out.Number(receipt.drained_turns).Number(receipt.audit.value());
  if (of_items) PutItemResults(receipt, out);
  if (of_restore) PutRemoved(receipt, out);
  return out.Take();
}

std::optional<RequestRow> DecodeRequest(std::string_view bytes) {
  Decoder in(bytes);
  const uint64_t version = in.Number();
  if (version < kRequestVersion || version > kRestoreRequestVersion) in.Fail();
  RequestRow row;
  row.stamp.id = ReadId<RequestId>(in);
  row.stamp.method = ReadEnum(in, kLastMethod);
  row.stamp.fingerprint = DigestFrom(in.Raw(kDigestBytes));
  row.at = in.Time();
  Receipt& receipt = row.receipt;
  receipt.revision = ReadNumber<Revision>(in);
  receipt.epoch = ReadNumber<Epoch>(in);
  receipt.turn = ReadNumber<TurnNumber>(in);
  receipt.last_entry = ReadNumber<EntryNumber>(in);
  receipt.messages = ReadNumber<MessageSeq>(in);
  receipt.abandoned_turn = ReadNumber<TurnNumber>(in);
  receipt.entries_dropped = in.Number();
  receipt.sm_slot_handed_out = ReadFlag(in);
  receipt.created = ReadFlag(in);
  receipt.before = ReadNumber<Revision>(in);
  receipt.snapshot = ReadNumber<Revision>(in);
  receipt.previous_holder = in.Text();
  receipt.tail_bytes_truncated = in.Number();
  receipt.token = in.Text();
  receipt.drained_turns = in.Number();
  receipt.audit = ReadNumber<AuditSeq>(in);
  if (version == kItemsRequestVersion) ReadItemResults(in, receipt);
  if (version == kRestoreRequestVersion) ReadRemoved(in, receipt);
  return Finish(in, std::move(row));
}

}  // namespace holdfast

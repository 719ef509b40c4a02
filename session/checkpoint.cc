#include "session/checkpoint.h"

#include "platform/big_endian.h"
#include "session/limits.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace holdfast {
namespace {

constexpr uint64_t kCheckpointVersion = 1;
// The first byte of the key of a name, behind those of the kinds.
constexpr char kNamePrefix = 'n';
constexpr size_t kRevisionBytes = sizeof(uint64_t);

std::string KindPrefix(CheckpointKind kind) { return std::string(1, static_cast<char>(kind)); }

// Whether `in`, the data of a checkpoint, begins as it should.
bool BeginsWell(Decoder& in) { return in.Number() == kCheckpointVersion; }

}  // namespace

void PutPinned(const PinnedSnapshot& pinned, Encoder& out) {
  const SnapshotRecord& record = pinned.record;
  out.Number(record.at.journal.value()).Number(record.generation.value());
  out.Number(record.messages.value()).Number(pinned.spans.size());
  for (const HistorySpan& span : pinned.spans) {
    out.Number(span.generation.value()).Number(span.last.value());
  }
}

PinnedSnapshot ReadPinned(Revision revision, Decoder& in) {
  PinnedSnapshot pinned;
  SnapshotRecord& record = pinned.record;
  record.at.revision = revision;
  record.at.journal = JournalNumber(in.Number());
  record.generation = Generation(in.Number());
  record.messages = MessageSeq(in.Number());
  const size_t spans = in.Count();
  if (spans > kHistorySpans) in.Fail();
  for (size_t left = in.ok() ? spans : 0; left > 0; --left) {
    const Generation generation(in.Number());
    pinned.spans.push_back({.generation = generation, .last = MessageSeq(in.Number())});
  }
  return pinned;
}

ItemName CheckpointItemName(CheckpointKind kind, Revision revision) {
  std::string key = KindPrefix(kind);
  AppendBigEndian(revision.value(), key);
  return {.collection = kCheckpointCollection, .key = std::move(key)};
}

std::optional<CheckpointKind> CheckpointKindOf(const ItemName& name) {
  if (name.collection != kCheckpointCollection || name.key.size() != 1 + kRevisionBytes) {
    return std::nullopt;
  }
  const auto kind = static_cast<unsigned char>(name.key.front());
  if (kind < 1 || kind > kCheckpointKinds) return std::nullopt;
  return static_cast<CheckpointKind>(kind);
}

Revision CheckpointRevisionOf(const ItemName& name) {
  return Revision(BigEndian<uint64_t>(std::string_view(name.key).substr(1)));
}

KeyRange CheckpointsOfKind(CheckpointKind kind) { return KeysWithPrefix(KindPrefix(kind)); }

std::vector<std::string> CheckpointKeysAt(Revision revision) {
  std::vector<std::string> keys;
  for (uint64_t kind = 1; kind <= kCheckpointKinds; ++kind) {
    keys.push_back(CheckpointItemName(static_cast<CheckpointKind>(kind), revision).key);
  }
  return keys;
}

ItemName CheckpointNameItemName(std::string_view name) {
  return {.collection = kCheckpointCollection, .key = kNamePrefix + std::string(name)};
}

Item EncodeCheckpoint(const Checkpoint& checkpoint) {
  Encoder out;
  out.Number(kCheckpointVersion);
  PutPinned(checkpoint.snapshot, out);
  out.Number(checkpoint.turn.value()).Raw(View(checkpoint.history)).Text(checkpoint.name);
  out.Number(static_cast<uint64_t>(checkpoint.status));
  Item item;
  item.name = CheckpointItemName(checkpoint.kind, checkpoint.revision());
  item.labels = checkpoint.labels;
  item.data = out.Take();
  return item;
}

std::optional<Checkpoint> DecodeCheckpoint(const Item& item) {
  const std::optional<CheckpointKind> kind = CheckpointKindOf(item.name);
  Decoder in(item.data);
  if (!kind || !BeginsWell(in)) return std::nullopt;
  Checkpoint checkpoint;
  checkpoint.kind = *kind;
  checkpoint.snapshot = ReadPinned(CheckpointRevisionOf(item.name), in);
  checkpoint.turn = TurnNumber(in.Number());
  checkpoint.history = DigestFrom(in.Raw(kDigestBytes));
  checkpoint.name = in.Text();
  const uint64_t status = in.Number();
  if (status < 1 || status > kCheckpointStatuses || !in.Done()) return std::nullopt;
  checkpoint.status = static_cast<CheckpointStatus>(status);
  checkpoint.labels = item.labels;
  checkpoint.created_at = item.created_at;
  return checkpoint;
}

std::optional<PinnedSnapshot> DecodePinned(const ItemName& name, std::string_view data) {
  Decoder in(data);
  if (!CheckpointKindOf(name) || !BeginsWell(in)) return std::nullopt;
  PinnedSnapshot pinned = ReadPinned(CheckpointRevisionOf(name), in);
  if (!in.ok()) return std::nullopt;
  return pinned;
}

Item EncodeCheckpointName(std::string_view name, Revision revision) {
  Item item;
  item.name = CheckpointNameItemName(name);
  std::string data;
  AppendBigEndian(revision.value(), data);
  item.data = std::move(data);
  return item;
}

std::optional<Revision> DecodeCheckpointName(const Item& item) {
  const std::string_view data = item.data;
  if (data.size() != kRevisionBytes) return std::nullopt;
  return Revision(BigEndian<uint64_t>(data));
}

PinnedSnapshot PinnedOf(const Head& head, const SnapshotRecord& record) {
  PinnedSnapshot pinned{.record = record, .spans = {}};
  const auto shared = std::ranges::find(head.shared, record.generation, &SharedHistory::generation);
  if (shared != head.shared.end()) pinned.spans = shared->spans;
  return pinned;
}

Head WithPinned(const Head& head, std::span<const PinnedSnapshot> pinned) {
  Head with = head;
  const auto at = [](const SnapshotRecord& record) { return record.at.revision; };
  for (const PinnedSnapshot& one : pinned) {
    const SnapshotRecord& record = one.record;
    if (std::ranges::find(with.snapshots, record.at.revision, at) != with.snapshots.end()) continue;
    with.snapshots.push_back(record);
    const bool is_known = std::ranges::find(with.shared, record.generation,
                                            &SharedHistory::generation) != with.shared.end();
    if (is_known || one.spans.empty()) continue;
    with.shared.push_back({.generation = record.generation, .spans = one.spans});
  }
  std::ranges::sort(with.snapshots, {}, at);
  return with;
}

}  // namespace holdfast

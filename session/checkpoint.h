// Checkpoints: snapshots that stay readable, with their messages and slots, however many snapshots
// follow. Each is an item of the session, in a collection of the server's own.
#ifndef HOLDFAST_SESSION_CHECKPOINT_H_
#define HOLDFAST_SESSION_CHECKPOINT_H_

#include "platform/digest.h"
#include "platform/encoding.h"
#include "session/head.h"
#include "session/ids.h"
#include "session/item.h"
#include "session/model.h"

#include "absl/time/time.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast {

// The collection of the items by which a session has checkpoints: one item for each checkpoint, and
// one for each name.
inline constexpr char kCheckpointCollection[] = "holdfast.checkpoints";

// What retention has to know of a snapshot that is pinned.
struct PinnedSnapshot {
  SnapshotRecord record;
  std::vector<HistorySpan> spans;  // of earlier histories, as in SharedHistory; may be empty
  bool operator==(const PinnedSnapshot& other) const {
    return record.at == other.record.at && record.generation == other.record.generation &&
           record.messages == other.record.messages && spans == other.spans;
  }
};

struct Checkpoint {
  CheckpointKind kind = CheckpointKind::kManual;
  PinnedSnapshot snapshot;
  TurnNumber turn;   // that the snapshot ended, or was taken in; 0: written without a turn
  Digest history{};  // running digest over its messages
  std::string name;  // empty: none
  CheckpointStatus status = CheckpointStatus::kValid;
  ItemLabels labels;
  absl::Time created_at;  // the store's

  [[nodiscard]] Revision revision() const { return snapshot.record.at.revision; }
};

struct CheckpointPut {
  Checkpoint checkpoint;
  // Pins the snapshot that the change writes: the store fills in what it knows of it.
  bool of_this_snapshot = false;
  // The name has no checkpoint yet, which the store checks: else STALE_REVISION of an item.
  bool takes_name = false;
};

// What a change does to the checkpoints of a session.
struct CheckpointWrites {
  std::vector<CheckpointPut> puts;
  std::vector<ItemName> deletes;  // items of checkpoints and names, which are there
  uint64_t manual = 0;            // how many of kind MANUAL there are then
};

// The item of a checkpoint. Keys of one kind are in the order of revisions.
ItemName CheckpointItemName(CheckpointKind kind, Revision revision);
// The kind of the checkpoint whose item this is; nothing of any other item.
std::optional<CheckpointKind> CheckpointKindOf(const ItemName& name);
// Of such an item.
Revision CheckpointRevisionOf(const ItemName& name);
// The keys of all checkpoints of a kind.
KeyRange CheckpointsOfKind(CheckpointKind kind);
// The keys that the checkpoints of one revision have, in their order.
std::vector<std::string> CheckpointKeysAt(Revision revision);
// The item that says which checkpoint has a name.
ItemName CheckpointNameItemName(std::string_view name);

Item EncodeCheckpoint(const Checkpoint& checkpoint);
// Nothing of an item that EncodeCheckpoint did not make.
std::optional<Checkpoint> DecodeCheckpoint(const Item& item);
// The same of an item's name and data alone, for retention.
std::optional<PinnedSnapshot> DecodePinned(const ItemName& name, std::string_view data);

// The record of a pinned snapshot but for its revision, in a checkpoint and in a store's own files.
void PutPinned(const PinnedSnapshot& pinned, Encoder& out);
// Fails `in` for what PutPinned never wrote.
PinnedSnapshot ReadPinned(Revision revision, Decoder& in);

Item EncodeCheckpointName(std::string_view name, Revision revision);
// The revision of the checkpoint that such an item names.
std::optional<Revision> DecodeCheckpointName(const Item& item);

// A kept snapshot of `head` as a pin would have it.
PinnedSnapshot PinnedOf(const Head& head, const SnapshotRecord& record);

// `head` as if it kept the pinned snapshots among its newest ones: what is named by it stays, and
// its snapshots can be read.
Head WithPinned(const Head& head, std::span<const PinnedSnapshot> pinned);

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_CHECKPOINT_H_

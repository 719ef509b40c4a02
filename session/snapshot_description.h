// What a snapshot records about itself, in the store's own slot.
#ifndef HOLDFAST_SESSION_SNAPSHOT_DESCRIPTION_H_
#define HOLDFAST_SESSION_SNAPSHOT_DESCRIPTION_H_

#include "platform/digest.h"
#include "session/head.h"
#include "session/ids.h"
#include "session/model.h"

#include <optional>
#include <string>
#include <string_view>

namespace holdfast {

// The version of the slot whose data is such a description.
inline constexpr char kSnapshotDescriptionVersion[] = "1.1.0";

// A snapshot that is kept can be read and verified by this alone, without the session's head.
struct SnapshotDescription {
  Revision snapshot;
  TurnNumber turn;  // that the snapshot ended, or was taken in; 0: written without a turn
  Generation generation;
  MessageSeq messages;  // how many the history had
  Digest digest{};      // running digest over them
  JournalNumber journal;
  std::optional<StateMachineRef> sm;
  bool operator==(const SnapshotDescription&) const = default;
};

// Describes the snapshot that `head` has just got, in `turn`.
SnapshotDescription DescribeSnapshot(const Head& head, TurnNumber turn);

// The slot's data: JSON with the keys snapshot, turn, generation, messages, digest (hexadecimal),
// journal and state_machine (null, or extension_id and slot_ref).
std::string EncodeSnapshotDescription(const SnapshotDescription& description);

// Reads what EncodeSnapshotDescription wrote. nullopt for anything else.
std::optional<SnapshotDescription> DecodeSnapshotDescription(std::string_view data);

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_SNAPSHOT_DESCRIPTION_H_

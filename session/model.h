// What a session is made of: the pieces that callers give and readers get. Plain values, no
// behaviour.
#ifndef HOLDFAST_SESSION_MODEL_H_
#define HOLDFAST_SESSION_MODEL_H_

#include "platform/digest.h"
#include "platform/shared_bytes.h"
#include "session/ids.h"

#include "absl/time/time.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace holdfast {

enum class Mode : uint8_t { kAsk = 1, kYolo, kAllowlist };
// Who writes to a session.
enum class SessionKind : uint8_t {
  kLeased = 1,  // one holder of a lease, in turns
  kOpen,        // any number of writers without a lease: each says what it builds on
};
inline constexpr size_t kSessionKinds = 2;
enum class CloseReason : uint8_t {
  kNone,
  kExplicit,
  kSigterm,
  kCrash,
  kStaleRecovery,
  kParentCancel,
  kHalted,
};
enum class TurnSource : uint8_t { kUser = 1, kStateMachine, kFanOut, kSystem, kPlan };
enum class TurnOutcome : uint8_t { kOk = 1, kError, kCancelled, kAbandoned, kRecovered };
enum class DriftPolicy : uint8_t { kMigrate = 1, kWarn, kReject };
// What a cancel request asks to end, and why.
enum class CancelScope : uint8_t { kSession = 1, kTurn, kStage, kTool };
enum class CancelReason : uint8_t { kUser = 1, kParent, kCap };
// Why a snapshot is kept beyond the newest ones.
enum class CheckpointKind : uint8_t {
  kManual = 1,     // a caller asked for it
  kPreCompaction,  // the snapshot before a compaction
  kBeforeRestore,  // the snapshot before a restore
  kInterrupted,    // the last snapshot when a turn was cancelled, abandoned or recovered
};
inline constexpr size_t kCheckpointKinds = 4;
inline constexpr CheckpointKind kFirstCheckpointKind = CheckpointKind::kManual;
inline constexpr CheckpointKind kLastCheckpointKind = CheckpointKind::kInterrupted;
// What started a compaction.
enum class CompactionTrigger : uint8_t { kAuto = 1, kManual };
inline constexpr size_t kCompactionTriggers = 2;
// What people think of a checkpoint.
enum class CheckpointStatus : uint8_t { kValid = 1, kRejected };
inline constexpr size_t kCheckpointStatuses = 2;
enum class JournalKind : uint8_t { kSlotUpdate = 1, kEvent, kToolIntent, kToolOutcome, kNote };
enum class Method : uint8_t {
  kCreate = 1,
  kUpdate,
  kResume,
  kBeginTurn,
  kCommitTurn,
  kAbandonTurn,
  kClose,
  kDelete,
  kRelease,
  kWrite,
  kCancel,
  kAppendAudit,
  kPutItems,
  kRestore,
  kPutCheckpoint,
  kDeleteCheckpoint,
};
// The one with the highest number.
inline constexpr Method kLastMethod = Method::kDeleteCheckpoint;

// The slot that is the store's own; no client may write it.
inline constexpr char kStoreSlotOwner[] = "holdfast.store";

struct StateMachineRef {
  std::string ext_id;
  std::string slot_ref;
  bool operator==(const StateMachineRef&) const = default;
};

// Bytes that lie in an upload: they came in chunks, and are read in chunks.
struct StagedBytes {
  UploadId upload;
  uint64_t offset = 0;
  uint64_t size = 0;
  Digest digest{};  // SHA-256 of these bytes
  bool operator==(const StagedBytes&) const = default;
};

// The trace that something belongs to.
struct TraceRef {
  std::string id;        // 32 lower-case hexadecimal digits; empty: none is known
  bool sampled = false;  // its spans are recorded
  bool operator==(const TraceRef&) const = default;
};

// A history entry on its way in or out. `seq` is given by the store.
struct Message {
  MessageSeq seq;
  std::string role;
  std::string content_type;
  SharedBytes data;
  std::optional<StagedBytes> staged;  // instead of `data`
  // Of the last message that a change adds: running digest over the history up to it. The store's.
  std::optional<Digest> history = {};
  bool operator==(const Message&) const = default;
};

struct Slot {
  std::string owner;
  std::string version;
  DriftPolicy policy = DriftPolicy::kWarn;
  SharedBytes data;
  Revision revision;                  // that wrote this version; the store's
  std::optional<StagedBytes> staged;  // instead of `data`
  bool operator==(const Slot&) const = default;
};

struct JournalEntry {
  TurnNumber turn;
  EntryNumber number;
  JournalKind kind = JournalKind::kNote;
  std::string ref;
  SharedBytes data;
  std::optional<Slot> slot;      // only of a slot update
  JournalNumber journal_number;  // the store's
  bool operator==(const JournalEntry&) const = default;
};

struct Event {
  EventSeq seq;
  std::string name;
  Revision revision;
  std::string correlation_id;
  std::string trace_id;
  absl::Time time;
  std::map<std::string, std::string> payload;
  bool operator==(const Event&) const = default;
};

// Of an audit record: which of its parts are stored and hashed.
enum class AuditVersion : uint8_t {
  kWithoutTrace = 1,
  kWithTrace = 2,
};

// A record of the audit chain: hash = SHA-256(previous hash, everything else).
struct AuditRecord {
  AuditVersion version = AuditVersion::kWithTrace;
  AuditSeq seq;
  std::string audit_class;  // for example "SessionLifecycle"
  std::string code;         // for example "resume"
  std::string correlation_id;
  std::string trace_id;  // as of an event; empty in the first version
  Revision revision;
  Epoch epoch;
  absl::Time time;
  std::map<std::string, std::string> data;
  Digest previous{};
  Digest hash{};
  bool operator==(const AuditRecord&) const = default;
};

// A request to end something; the requester need not hold the lease. For a stage or a tool it only
// informs the holder; the server ends a turn or a session that does not end by itself.
struct CancelRequest {
  CancelScope scope = CancelScope::kSession;
  CancelReason reason = CancelReason::kUser;
  TurnNumber turn;   // of a turn, stage or tool; 0 of a session
  std::string name;  // of a stage or tool
  absl::Time at;     // the store's

  // Whether both ask for the same thing: the time does not count.
  [[nodiscard]] bool SameAs(const CancelRequest& other) const {
    return scope == other.scope && reason == other.reason && turn == other.turn &&
           name == other.name;
  }
  bool operator==(const CancelRequest&) const = default;
};
// SHA-256 of an item's bytes, wherever they lie.
template <typename Item>
Digest DataDigest(const Item& item) {
  return item.staged ? item.staged->digest : item.data.digest();
}

// How many bytes an item has, wherever they lie.
template <typename Item>
uint64_t DataSize(const Item& item) {
  return item.staged ? item.staged->size : item.data.size();
}

// The position of a read: everything up to this revision, and entries, which move no revision, up
// to this one.
struct Position {
  Revision revision;
  JournalNumber journal;
  auto operator<=>(const Position&) const = default;
};

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_MODEL_H_

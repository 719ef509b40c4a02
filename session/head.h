// The head: everything about a session that decisions rest on, and nothing that grows with its
// history.
#ifndef HOLDFAST_SESSION_HEAD_H_
#define HOLDFAST_SESSION_HEAD_H_

#include "platform/digest.h"
#include "session/ids.h"
#include "session/lifecycle.h"
#include "session/model.h"

#include "absl/time/time.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace holdfast {

// Whether the lease is live, by the store's clock at the moment of the answer. Never stored.
enum class LeaseState : uint8_t { kFree, kLive, kExpired };

// Who may write.
struct LeaseRecord {
  Epoch epoch;           // raised by every grant, kept by a release
  bool held = false;     // false once released or ended by a close
  Digest secret_hash{};  // of the current token; meaningless unless held
  std::string holder;
  absl::Duration ttl;
  // Evaluated by the store when the head is read.
  LeaseState state = LeaseState::kFree;
  absl::Duration expires_in;
};

// The running turn.
struct TurnRecord {
  TurnNumber number;
  TurnSource source = TurnSource::kUser;
  absl::Time started_at;
  EntryNumber last_entry;
  EntryNumber applied_entry;     // the last one that a snapshot inside the turn holds
  JournalNumber journal_before;  // the journal as it was when the turn began
  TraceRef trace;                // of the call that began it
  std::string parent_span_id;    // the turn's span hangs below it; 16 hexadecimal digits, or empty
};

// A snapshot that is still kept.
struct SnapshotRecord {
  Position at;
  Generation generation;
  MessageSeq messages;
};

// Messages of a history that are stored under `generation`: those behind the span before, up to
// `last`.
struct HistorySpan {
  Generation generation;
  MessageSeq last;
  bool operator==(const HistorySpan&) const = default;
};

// A history that begins with messages of earlier ones.
struct SharedHistory {
  Generation generation;
  std::vector<HistorySpan> spans;  // of those, in order; kHistorySpans at most, never empty
  bool operator==(const SharedHistory&) const = default;
};

// The first messages of a history.
struct HistoryCut {
  Generation generation;
  MessageSeq messages;
  Digest digest{};  // running digest over them
  // Where they are stored, for a history that checkpoints alone name; empty: the head says where.
  std::vector<HistorySpan> spans = {};
  bool operator==(const HistoryCut&) const = default;
};

// The last entry number of a turn that has ended, kept as long as its journal.
struct EndedTurn {
  TurnNumber turn;
  EntryNumber last_entry;
  JournalNumber last_journal;
};

// A checkpoint of a kind of the server's own.
struct OwnCheckpoint {
  CheckpointKind kind = CheckpointKind::kBeforeRestore;
  Revision revision;  // of its snapshot
  bool operator==(const OwnCheckpoint&) const = default;
};

// The checkpoints that a session has.
struct CheckpointSummary {
  uint64_t version = 0;            // raised by each change of a checkpoint
  uint64_t manual = 0;             // how many of kind MANUAL
  std::vector<OwnCheckpoint> own;  // oldest first; kOwnCheckpointsKept of each kind at most
  bool operator==(const CheckpointSummary&) const = default;

  [[nodiscard]] bool empty() const { return manual == 0 && own.empty(); }
};

struct GrantRecord {
  Epoch epoch;
  absl::Time at;
};

// Identity of a deleted session, stored in its tombstone.
struct FormerSession {
  SessionUid uid;
  Generation generation;  // of its last history; those of a session that replaces it come after
};

struct Head {
  StoreId store;
  Incarnation incarnation;  // of the store now, which tokens must carry
  SessionUid uid;
  bool recreated = false;  // the id had another session before

  Lifecycle lifecycle = Lifecycle::kIdle;
  CloseReason close_reason = CloseReason::kNone;
  Revision revision;
  LeaseRecord lease;
  std::vector<GrantRecord> grants;    // oldest first; a reader sees those of the last 24 hours
  uint64_t tail_bytes_truncated = 0;  // of an unfinished write, since the last grant

  std::optional<TurnRecord> turn;
  TurnNumber last_turn;
  uint64_t committed_turns = 0;
  std::optional<RequestId> last_committed_request;
  EntryNumber last_entry_between;  // of turn 0
  std::vector<EndedTurn> ended;
  TraceRef ended_turn_trace;  // of the last turn that has ended

  SessionKind kind = SessionKind::kLeased;
  std::string group;  // by which sessions are listed; empty: in none

  // The manifest.
  Mode mode = Mode::kAsk;
  std::string project_root;
  std::optional<StateMachineRef> sm;
  absl::Time created_at;
  absl::Time updated_at;
  Generation generation;
  MessageSeq messages;  // the newest seq, which is the count
  Digest history{};     // running digest over the messages

  std::vector<SnapshotRecord> snapshots;  // oldest first, never empty
  std::vector<SharedHistory> shared;      // that the head or a kept snapshot names, oldest first
  TraceRef snapshot_trace;                // of the change that wrote the newest one
  TurnNumber snapshot_turn;      // that the newest one ended, or was taken in; 0: without a turn
  bool sm_slot_pending = false;  // handed out with the first turn of this epoch
  JournalNumber journal;         // entries ever accepted
  EventSeq last_event;
  AuditSeq last_audit;
  Digest audit_chain{};

  std::map<std::string, std::string> attributes;
  // Raised by each put of an item, and by each change that deletes items; never reused.
  ItemVersion items_version;
  CheckpointSummary checkpoints;
  uint64_t compactions = 0;     // snapshots whose history was made shorter by a compaction
  uint64_t context_number = 0;  // raised when a model's context begins anew

  // Of the active turn, and of the session until it is taken up again after its close; in the order
  // they were set.
  std::vector<CancelRequest> cancel_requests;
};

// Digest of a history after `message` was added to one with digest `before`.
Digest ExtendHistory(const Digest& before, const Message& message);

// The oldest position that can still be read.
inline Position OldestKept(const Head& head) { return head.snapshots.front().at; }

// The last journal entry that is no longer kept: that of the oldest snapshot, but none of the
// active turn, however many snapshots are written inside it.
inline JournalNumber JournalFloor(const Head& head) {
  const JournalNumber oldest = OldestKept(head).journal;
  return head.turn ? std::min(oldest, head.turn->journal_before) : oldest;
}

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_HEAD_H_

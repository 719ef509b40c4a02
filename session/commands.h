// What a caller asks for, one struct a use case, with typed ids and without the wire. `session`
// and, where the caller knows it, `uid` say which session: one of another uid is not meant.
#ifndef HOLDFAST_SESSION_COMMANDS_H_
#define HOLDFAST_SESSION_COMMANDS_H_

#include "platform/digest.h"
#include "session/change.h"
#include "session/ids.h"
#include "session/item_writes.h"
#include "session/model.h"
#include "session/token.h"

#include "absl/time/time.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace holdfast {

// Who calls, and what ties the call to a trace.
struct Caller {
  TenantId tenant;
  TraceRef trace;       // that the caller named, or that the call is recorded in
  std::string span_id;  // 16 hexadecimal digits, or empty; a turn that the call begins is below it
};

struct CreateCommand {
  RequestId request;
  std::optional<SessionId> session;  // absent: made from tenant and request id
  Mode mode = Mode::kAsk;
  std::string project_root;
  std::optional<StateMachineRef> sm;
  std::vector<Message> messages;
  std::vector<Slot> slots;
  std::map<std::string, std::string> attributes;
  SessionKind kind = SessionKind::kLeased;
  std::string group;
  std::optional<SessionUid> reuse_deleted;  // the deleted session whose id is used again
  std::string holder;                       // of a leased session
  absl::Duration lease_ttl;                 // the same
};

struct UpdateCommand {
  RequestId request;
  SessionId session;
  std::optional<SessionUid> uid;
  AttributePatch attributes;
  ExpectedAttributes expected;
};

struct ExpectedSlot {
  std::string owner;
  std::string version;
  DriftPolicy policy = DriftPolicy::kWarn;
};

struct ResumeCommand {
  RequestId request;
  SessionId session;
  std::optional<SessionUid> uid;
  std::string holder;
  absl::Duration lease_ttl;
  std::optional<LeaseToken> token;
  std::optional<std::string> force_reason;  // set: forced
  std::optional<StoreId> expected_store;
  std::optional<Revision> known_revision;
  std::optional<CreateCommand> create_if_missing;
  std::vector<ExpectedSlot> expected_slots;
  uint32_t tail_messages = 0;
  absl::Duration wait;  // for the end of another holder's lease
};

struct BeginTurnCommand {
  RequestId request;
  SessionId session;
  std::optional<SessionUid> uid;
  std::optional<LeaseToken> token;
  std::optional<Revision> expected_revision;
  TurnSource source = TurnSource::kUser;
};

struct AppendJournalCommand {
  SessionId session;
  std::optional<SessionUid> uid;
  std::optional<LeaseToken> token;
  std::vector<JournalEntry> entries;
  std::string acting_owner;
};

// A checkpoint of kind MANUAL that a call asks for.
struct CheckpointMark {
  std::string name;  // unique in the session; empty: none
  ItemLabels labels;
};

// What a caller says of a compaction that the snapshot is the result of.
struct Compaction {
  CompactionTrigger trigger = CompactionTrigger::kAuto;
  uint64_t size_before = 0;  // of the context, in the caller's unit; 0: not known
  uint64_t size_after = 0;
  std::vector<ItemName> survived;  // items that stay in the context; need not be there
};

struct CommitTurnCommand {
  RequestId request;
  SessionId session;
  std::optional<SessionUid> uid;
  std::optional<LeaseToken> token;
  TurnNumber turn;
  std::optional<Revision> expected_revision;
  TurnOutcome outcome = TurnOutcome::kOk;
  bool replace_history = false;  // `messages` are the whole history
  std::vector<Message> messages;
  std::vector<Slot> slots;
  std::vector<std::string> deleted_slots;
  std::optional<std::optional<StateMachineRef>> sm;
  std::optional<EntryNumber> last_entry;
  std::optional<TurnSource> begin_next;
  bool keep_open = false;  // a snapshot inside the turn, which stays active
  std::string acting_owner;
  std::optional<UploadLink> upload;          // that messages and slots lie in
  std::optional<CheckpointMark> checkpoint;  // pins the snapshot
  std::optional<Compaction> compaction;
};

struct AbandonTurnCommand {
  RequestId request;
  SessionId session;
  std::optional<SessionUid> uid;
  std::optional<LeaseToken> token;
  TurnNumber turn;
  std::optional<Revision> expected_revision;
  TurnOutcome outcome = TurnOutcome::kAbandoned;
};

// The history as a caller knows it: what it sends follows it.
struct HistoryBase {
  MessageSeq count;
  Digest digest{};
};

// A snapshot without a turn (the store contract's write).
struct WriteCommand {
  RequestId request;
  SessionId session;
  std::optional<SessionUid> uid;
  std::optional<LeaseToken> token;
  std::optional<Revision> expected_revision;
  std::optional<HistoryBase> base;  // absent: `messages` are the whole history
  bool replace_history = false;     // ... which need not extend the stored one
  std::vector<Message> messages;
  std::vector<Slot> slots;
  std::vector<std::string> deleted_slots;
  std::optional<std::optional<StateMachineRef>> sm;
  std::string acting_owner;
  std::optional<UploadLink> upload;  // that messages and slots lie in
  std::optional<CreateCommand> create_if_missing;
  std::optional<CheckpointMark> checkpoint;  // pins the snapshot
  std::optional<Compaction> compaction;
};

// What of a session's past is to be there again.
struct RestorePoint {
  std::optional<Revision> revision;    // absent: the session as it is
  std::string checkpoint;              // by the name of one, instead of the revision
  std::optional<MessageSeq> messages;  // the history up to this message; absent: all of it
  uint64_t drop_last = 0;              // ... but for so many messages at its end
};

// A snapshot that is as the session was at a point, with what follows.
struct RestoreCommand {
  RequestId request;
  SessionId session;
  std::optional<SessionUid> uid;
  std::optional<LeaseToken> token;
  std::optional<Revision> expected_revision;
  std::optional<HistoryBase> base;
  RestorePoint point;
  uint64_t return_messages = 0;  // of those that the history loses, the last ones
  std::vector<Message> messages;
  std::vector<Slot> slots;
  bool pin_previous = false;  // the snapshot before stays as a checkpoint
};

// Pins a snapshot as a checkpoint, or changes one.
struct PutCheckpointCommand {
  RequestId request;
  SessionId session;
  std::optional<SessionUid> uid;
  // Absent: that of the checkpoint which has the name, else the last snapshot's.
  std::optional<Revision> revision;
  // What is set of a checkpoint; what is absent stays as it is.
  std::optional<std::string> name;
  std::optional<CheckpointStatus> status;
  std::optional<ItemLabels> labels;
  bool must_exist = false;  // no snapshot is pinned that is none yet
};

// Unpins a snapshot.
struct DeleteCheckpointCommand {
  RequestId request;
  SessionId session;
  std::optional<SessionUid> uid;
  std::optional<Revision> revision;  // absent: by name
  std::string name;
};

struct SnapshotContent {
  std::vector<Message> messages;
  std::vector<Slot> slots;
  std::vector<std::string> deleted_slots;
};

struct CloseCommand {
  RequestId request;
  SessionId session;
  std::optional<SessionUid> uid;
  std::optional<LeaseToken> token;
  std::optional<Revision> expected_revision;
  CloseReason reason = CloseReason::kExplicit;
  std::optional<SnapshotContent> final_snapshot;
  absl::Duration drain;        // how long to wait for the active turn's commit before abandoning it
  uint64_t drained_turns = 0;  // committed while it waited
};

struct DeleteCommand {
  RequestId request;
  SessionId session;
  std::optional<SessionUid> uid;
  std::optional<LeaseToken> token;
};

struct ReleaseCommand {
  RequestId request;
  SessionId session;
  std::optional<SessionUid> uid;
  std::optional<LeaseToken> token;
};

// A request that something ends; needs no lease.
struct CancelCommand {
  RequestId request;
  SessionId session;
  std::optional<SessionUid> uid;
  CancelScope scope = CancelScope::kSession;
  CancelReason reason = CancelReason::kUser;
  TurnNumber turn;   // of a turn, stage or tool
  std::string name;  // of a stage or tool
};

// A record of an act outside of the store: an approval, a permission, a tool. Needs no lease.
struct AppendAuditCommand {
  RequestId request;
  SessionId session;
  std::optional<SessionUid> uid;
  std::string audit_class;
  std::string code;
  std::string correlation_id;
  std::map<std::string, std::string> data;
};

struct PutItemsCommand {
  RequestId request;
  SessionId session;
  std::optional<SessionUid> uid;
  std::optional<LeaseToken> token;  // compared where it is sent; needed by none
  ItemWrites writes;
  std::optional<CreateCommand> create_if_missing;
};

struct OutcomeQuery {
  SessionId session;
  std::optional<SessionUid> uid;
  RequestId request;
  Method method = Method::kCommitTurn;
  std::optional<LeaseToken> token;
};

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_COMMANDS_H_

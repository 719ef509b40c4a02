// A change of one session: guards and effects as data. The domain makes it from a head and a
// command; the store applies it whole if its guards hold under the session's lock, and gives the
// numbers.
#ifndef HOLDFAST_SESSION_CHANGE_H_
#define HOLDFAST_SESSION_CHANGE_H_

#include "platform/digest.h"
#include "session/checkpoint.h"
#include "session/head.h"
#include "session/ids.h"
#include "session/item_writes.h"
#include "session/lifecycle.h"
#include "session/model.h"
#include "session/token.h"

#include "absl/time/time.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace holdfast {

// Which lease state permits this change, evaluated under the session's lock.
enum class LeaseRule : uint8_t {
  kNone,           // any
  kMustHold,       // the token of the current epoch
  kFreeOrExpired,  // no live lease of another holder
  kHeldOrFree,     // the current token, or no live lease
  kForce,          // any, a live lease of another holder too
};

// Values that attributes must have; an empty one: the attribute is absent or empty.
using ExpectedAttributes = std::map<std::string, std::string>;

// What must be true under the session's lock.
struct Guard {
  Trigger trigger = Trigger::kUpdate;
  LeaseRule lease = LeaseRule::kNone;
  std::optional<LeaseToken> token;
  // Which session of the id is meant. A change of one that was created again must say so, here or
  // by its token.
  std::optional<SessionUid> uid;
  std::optional<StoreId> expected_store;
  std::optional<Revision> known_revision;     // not above the stored one
  std::optional<Revision> expected_revision;  // exactly the stored one
  std::optional<TurnNumber> turn;             // of an entry, commit or abandon; 0 is between turns
  std::optional<EntryNumber> last_entry;      // of the turn, which must all be there
  bool begins_next = false;                   // a commit that also begins a turn
  ExpectedAttributes attributes;
};

// What the decision was made on. If it no longer holds, the decision is made again: never a
// refusal.
struct Premise {
  Lifecycle lifecycle = Lifecycle::kIdle;
  TurnNumber active_turn;  // 0: none
  Epoch epoch;
  uint64_t cancel_requests = 0;              // how many; within a turn they only become more
  std::optional<Digest> history;             // absent: whatever it is
  std::optional<Position> at;                // absent: whatever it is
  std::optional<uint64_t> checkpoints = {};  // CheckpointSummary.version; absent: whatever it is
};

// The request a change answers. Kept with its receipt for 24 hours.
struct RequestStamp {
  RequestId id;
  Method method = Method::kCreate;
  Digest fingerprint{};
};

// What a mutation answered. Stored with its effect; numbers are the store's.
struct Receipt {
  Revision revision;
  Epoch epoch;
  TurnNumber turn;         // begun: by BeginTurn, or by `begin_next`
  EntryNumber last_entry;  // applied to the snapshot
  MessageSeq messages;
  TurnNumber abandoned_turn;
  uint64_t entries_dropped = 0;  // journal entries of the abandoned turn
  bool sm_slot_handed_out = false;
  bool created = false;
  Revision before;    // the revision before this change
  Revision snapshot;  // the last snapshot's; of a call that puts a checkpoint, the pinned one's
  std::string previous_holder;
  uint64_t tail_bytes_truncated = 0;  // of an unfinished write, when the store opened the session
  std::string token;                  // of a grant; wiped when its epoch has passed
  uint64_t drained_turns = 0;         // committed while a close waited
  AuditSeq audit;                     // the record that was written with it
  ItemVersion items_version;          // of a change that writes items, like the two below
  std::vector<PutResult> puts;
  uint64_t items_deleted = 0;
  uint64_t removed_messages = 0;  // of a restore: that the history had, and has no more
  std::vector<Message> removed;   // of these, the last ones, as far as the reply brings them
};

// A stored request with its reply.
struct RequestRow {
  RequestStamp stamp;
  Receipt receipt;
  absl::Time at;
};

// The facts that are fixed when a session is created.
struct Creation {
  SessionUid uid;
  Mode mode = Mode::kAsk;
  std::string project_root;
  SessionKind kind = SessionKind::kLeased;
  std::string group;
  std::optional<SessionUid> replaces;  // the deleted session whose id is used again
};

// A staged upload that a change takes over: its messages and slots may lie in it.
struct UploadLink {
  UploadId id;
  uint64_t bytes = 0;  // of the whole upload
  Digest sha256{};     // of the same
};

// A new epoch for a new holder. The store makes the token from the secret and the numbers it gives.
struct Grant {
  std::string holder;
  absl::Duration ttl;
  std::string secret;  // kSecretBytes of randomness
};

// A turn and the one before it, as the decision to end it knew them. For observers: a store makes
// nothing of it.
struct KnownTurn {
  TurnRecord turn;
  TraceRef previous;
};

struct EndTurn {
  TurnOutcome outcome = TurnOutcome::kOk;
  bool committed = false;  // its journal is applied to the snapshot, else it leaves no trace
  std::optional<KnownTurn> known;
};

struct BeginTurn {
  TurnSource source = TurnSource::kUser;
  TraceRef trace;
  std::string parent_span_id;
};

// A number that only the store can give, put into an event's payload when it does.
enum class Given : uint8_t { kTurn, kEpoch, kCompactions };

struct EventDraft {
  std::string name;
  std::map<std::string, std::string> payload;
  std::vector<Given> given;
};

struct AuditDraft {
  std::string audit_class;
  std::string code;
  std::map<std::string, std::string> data;
};

// Sets (value) or removes (nullopt) attributes by key.
using AttributePatch = std::map<std::string, std::optional<std::string>>;

// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): the order is that of the effects
struct Change {
  SessionKey key;
  std::optional<RequestStamp> request;  // absent: journal entries, the server's own recovery
  std::optional<Creation> create;       // absent: the session exists
  Guard guard;
  std::optional<Premise> premise;  // absent: any head that passes the guard will do

  // Effects, in this order.
  bool moves_revision = false;
  std::optional<Grant> grant;
  bool ends_lease = false;  // release, close: the hash is wiped, the epoch stays
  bool renews_lease = false;
  bool raises_epoch = false;  // recovery: fences a holder without granting
  std::optional<EndTurn> end_turn;
  bool keeps_turn = false;  // applies what the active turn has so far, and ends nothing
  std::optional<Lifecycle> to;
  CloseReason close_reason = CloseReason::kNone;
  bool snapshot =
      false;  // records a snapshot: the store's slot first, then slots, messages, manifest
  std::vector<Slot> slots;
  std::vector<std::string> deleted_slots;
  bool replaces_history = false;       // `messages` begin a new generation
  std::optional<HistoryCut> restores;  // of a kept history, with which a new generation begins
  bool compacts = false;               // the snapshot is one of a compaction
  std::vector<Message> messages;
  std::optional<UploadLink> upload;                  // that `slots` and `messages` lie in
  std::optional<std::optional<StateMachineRef>> sm;  // set, or remove by an inner nullopt
  std::optional<BeginTurn> begin_turn;
  bool hands_out_sm_slot = false;
  std::vector<JournalEntry> entries;
  AttributePatch attributes;
  ItemWrites items;
  std::optional<CheckpointWrites> checkpoints;
  std::optional<CheckpointKind> pins_previous;  // the last snapshot before the change, if any
  std::optional<CancelRequest> cancel_request;  // added unless it is there already
  std::vector<EventDraft> events;
  std::optional<AuditDraft> audit;
  // For the receipt.
  uint64_t drained_turns = 0;
  uint64_t removed_messages = 0;
  std::vector<Message> removed;
  bool tombstone = false;

  std::string correlation_id;
  TraceRef trace;
};

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_CHANGE_H_

// The Session Store contract: what the domain requires of a store, and what every store guarantees.
// A numbered sentence has a case of the same number in tests/contract, which runs over every store;
// no store opts out of one.
//
// Any thread may call any method; calls block. Results own their data; arguments are not kept.
// Every error is a Refusal of the closed list; text of drivers and of the system never leaves a
// store.
//
// - [C001] A store shows only what is durable: what a load shows is there when the store is
//   opened again. [C070] So is what a read shows, [C071] what a listing shows, [C072] and what a
//   repeat is answered with.
// - [C002] Anything that fails after bytes may have moved is STORE_UNAVAILABLE with outcome
//   unknown. [C073] Opened again, the store has such a change whole or not at all.
// - [C003] A session of another tenant does not exist for a call, [C074] nor in a listing.
#ifndef HOLDFAST_SESSION_STORE_H_
#define HOLDFAST_SESSION_STORE_H_

#include "session/change.h"
#include "session/head.h"
#include "session/ids.h"
#include "session/item_query.h"
#include "session/model.h"
#include "session/store_meter.h"
#include "session/store_reads.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast {

// What a store is and can do.
struct StoreDescription {
  std::string kind;                                      // for example "fs"
  std::string contract_version;                          // of this contract
  std::string required_core_version = ">=1.0.0 <2.0.0";  // of the program that uses the store
  std::string config_schema;  // JSON Schema of its options; unknown ones are forbidden
  StoreId store;
  Incarnation incarnation;
  bool journaling = true;
  uint64_t snapshot_bytes_limit = 0;
  bool large_slot_streaming = false;
  bool concurrent_readers = true;
  std::string durability;             // "sync", or what the operator chose instead
  std::vector<std::string> warnings;  // for the operator: what may lose acknowledged writes
  bool heals = false;  // once unhealthy it may be healthy again by itself, without a restart
  // Calls of CommitMany that are worth making at once; 0: it gains nothing over Commit.
  size_t groups_at_once = 0;
};

// A head with the stored reply of one request, read together.
struct LoadedSession {
  Head head;
  std::optional<RequestRow> request;
};

// What became of a change.
struct CommitResult {
  enum class Kind : uint8_t {
    kApplied,   // done and durable: `receipt`, `head`
    kRepeated,  // this request had been answered before: its `receipt`; `head` is the current one
    kMoved,     // the premise no longer holds: decide again on `head`
    kRefused,   // a guard failed on `head`: `refusal` says which
  };
  Kind kind = Kind::kApplied;
  Receipt receipt;
  Head head;
  absl::Status refusal;
  std::vector<Event> events;  // of an applied change
};

// One of several changes that are committed together.
struct GroupedChange {
  const Change* change = nullptr;
  std::optional<RecordedSpan> span;  // that it works for, where one is recorded
};

// What became of one of several changes that were committed together.
struct GroupedResult {
  enum class Kind : uint8_t {
    kDone,     // `result` is what Commit would have answered: applied, repeated, or an error
    kAlone,    // nothing was done: it must be committed by itself
    kInDoubt,  // the same, but it may be in effect already, and until Commit answers its outcome is
               // unknown
  };
  Kind kind = Kind::kAlone;
  absl::StatusOr<CommitResult> result = CommitResult();
};

// What a store found when it looked at itself.
struct StoreCheck {
  // Deleted sessions whose place is there again; at most kReappearedShown.
  std::vector<SessionKey> reappeared;
};

// Why a session is a candidate for the server's own work.
enum class DueKind : uint8_t {
  kAbandoned,  // ACTIVE, the lease expired, and nothing happened for `abandon_after`
  kCancelled,  // has a cancel request that is at least `cancel_grace` old
};

struct RenewRequest {
  SessionKey key;
  LeaseToken token;
  std::optional<absl::Duration> ttl;  // absent: the grant's own
};

struct Renewed {
  absl::Duration expires_in;
  Revision revision;
  std::vector<CancelRequest> cancel_requests;
};

// Sessions with new events. May name one that has none.
struct Wakeups {
  std::vector<SessionKey> sessions;
  bool all = false;  // too many to name: it may be any session
};

class SessionStore {
 public:
  SessionStore() = default;
  SessionStore(const SessionStore&) = delete;
  SessionStore& operator=(const SessionStore&) = delete;
  virtual ~SessionStore() = default;

  // [C004] Says what the store is, without failing, from Init on. [C005] The store id and the
  // incarnation never change while a store is open, and are the same after it is opened again.
  [[nodiscard]] virtual StoreDescription Describe() const = 0;

  // [C006] Verifies that the backend is reachable and writable. STORE_UNAVAILABLE with words that
  // a person can act on. Called once, before anything else.
  virtual absl::Status Init() = 0;
  // Takes over the persistence path. Called once, after Init.
  virtual absl::Status Activate() = 0;
  // [C007] Waits for the changes under way: each one is durable or was refused. [C075] Takes no
  // more: every later call is STORE_UNAVAILABLE with outcome known.
  virtual absl::Status Deactivate() = 0;
  // [C008] Releases everything; more than once is harmless.
  virtual void Dispose() = 0;

  // [C010] The head and the stored reply of `request`, in one call that reads no history. [C017]
  // No reply for a request that did nothing. [C011] SESSION_NOT_FOUND for an id that was never
  // created. [C012] TOMBSTONED for a deleted one. [C013] RESUME_MISMATCH(stored, active) for a
  // session that another store stamped; nothing of it is read. [C016] MANIFEST_DRIFT or DAMAGED
  // for one whose record cannot be read; the others go on. [C014] The lease is live from its
  // grant or its last renewal for its TTL and then expired. [C076] The clock for people decides
  // nothing about it. [C015] Grants are shown for 24 hours and no more, [C226] by no such clock.
  virtual absl::StatusOr<LoadedSession> LoadForDecision(
      const SessionKey& key, const std::optional<RequestId>& request) = 0;

  // [C195] The same for an answer that must stay true: what it shows, and that no reply is stored,
  // survives everything that an acknowledged change survives. [C196] STORE_UNAVAILABLE, with
  // nothing shown, when the store cannot guarantee that.
  virtual absl::StatusOr<LoadedSession> LoadForOutcome(const SessionKey& key,
                                                       const RequestId& request) = 0;

  // Applies `change` whole and durably, or not at all. Under the session's lock, in this order:
  // - [C028] A session that another store stamped is RESUME_MISMATCH, and stays as it is.
  // - [C020] A tombstoned session is TOMBSTONED(session_uid), [C291] but for a change with `create`
  //   that names this one as the session that it replaces. [C302] Such a change is
  //   SESSION_NOT_FOUND where no session was deleted. While something of the deleted session is
  //   still there, it is STORE_UNAVAILABLE with outcome known and a time after which to send it
  //   again.
  // - [C021] A request id that is stored answers kRepeated with the stored receipt and changes
  //   nothing, also when the head has moved on, [C077] also after the store is opened again,
  //   [C078] for 24 hours, [C225] by no clock for people. [C022] With another fingerprint, [C079]
  //   or another method, it is REQUEST_ID_REUSED.
  // - [C025] A change with `create` is SESSION_EXISTS when the id is taken. [C026] One without is
  //   SESSION_NOT_FOUND when it is not.
  // - [C023] The guard (session/guard.h) refuses in its own order and with the head of that
  //   moment.
  // - [C024] A premise that no longer holds is kMoved with the head of that moment, never a
  //   refusal; [C166] cancel requests are part of it, [C288] and the position where it is named.
  //   [C027] A refused change leaves no trace, [C029] and its request is not stored: it may still
  //   act.
  //
  // The guard's refusals:
  // - [C294] A change of another session of the id than the one that is there, by its uid, is
  //   FENCED(cause=deleted), [C295] and so is one with the token of another, whether it needs a
  //   token or not. [C296] In a session that replaced a deleted one, so is a change that names
  //   neither a uid nor a token.
  // - [C080] A token of another store, or another expected store, is RESUME_MISMATCH.
  // - [C081] A known revision, an expected one or an epoch above the stored one is
  //   REVISION_AHEAD.
  // - [C082] No token, or one whose lease was given back, is LEASE_REQUIRED.
  // - [C032] The tokens before a grant are FENCED for ever, [C096] also after the store is opened
  //   again. [C092] So is one with another secret, [C093] and one of another creation or
  //   incarnation.
  // - [C083] Another's live lease is LEASE_HELD(holder, time left), [C085] unless it is forced.
  //   [C084] An expired lease blocks no other client, [C091] and its holder may still write.
  // - [C086] A second turn is CONCURRENT_TURN. [C087] Any other trigger that the table does not
  //   have is ILLEGAL_TRANSITION(from, trigger, legal).
  // - [C165] Under a cancel request of the session, BeginTurn and a commit that begins the next
  //   turn are ILLEGAL_TRANSITION.
  // - [C088] A turn that is not the active one is STALE_TURN, [C107] for a new journal entry too.
  // - [C090] A last entry that is not there yet, [C043] and a gap, is INVALID_FIELD with the
  //   number expected.
  // - [C198] A change that would leave more attributes than kAttributesPerSession, [C199] or more
  //   bytes of them than kAttributeBytesPerSession, is TOO_LARGE(field, limit, got); [C200] so is
  //   one that would leave more slots than kSlotsPerSession, [C201] also by the slot updates of its
  //   turn or of turn 0. The store's own slot does not count. [C202] A change that leaves no more
  //   than there was is never refused for it.
  // - [C242] In a session of kind OPEN no change needs a token, [C243] and one that is sent is
  //   INVALID_FIELD(lease_token). [C244] What is of a lease or a turn is ILLEGAL_TRANSITION there.
  // - [C089] An expected revision below the stored one is STALE_REVISION(expected, actual,
  //   writer). [C239] So is an attribute with another value than expected (what, attribute,
  //   actual); [C240] one that is expected to be empty may be absent.
  // - [C249] A put of an item that has another version than expected, [C250] and a last key of a
  //   range other than expected, is STALE_REVISION(what=item, field, actual), and nothing of the
  //   change is written. [C251] More items, [C252] or more bytes of them, than the session may have
  //   (ItemBounds) is TOO_LARGE, [C253] and so is a change that deletes more than it may.
  //
  // What an applied change does:
  // - [C030] The revision moves by one exactly if the change says so, [C094] and `updated_at`
  //   with it.
  // - [C031] A grant raises the epoch by one and answers a token that is accepted from then on.
  //   [C095] Its receipt names the holder before. [C120] Eight grants at once have eight epochs.
  //   [C049] The token is wiped from the stored reply once its epoch has passed, [C119] and
  //   answered to a repeat until then. [C143] A change that renews gives the lease its whole TTL
  //   again.
  // - [C241] A session has the kind and the group that it was created with; one of kind OPEN has
  //   never had a lease. [C245] Messages that several writers add to it at once are all there, each
  //   once.
  // - [C033] A release keeps the epoch, [C097] ends the lease, [C114] and so does a close. [C113]
  //   Raising the epoch without a grant fences the holder and leaves the lease free.
  // - [C111] A turn gets the number behind the last one that was begun. [C112] A commit that
  //   begins the next turn does both in one revision.
  // - [C034] Messages are numbered from the newest on, without gaps, [C098] and kept byte for
  //   byte. [C099] The history's digest covers every message in order.
  // - [C035] A commit applies the turn's slot updates to the snapshot, in their order, [C100]
  //   then the change's own slots, [C101] all under the commit's revision. [C036] An abandoned
  //   turn's entries leave no trace in slots, [C102] and stay in the journal. [C037] A slot
  //   update of turn 0 applies at once. [C038] A slot that is not written stays as it is, over
  //   any number of snapshots. [C039] A deleted slot is gone from this snapshot on, [C103] and
  //   still there in the ones before. [C040] The store's own slot is part of every snapshot,
  //   [C236] and describes it (session/snapshot_description.h).
  // - [C172] A snapshot inside the turn holds what the turn has so far, and the turn goes on.
  //   [C173] What it applied is not applied again, [C174] and stays when the turn is abandoned:
  //   only what came after leaves no trace. [C175] The turn's entries stay readable over any number
  //   of such snapshots.
  // - [C191] A change that replaces the history begins a new generation, whose messages are
  //   numbered from 1 and whose digest begins anew. [C192] The messages before are read at the
  //   snapshots that name them, [C193] also when the store is opened again and the new history
  //   goes on.
  // - [C279] A change that restores the first messages of a kept history begins a new generation
  //   with them: they are read as its own, [C280] in pages with what follows, [C281] and what is
  //   added is numbered behind them and goes on with their digest. [C282] The history before is
  //   read at its snapshots. [C283] A restored history is there when the store is opened again,
  //   [C284] also when no snapshot names its source any more, [C285] and is restored itself as any
  //   other; [C289] what was staged of it is readable as long as it is. [C287] The receipt has what
  //   the change says was removed.
  // - [C286] The last message that a change adds carries the digest of the history up to it.
  // - [C117] The state machine's reference is set, removed, or left as it is.
  // - [C041] Entries that are there already are answered as done, [C104] also 24 hours later,
  //   [C105] also of a turn that has ended; [C042] with other bytes, while they are kept, as
  //   REQUEST_ID_REUSED with turn and number. [C106] Of an append that overlaps only the new
  //   entries are added.
  // - [C044] Events are numbered without gaps, in the order given. [C108] Each carries the
  //   revision, correlation id, trace id and time of its change, [C109] and the numbers that only
  //   a store can give.
  // - [C045] The audit record is part of the same write, and its hash covers the record before.
  //   [C110] It carries the revision and the epoch that the change left. [C203] Slot updates of
  //   turn 0 leave a record of the entries that were added, [C204] and none when all of them were
  //   there already.
  // - [C046] Attributes are set and removed by key.
  // - [C254] Each put of an item gets the next number of a counter of the session as its version,
  //   [C255] also one whose condition does not hold, and no number is given twice. Items move no
  //   revision by themselves. [C256] A put without a key appends: its key is behind those of the
  //   appends before it.
  // - [C257] A put of kIfAbsent where there is an item changes nothing and answers the version that
  //   is there; [C258] one of kIfVersion writes on that version, 0 being none.
  // - [C259] A put keeps the time at which its item was created, and moves that of its change.
  // - [C260] Deletes come before the puts of their change. [C261] Of a key, [C262] and of a range,
  //   they take what is in it and nothing else. [C263] The receipt counts those that were there.
  // - [C264] Items stay as they are while histories are replaced, and snapshots written and pruned;
  //   [C265] they are there when the store is opened again, [C266] those that were deleted are not.
  //   [C267] A change that creates a session may bring items. [C268] Those that several writers
  //   append at once are all there, each once. [C269] A session of another id has none of them.
  // - [C304] A change puts checkpoints of snapshots that are kept (session/checkpoint.h), [C305] or
  //   of the one that it writes itself, [C306] and deletes them. [C307] The head counts them;
  //   [C308] a premise about their count that no longer holds is kMoved. [C309] A name that another
  //   checkpoint has is STALE_REVISION(what=item), and nothing of the change is written. [C310]
  //   Checkpoints are there when the store is opened again.
  // - [C321] A change pins the last snapshot before it as a checkpoint of a kind of the server's
  //   own. [C322] Of each of these kinds the oldest goes where kOwnCheckpointsKept are there;
  //   [C323] what is pinned so already is not written again. [C324] The head names them.
  // - [C325] The head counts compactions, [C326] and the contexts that begin with a compaction, a
  //   restore or a grant. [C327] It names the turn that its newest snapshot ended, or was taken in.
  //   [C328] A commit of a turn may replace the history. [C329] Checkpoints are put where the items
  //   of the session are as many as they may be.
  // - [C160] A cancel request is added behind those that are there, with the time of its change,
  //   and moves no revision by itself; [C161] one that is there already is not added again. [C162]
  //   The cancel requests of a turn, its stages and tools end with it; [C163] a cancel request of
  //   the session stays with the closed session and ends when the session is reopened. [C164]
  //   Cancel requests are there when the store is opened again.
  // - [C115] A tombstone is for ever: without being named, the id is never free again.
  // - [C290] A session that replaces a deleted one has nothing of it: no history, slots, items,
  //   attributes, events, records, cancel requests or lease, [C300] and no stored replies. [C293]
  //   The generations of its history go on above those of the deleted one. [C292] It is there when
  //   the store is opened again, [C297] and so is its tombstone once it is deleted, [C301] which
  //   another session may replace again.
  //
  // [C047] Eight copies of one request at once have one effect and eight equal answers. [C118]
  // Eight creations of one id at once have one winner, [C298] also in the place of a deleted one.
  // [C048] Changes of one session never interleave: each is decided on the result of the one
  // before.
  virtual absl::StatusOr<CommitResult> Commit(const Change& change) = 0;

  // Commits changes together, each of another session, for callers that would else wait for each
  // other. A change in it has a request or nothing but journal entries, so that it may be sent
  // again; it creates and deletes no session and links no upload. Answers for each, in their order:
  // [C231] what Commit would have answered, for a change that was applied and possibly for a
  // repeat, [C232] or that the change is to be committed alone: then it has left no trace, unless
  // it is in doubt. [C233] Commit then answers the final outcome of a change in doubt. [C234] The
  // outcome of one change does not affect another.
  //
  // Waits for no lock of one session. A store that does not override it commits one after the
  // other.
  virtual std::vector<GroupedResult> CommitMany(const std::vector<GroupedChange>& changes);

  // The cached head of a session, without access to a disk or a database; nullptr when none is
  // cached. [C235] It is one that the session has had: it may be of any age, and its lease may have
  // ended or been renewed since. A command that passes on it may go on to Commit, which decides
  // again; a command must not be refused because of it.
  virtual std::shared_ptr<const Head> CachedHead(const SessionKey& key) = 0;

  // Uploads carry what is too large for one change: chunks first, then a small change that links
  // them. The server makes the ids.
  //
  // [C180] Keeps `bytes`, which begin at `offset` of `upload`, durably and without the session's
  // lock; nothing of the session shows them. [C181] A chunk that is there already is OK and
  // changes nothing; one that begins behind the end is INVALID_FIELD(offset). STORAGE_FULL leaves
  // what was kept before.
  virtual absl::Status StageUpload(const SessionKey& key, const UploadId& upload, uint64_t offset,
                                   std::string_view bytes) = 0;
  // [C182] Forgets an upload that was not linked; one that is not there is forgotten already.
  virtual absl::Status DropUpload(const SessionKey& key, const UploadId& upload) = 0;
  // - [C183] A change takes over the upload that it names: what of its messages and slots lies in
  //   it can be read from then on, [C184] also when the store is opened again, and as long as a
  //   snapshot that is kept names it. [C185] An upload that is not there, or that is not what the
  //   change says, is STORE_UNAVAILABLE with outcome known: send it again. [C186] So is one that
  //   a change has taken over, [C187] or one of another session. [C188] A refused change leaves
  //   the upload as it was. [C189] An upload that no change has linked an hour after its last chunk
  //   is swept with the next ListDue.
  // - [C190] Up to `count` bytes of `bytes` from `offset` of it on, fewer only at its end.
  //   DAMAGED when they are not what was staged.
  virtual absl::StatusOr<std::string> ReadStaged(const SessionKey& key, const StagedBytes& bytes,
                                                 uint64_t offset, size_t count) = 0;

  // All reads: [C130] an unknown id is SESSION_NOT_FOUND, [C116] a deleted one TOMBSTONED, [C131]
  // a foreign one RESUME_MISMATCH. [C303] Each page names the session that it was read of. [C054] A
  // page holds at least one item if there is one, [C122] ends at the limit of items [C123] or of
  // bytes, [C124] and says whether it reached the newest. [C132] Behind the newest it is empty.

  // What was staged is shown by its place, without its bytes, and counts none of a page's.
  //
  // [C050] A page of the history behind `after`, in order, at `revision` (absent: now), without
  // gaps. [C051] A position that was seen stays readable and the same while it is kept; [C052]
  // before the oldest one kept it is REVISION_PRUNED(oldest), [C053] above the current one
  // REVISION_AHEAD. [C237] As many of the newest snapshots are kept as the store is configured for
  // (session/retention.h), [C238] where it is configured for fewer than there are, from the next
  // snapshot on.
  // [C311] A snapshot that a checkpoint pins is read at its revision, however many follow, [C312]
  // also when its history was replaced or restored since, [C313] or begins with messages of earlier
  // ones, [C314] and also when the store is opened again. [C315] Any other revision before the
  // oldest kept is REVISION_PRUNED, [C316] and so is that of a snapshot which no checkpoint pins
  // any more. [C317] It stays while one does. [C318] What was staged of it is readable as long.
  virtual absl::StatusOr<MessagePage> ReadMessages(const SessionKey& key,
                                                   std::optional<Revision> revision,
                                                   MessageSeq after, PageLimit limit) = 0;
  // [C055] The slots as they are now, by owner, [C128] or as they were at a revision that is
  // kept, [C319] or at that of a pinned snapshot, where those that were deleted before are absent
  // and those that were deleted since are there; [C125] the named ones only if any are named,
  // [C126] without those that are absent; [C197] The data of the first one that has no room in
  // `most_bytes` beside those before it is left out, and that of all behind it, [C127] but not its
  // size.
  virtual absl::StatusOr<SlotPage> ReadSlots(const SessionKey& key, const SlotQuery& query) = 0;
  // [C056] A page of the journal that is still kept, in order of journal numbers: the active
  // turn's entries and those of ended turns, committed or abandoned, since the oldest snapshot
  // kept; [C129] of one turn only, if asked, [C230] whole over its pages, however many turns have
  // ended since. [C057] From before that, unless from 0, it is REVISION_PRUNED.
  virtual absl::StatusOr<JournalPage> ReadJournal(const SessionKey& key, const JournalQuery& query,
                                                  PageLimit limit) = 0;
  // [C270] A page of the items of one collection, ascending by key, bytewise, behind `after`,
  // [C271] or descending; [C272] of a range only, or [C273] those of the named keys that are there.
  // [C274] Only items that have all of the labels, with type and value; such a page looks at no
  // more than `look_most` items, [C275] says how many it looked at and where it stopped, and may be
  // empty before the end.
  // [C276] Items come as they were written, [C277] their data only if asked, and their size always.
  // [C278] A page shows one state of the session. Its bytes are those of the items as it brings
  // them, by ItemBytes.
  virtual absl::StatusOr<ItemPage> ReadItems(const SessionKey& key, const ItemQuery& query,
                                             PageLimit limit) = 0;
  // [C058] A page of events behind `after`, in order.
  virtual absl::StatusOr<EventPage> ReadEvents(const SessionKey& key, EventSeq after,
                                               PageLimit limit) = 0;
  // [C156] The last event of a deleted session, whole, [C157] also after the store is opened again.
  // [C158] SESSION_NOT_FOUND for an id whose session was not deleted, [C299] or was replaced.
  virtual absl::StatusOr<Event> ReadLastEvent(const SessionKey& key) = 0;
  // Waits for sessions with new events. It is a hint: a watcher that misses a notification finds
  // the events by reading, later. One thread calls at a time. [C150] Answers the sessions that got
  // events since the call before, or since Activate, each once; [C151] a call that waits, as soon
  // as one does; [C152] none after `at_most`. [C153] The events of a session that it names can be
  // read by then. [C154] Of more than kWakeupsMost sessions it names none and says `all`. [C155]
  // Deactivate ends a call that waits: STORE_UNAVAILABLE, as every later one.
  virtual absl::StatusOr<Wakeups> WaitForEvents(absl::Duration at_most) = 0;
  // [C059] A page of the audit chain behind `after`, in order, from the first record on.
  virtual absl::StatusOr<AuditPage> ReadAudit(const SessionKey& key, AuditSeq after,
                                              PageLimit limit) = 0;

  // [C060] Rows in key order behind `after`; every session that matches appears once over the
  // pages. [C133] Descending, in the opposite order. [C134] Of one project root, [C135] or of some
  // lifecycles only, if asked, [C246] or of one group, [C247] or of each group that begins with a
  // prefix, by group first, [C248] or of some kinds. [C137] A row agrees with the head. [C061] A
  // foreign session is a row with the condition kForeign and hides no other row, [C136] and a
  // damaged one is kDamaged likewise. [C320] A row names the session's uid. [C062] A deleted
  // session has no row. [C171] A row says whether a cancel request asks for the end of the session
  // or its turn. [C340] It says which event and which version of items were the last. [C341] It
  // brings the attributes that the query names, [C342] and the slots of its owners, with the data
  // of each up to kSlotBytesInRow; [C343] of a larger or a staged one it says the size. [C344] A
  // page ends before the first row but one for whose attributes and slots `most_bytes` has no room.
  // [C345] A row that is not kOk brings none, and hides those of no other row.
  virtual absl::StatusOr<ListPage> List(const ListQuery& query) = 0;

  // [C063] Candidates for `kind`; the domain decides, and a lost race is harmless. [C210] They come
  // in the order of their keys, tenant first, [C211] only those behind `after` if it is given,
  // which need not be a candidate. [C139] At most `limit`. Of kAbandoned: [C138] never one whose
  // lease is live or that has no active turn. [C064] Quiet time counts from the newest of the
  // session's activity and the store's opening. Of kCancelled, whatever the lease: [C168] a session
  // with a cancel request of its own and no active turn, and one whose turn has had a cancel
  // request of either for `quiet`; [C169] counted from the first such cancel request, and from the
  // store's opening. [C170] A cancel request of a stage or tool makes no session a candidate.
  virtual absl::StatusOr<std::vector<SessionKey>> ListDue(DueKind kind, absl::Duration quiet,
                                                          const std::optional<SessionKey>& after,
                                                          size_t limit) = 0;

  // [C065] Prolongs each lease whose token is the current one, and refuses each other one for
  // itself, in the order given. [C140] By the TTL that is named, else the grant's. [C066] An
  // expired lease whose epoch is current is live again. [C141] Moves no revision and leaves no
  // event or record. Need not survive a crash: [C067] opened again, a store grants every held
  // lease one full TTL, [C142] and one that was given back none. [C167] The answer shows
  // the session's cancel requests.
  virtual std::vector<absl::StatusOr<Renewed>> RenewLeases(
      const std::vector<RenewRequest>& requests) = 0;

  // [C068] OK while the store can take a change; [C144] STORE_UNAVAILABLE with the reason
  // otherwise. [C194] That over, OK again: by itself if the store `heals`, else once opened again.
  virtual absl::Status CheckHealth() = 0;

  // [C176] OK when the store has just written something, made it durable and removed it again; what
  // sessions hold stays as it is. [C177] Otherwise STORE_UNAVAILABLE or STORAGE_FULL, in words that
  // a person can act on. Names the deleted sessions that exist again, if the store can find them.
  virtual absl::StatusOr<StoreCheck> Check() = 0;
};

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_STORE_H_

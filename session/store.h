// The Session Store contract: what the domain asks of whatever remembers sessions, and what every store
// promises (STORES section 1). A numbered sentence has a case of the same number in tests/contract, which
// runs over every store; no store opts out of one.
//
// Any thread may call any method; calls block. Results own their data; arguments are not kept. Every
// error is a Refusal of the closed list; text of drivers and of the system never leaves a store.
//
// - [C001] A store shows only what is durable: to loads, reads, listings and repeated requests alike.
// - [C002] Anything that fails after bytes may have moved is STORE_UNAVAILABLE with outcome unknown.
// - [C003] A session of another tenant does not exist.
#ifndef HOLDFAST_SESSION_STORE_H_
#define HOLDFAST_SESSION_STORE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "session/change.h"
#include "session/head.h"
#include "session/ids.h"
#include "session/model.h"

namespace holdfast {

// What a store is and can do (systems.md A1, SessionStoreContract).
struct StoreDescription {
  std::string kind;              // for example "fs"
  std::string contract_version;  // of this contract
  StoreId store;
  Incarnation incarnation;
  bool journaling = true;
  uint64_t snapshot_bytes_limit = 0;
  bool large_slot_streaming = false;
  bool concurrent_readers = true;
  std::string durability;  // "sync", or what the operator chose instead
};

// A head with the stored reply of one request, read together.
struct Loaded {
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

// What bounds one page.
struct PageLimit {
  uint32_t items = 0;  // at least 1
  size_t bytes = 0;    // a first item larger than this is a page of its own
};

struct MessagePage {
  std::vector<Message> messages;
  Position at;            // the page is of this position
  MessageSeq newest;      // of the history at that position
  Generation generation;
  Digest history{};       // of the current position only, else zero
  bool end = false;       // reaches the newest
};

struct SlotQuery {
  std::optional<Revision> revision;  // absent: the current position
  std::vector<std::string> owners;   // empty: all
  bool without_data = false;
};

struct SlotView {
  Slot slot;
  uint64_t size = 0;
  bool damaged = false;  // its bytes cannot be read; `slot.data` is empty
};

struct SlotPage {
  std::vector<SlotView> slots;  // by owner, the store's own included
  Position at;
};

struct JournalQuery {
  JournalNumber after;
  std::optional<TurnNumber> turn;
};

struct JournalPage {
  std::vector<JournalEntry> entries;
  Position at;
  bool end = false;
};

struct EventPage {
  std::vector<Event> events;
  Revision revision;
  bool end = false;
};

struct AuditPage {
  std::vector<AuditRecord> records;
  bool end = false;
};

// One row of a listing.
struct SessionRow {
  enum class Mark : uint8_t { kOk, kForeign, kDamaged };
  SessionId id;
  Mark mark = Mark::kOk;
  Lifecycle lifecycle = Lifecycle::kIdle;
  Revision revision;
  std::string project_root;
  std::string title;
  MessageSeq messages;
  absl::Time created_at;
  absl::Time updated_at;
  std::string foreign_store;
};

// Where a listing stands: behind this creation time and id.
struct ListKey {
  absl::Time created_at;
  std::string id;
};

struct ListQuery {
  TenantId tenant;
  std::string project_root;            // empty: any
  std::vector<Lifecycle> lifecycles;   // empty: any
  bool descending = false;
  std::optional<ListKey> after;
  uint32_t limit = 0;
};

struct ListPage {
  std::vector<SessionRow> rows;  // by creation time, then id; damaged and foreign ones count as oldest
  bool end = false;
  bool complete = true;  // false while the store is still finding out what it holds
};

// Why a session is a candidate for the server's own work.
enum class DueKind : uint8_t {
  kAbandoned,  // ACTIVE, the lease expired, and nothing happened for `abandon_after`
};

struct RenewRequest {
  SessionKey key;
  LeaseToken token;
  std::optional<absl::Duration> ttl;  // absent: the grant's own
};

struct Renewed {
  absl::Duration expires_in;
  Revision revision;
};

class SessionStore {
 public:
  SessionStore() = default;
  SessionStore(const SessionStore&) = delete;
  SessionStore& operator=(const SessionStore&) = delete;
  virtual ~SessionStore() = default;

  // [C004] Says what the store is, without failing, from Init on. [C005] The store id and the incarnation
  // never change while a store is open, and the store id is the same after it is opened again.
  [[nodiscard]] virtual StoreDescription Describe() const = 0;

  // [C006] Verifies that the backend is reachable and writable. STORE_UNAVAILABLE with words that a person
  // can act on. Called once, before anything else.
  virtual absl::Status Init() = 0;
  // Takes over the persistence path. Called once, after Init.
  virtual absl::Status Activate() = 0;
  // [C007] Waits for the changes under way and takes no more: every later call is STORE_UNAVAILABLE with
  // outcome known.
  virtual absl::Status Deactivate() = 0;
  // [C008] Releases everything; more than once is harmless.
  virtual void Dispose() = 0;

  // [C010] The head and the stored reply of `request`, in one call that reads no history.
  // [C011] SESSION_NOT_FOUND for an id that was never created; [C012] TOMBSTONED for a deleted one. [C013] RESUME_MISMATCH(stored, active) for a
  // session that another store stamped; nothing of it is read. [C014] The lease's state is by the store's clock. [C015] Grants are shown for
  // 24 hours by that clock, and then no more.
  virtual absl::StatusOr<Loaded> LoadForDecision(const SessionKey& key,
                                                 const std::optional<RequestId>& request) = 0;

  // Applies `change` whole and durably, or not at all. Under the session's lock, in this order:
  // [C020] a tombstoned session is TOMBSTONED;
  // [C021] a request id that is stored answers kRepeated with the stored receipt and changes nothing, also
  // when the head has moved on, also after a restart; [C022] with another fingerprint or method it is
  // REQUEST_ID_REUSED; [C023] the guard (session/guard.h) refuses in its own order with the head of that
  // moment; [C024] a premise that no longer holds is kMoved, never a refusal.
  // [C025] A change with `create` is SESSION_EXISTS when the id is taken. [C026] One without is
  // SESSION_NOT_FOUND when it is not. [C027] A refused change leaves no trace.
  //
  // What an applied change does: [C030] the revision moves by one exactly if it says so; [C031] a grant
  // raises the epoch by one and answers a token that is accepted from then on; [C032] the tokens before it
  // are FENCED for ever; [C033] a release keeps the epoch and makes the token useless; [C034] messages are
  // numbered from the newest on, without gaps, and kept byte for byte; [C035] a commit folds the turn's
  // slot updates first and then the change's own slots; [C036] an abandoned turn's entries leave no trace
  // in slots; [C037] a slot update of turn 0 applies at once; [C038] a slot that is not written stays as
  // it is, over any number of snapshots; [C039] a deleted slot is gone from this snapshot on and still
  // there in the ones before; [C040] the store's own slot is part of every snapshot; [C041] entries that
  // are there already are answered as done, [C042] with other bytes, while they are kept, as
  // REQUEST_ID_REUSED, and [C043] a gap is INVALID_FIELD with the number expected; [C044] events are
  // numbered without gaps, in the order given; [C045] the audit record is part of the same write, and its
  // hash covers the record before; [C046] attributes are set and removed by key.
  // [C047] Eight copies of one request at once have one effect and eight equal answers.
  // [C048] Changes of one session never interleave: each is decided on the result of the one before.
  // [C049] The receipt's token is wiped from the stored reply once its epoch has passed.
  virtual absl::StatusOr<CommitResult> Commit(const Change& change) = 0;

  // [C050] A page of the history behind `after`, in order, at `revision` (absent: now), without gaps.
  // [C051] A position that was seen stays readable and the same while it is kept; [C052] before the oldest
  // one kept it is REVISION_PRUNED(oldest), [C053] above the current one REVISION_AHEAD.
  // [C054] A page holds at least one item and ends at the limit of items or bytes.
  virtual absl::StatusOr<MessagePage> ReadMessages(const SessionKey& key,
                                                   std::optional<Revision> revision,
                                                   MessageSeq after, PageLimit limit) = 0;
  // [C055] The slots as of a position, the named ones only if any are named; an absent owner is left out.
  virtual absl::StatusOr<SlotPage> ReadSlots(const SessionKey& key, const SlotQuery& query) = 0;
  // [C056] A page of the journal that is still kept, in order of journal numbers: the active turn's entries
  // and those of ended turns, committed or abandoned, since the oldest snapshot kept. [C057] From before
  // that, unless from 0, it is REVISION_PRUNED.
  virtual absl::StatusOr<JournalPage> ReadJournal(const SessionKey& key, const JournalQuery& query,
                                                  PageLimit limit) = 0;
  // [C058] A page of events behind `after`, in order.
  virtual absl::StatusOr<EventPage> ReadEvents(const SessionKey& key, EventSeq after,
                                               PageLimit limit) = 0;
  // [C059] A page of the audit chain behind `after`, in order, from the first record on.
  virtual absl::StatusOr<AuditPage> ReadAudit(const SessionKey& key, AuditSeq after,
                                              PageLimit limit) = 0;

  // [C060] Rows in key order behind `after`; every session that matches appears once over the pages.
  // [C061] A damaged or foreign session is a marked row and hides nobody. [C062] A deleted one is gone.
  virtual absl::StatusOr<ListPage> List(const ListQuery& query) = 0;

  // [C063] Candidates for `kind`; the domain decides, and a lost race is harmless. [C064] Quiet time counts
  // from the newest of the session's activity and the store's opening.
  virtual absl::StatusOr<std::vector<SessionKey>> ListDue(DueKind kind, absl::Duration quiet,
                                                          size_t limit) = 0;

  // [C065] Prolongs each lease whose token is the current one, and refuses each other one for itself, in
  // the order given. [C066] An expired lease whose epoch is current is live again. Moves no revision and
  // need not survive a crash: [C067] opened again, a store grants every held lease one full TTL.
  virtual std::vector<absl::StatusOr<Renewed>> RenewLeases(
      const std::vector<RenewRequest>& requests) = 0;

  // [C068] OK while the store can take a change; STORE_UNAVAILABLE with the reason otherwise.
  virtual absl::Status CheckHealth() = 0;
};

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_STORE_H_

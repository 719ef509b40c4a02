// What a change does to a head: the numbers a store gives. Pure, so that a store decides nothing
// but when its result is durable.
#ifndef HOLDFAST_SESSION_APPLY_H_
#define HOLDFAST_SESSION_APPLY_H_

#include "session/change.h"
#include "session/head.h"
#include "session/ids.h"
#include "session/item_writes.h"
#include "session/limits.h"
#include "session/model.h"

#include "absl/time/time.h"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace holdfast {

// What the store knows and the change does not.
struct StoreFacts {
  StoreId store;
  Incarnation incarnation;
  absl::Time now;    // for people
  absl::Time clock;  // by which it is counted how long grants and replies are kept
  size_t snapshots_kept = kSnapshotsKeptDefault;  // of each session, the newest
};

// The result of a change: everything that must become durable together.
struct Applied {
  Head head;
  Receipt receipt;
  std::optional<RequestStamp> request;
  absl::Time at;
  std::optional<AuditRecord> audit;
  std::vector<Slot> slots;  // the store's own first; versions of this revision
  std::vector<std::string> deleted_slots;
  std::vector<Message> messages;      // numbered
  std::optional<UploadLink> upload;   // taken over
  std::vector<JournalEntry> entries;  // numbered; those that were already there are left out
  // The turn whose slot updates become part of the snapshot.
  std::optional<TurnNumber> applied_turn;
  EntryNumber applied_after;          // of it only the entries behind this one: the rest was before
  std::optional<TurnNumber> dropped;  // the turn whose slot updates leave no trace
  ItemWrites items;                   // numbered
  ItemEffects item_effects;           // of a store that resolves them (DecisionReads)
  std::vector<Event> events;          // numbered
  bool tombstone = false;
};

// Whether this entry is a slot update of turn 0, which applies at once.
inline bool UpdatesSlotAtOnce(const JournalEntry& entry) {
  return entry.slot.has_value() && entry.turn == TurnNumber();
}

// The head of a session that does not exist yet, on which a change with `create` is applied.
// `former`, if any, is the deleted session whose id it uses again.
Head EmptyHead(const StoreFacts& facts, const FormerSession* former = nullptr);

// Applies `change`, whose guard holds on `before`. Never fails.
Applied Apply(const Head& before, const Change& change, const StoreFacts& facts);

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_APPLY_H_

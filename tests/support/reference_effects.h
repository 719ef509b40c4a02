// What an applied change leaves in the reference store: numbers of its own, written from the
// numbered sentences of session/store.h and the comments of session/head.h. What can be counted or
// computed from everything that the session ever had is, and is not continued from a head.
#ifndef HOLDFAST_TESTS_SUPPORT_REFERENCE_EFFECTS_H_
#define HOLDFAST_TESTS_SUPPORT_REFERENCE_EFFECTS_H_

#include "session/change.h"
#include "session/head.h"
#include "session/ids.h"
#include "session/model.h"
#include "tests/support/reference_disk.h"
#include "tests/support/reference_items.h"

#include "absl/time/time.h"

#include <optional>
#include <string>
#include <vector>

namespace holdfast::test {

// Where and when a change is applied.
struct Moment {
  StoreId store;
  Incarnation incarnation;
  absl::Time wall;   // for people
  absl::Time clock;  // by which it is counted how long grants are kept
  size_t snapshots_kept = kSnapshotsKeptDefault;
};

// A version of a slot from this change on; nullopt: it is deleted.
struct SlotWrite {
  std::string owner;
  std::optional<Slot> slot;
};

// Everything that a change adds, and the head and the receipt after it.
struct Effects {
  Head head;
  Receipt receipt;
  // A copy of the messages that a new generation begins with; absent: the generation stays.
  std::optional<std::vector<Message>> begins_with;
  std::vector<Message> messages;
  std::vector<JournalEntry> entries;  // without those that were there already
  std::vector<SlotWrite> slots;       // one after the other
  std::vector<Event> events;
  std::optional<AuditRecord> audit;
  std::optional<ItemMap> items;  // all of them, where the change writes some
};

// The head of a session that is not there yet.
Head HeadOfNone(const Moment& moment);

// The effects of `change`, which breaks no rule, on `session`, whose head is now `before`.
Effects EffectsOf(const StoredSession& session, const Head& before, const Change& change,
                  const Moment& moment);

// The items that `change` writes with these effects: its own, and those of its checkpoints.
ItemWrites ItemsOf(const Change& change, const Head& before, const Effects& effects);

}  // namespace holdfast::test

#endif  // HOLDFAST_TESTS_SUPPORT_REFERENCE_EFFECTS_H_

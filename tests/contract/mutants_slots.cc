// Mutants of slots: applying, deleting, carrying them on, and reading them.
#include "tests/contract/mutants.h"
#include "tests/contract/suite.h"

#include <algorithm>
#include <limits>
#include <set>

namespace holdfast::test {
namespace {

bool CommitsATurn(const Change& change) { return change.end_turn && change.end_turn->committed; }

// The slot updates of the turn that `change` ends, in order.
std::vector<JournalEntry> UpdatesOf(const StoredSession& session, const Change& change) {
  std::vector<JournalEntry> updates;
  for (const JournalEntry& entry : session.entries) {
    if (entry.slot && entry.turn == change.guard.turn) updates.push_back(entry);
  }
  return updates;
}

void PutLast(StoredSession& session, const std::vector<JournalEntry>& updates) {
  for (const JournalEntry& entry : updates) {
    session.slots[entry.slot->owner].push_back({.from = session.head.revision, .slot = entry.slot});
  }
}

// The owners that `change` writes by itself or through its turn.
std::set<std::string> WrittenBy(const StoredSession& session, const Change& change) {
  std::set<std::string> owners = {kStoreSlotOwner};
  for (const Slot& slot : change.slots) owners.insert(slot.owner);
  for (const JournalEntry& entry : UpdatesOf(session, change)) owners.insert(entry.slot->owner);
  return owners;
}

const std::vector<Mutant> kSlotMutants = {
    {"applies-no-entries",
     {.change =
          [](Stage& stage, Change& change) {
            StoredSession* const session = stage.Find(change.key);
            if (session == nullptr || !CommitsATurn(change)) return;
            for (JournalEntry& entry : session->entries) {
              if (entry.turn == change.guard.turn) entry.slot.reset();
            }
          }}},
    {"applies-entries-backwards",
     {.committed =
          [](Stage& stage, const Change& change, CommitAnswer& answer) {
            StoredSession* const session = ChangedSession(stage, change, answer);
            if (session == nullptr || !CommitsATurn(change)) return;
            auto updates = UpdatesOf(*session, change);
            std::ranges::reverse(updates);
            PutLast(*session, updates);
          }}},
    {"applies-entries-after-the-commits-own-slots",
     {.committed =
          [](Stage& stage, const Change& change, CommitAnswer& answer) {
            StoredSession* const session = ChangedSession(stage, change, answer);
            if (session == nullptr || !CommitsATurn(change)) return;
            PutLast(*session, UpdatesOf(*session, change));
          }}},
    {"applies-an-abandoned-turn",
     {.committed =
          [](Stage& stage, const Change& change, CommitAnswer& answer) {
            StoredSession* const session = ChangedSession(stage, change, answer);
            if (session == nullptr || !change.end_turn || change.end_turn->committed) return;
            PutLast(*session, UpdatesOf(*session, change));
          }}},
    {"an-abandoned-turn-takes-its-journal-along",
     {.committed =
          [](Stage& stage, const Change& change, CommitAnswer& answer) {
            StoredSession* const session = ChangedSession(stage, change, answer);
            if (session == nullptr || !change.end_turn || change.end_turn->committed) return;
            std::erase_if(session->entries, [&](const JournalEntry& entry) {
              return entry.turn == answer->receipt.abandoned_turn;
            });
          }}},
    {"a-slot-update-between-turns-waits",
     {.committed =
          [](Stage& stage, const Change& change, CommitAnswer& answer) {
            StoredSession* const session = ChangedSession(stage, change, answer);
            if (session == nullptr) return;
            for (const JournalEntry& entry : change.entries) {
              if (entry.slot && entry.turn == TurnNumber()) session->slots.erase(entry.slot->owner);
            }
          }}},
    {"a-snapshot-holds-only-what-it-writes",
     {.committed =
          [](Stage& stage, const Change& change, CommitAnswer& answer) {
            StoredSession* const session = ChangedSession(stage, change, answer);
            if (session == nullptr || !change.snapshot) return;
            const auto written = WrittenBy(*session, change);
            for (auto& [owner, versions] : session->slots) {
              if (!written.contains(owner)) versions.push_back({.from = session->head.revision});
            }
          }}},
    {"never-deletes-a-slot",
     {.change = [](Stage&, Change& change) { change.deleted_slots.clear(); }}},
    {"deletes-a-slots-past-too",
     {.committed =
          [](Stage& stage, const Change& change, CommitAnswer& answer) {
            StoredSession* const session = ChangedSession(stage, change, answer);
            if (session == nullptr) return;
            for (const std::string& owner : change.deleted_slots) session->slots.erase(owner);
          }}},
    {"has-no-slot-of-its-own",
     {.committed =
          [](Stage& stage, const Change& change, CommitAnswer& answer) {
            StoredSession* const session = ChangedSession(stage, change, answer);
            if (session != nullptr) session->slots.erase(kStoreSlotOwner);
          }}},
    {"describes-each-snapshot-by-the-one-before",
     {.committed =
          [](Stage& stage, const Change& change, CommitAnswer& answer) {
            StoredSession* const session = ChangedSession(stage, change, answer);
            if (session == nullptr || !change.snapshot) return;
            auto& versions = session->slots[kStoreSlotOwner];
            if (versions.size() < 2) return;
            versions.back().slot->data = versions[versions.size() - 2].slot->data;
          }}},
    {"an-applied-slot-keeps-its-entrys-revision",
     {.committed =
          [](Stage& stage, const Change& change, CommitAnswer& answer) {
            StoredSession* const session = ChangedSession(stage, change, answer);
            if (session == nullptr || !CommitsATurn(change)) return;
            for (const JournalEntry& entry : UpdatesOf(*session, change)) {
              session->slots[entry.slot->owner].back().slot->revision = entry.slot->revision;
            }
          }}},
    {"writes-no-slots", {.change = [](Stage&, Change& change) { change.slots.clear(); }}},
    {"cuts-slots-at-a-zero",
     {.change =
          [](Stage&, Change& change) {
            for (Slot& slot : change.slots) slot.data = slot.data.str().c_str();
          }}},
    {"forgets-the-drift-policy",
     {.change =
          [](Stage&, Change& change) {
            for (Slot& slot : change.slots) slot.policy = DriftPolicy::kWarn;
          }}},
    {"a-null-slot-is-absent",
     {.change =
          [](Stage&, Change& change) {
            std::erase_if(change.slots, [](const Slot& slot) { return slot.data == "null"; });
          }}},
    {"slots-come-in-no-order",
     {.slots =
          [](const ReadArgs&, absl::StatusOr<SlotPage>& page) {
            if (page.ok()) std::ranges::reverse(page->slots);
          }}},
    {"sends-every-slot", {.ask_read = [](Stage&, ReadArgs& args) { args.slots.owners.clear(); }}},
    {"an-absent-slot-is-empty",
     {.slots =
          [](const ReadArgs& args, absl::StatusOr<SlotPage>& page) {
            if (!page.ok()) return;
            for (const std::string& owner : args.slots.owners) {
              const auto found = std::ranges::find_if(
                  page->slots, [&](const SlotView& view) { return view.slot.owner == owner; });
              if (found == page->slots.end()) page->slots.push_back({.slot = {.owner = owner}});
            }
          }}},
    {"sends-data-without-request",
     {.ask_read =
          [](Stage&, ReadArgs& args) {
            size_t& most = args.slots.most_bytes;
            if (most == 0) most = std::numeric_limits<size_t>::max();
          }}},
    {"reads-slots-however-large",
     {.ask_read =
          [](Stage&, ReadArgs& args) {
            args.slots.most_bytes = std::numeric_limits<size_t>::max();
          }}},
    {"knows-no-sizes",
     {.slots =
          [](const ReadArgs&, absl::StatusOr<SlotPage>& page) {
            if (!page.ok()) return;
            for (SlotView& view : page->slots) view.size = view.slot.data.size();
          }}},
};

}  // namespace

const std::vector<Mutant>& SlotMutants() { return kSlotMutants; }

}  // namespace holdfast::test

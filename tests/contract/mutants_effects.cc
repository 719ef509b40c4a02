// Mutants of what an applied change does, slots apart.
#include "session/head.h"
#include "session/refusal.h"
#include "tests/contract/mutants.h"
#include "tests/contract/suite.h"

#include <algorithm>

namespace holdfast::test {
namespace {

const StoredSession* Before(Stage& stage, const SessionKey& key) {
  const auto found = stage.before.sessions.find(key);
  return found == stage.before.sessions.end() ? nullptr : &found->second;
}

const JournalEntry* Kept(const StoredSession& session, const JournalEntry& entry) {
  const auto found = std::ranges::find_if(session.entries, [&](const JournalEntry& kept) {
    return kept.turn == entry.turn && kept.number == entry.number;
  });
  return found == session.entries.end() ? nullptr : &*found;
}

const std::vector<Mutant> kEffectMutants = {
    {"every-change-is-a-revision",
     {.change = [](Stage&, Change& change) { change.moves_revision = true; }}},
    {"updated-at-stays",
     {.committed =
          [](Stage& stage, const Change& change, CommitAnswer& answer) {
            StoredSession* const session = ChangedSession(stage, change, answer);
            if (session != nullptr) session->head.updated_at = session->head.created_at;
          }}},
    {"created-at-moves",
     {.committed =
          [](Stage& stage, const Change& change, CommitAnswer& answer) {
            StoredSession* const session = ChangedSession(stage, change, answer);
            if (session != nullptr) session->head.created_at = stage.clock.Wall();
          }}},
    {"the-mode-is-always-ask",
     {.change =
          [](Stage&, Change& change) {
            if (change.create) change.create->mode = Mode::kAsk;
          }}},
    {"the-mode-is-never-ask",
     {.change =
          [](Stage&, Change& change) {
            if (change.create) change.create->mode = Mode::kYolo;
          }}},
    {"reuses-the-number-of-an-abandoned-turn",
     {.committed =
          [](Stage& stage, const Change& change, CommitAnswer& answer) {
            StoredSession* const session = ChangedSession(stage, change, answer);
            if (session == nullptr || answer->receipt.abandoned_turn == TurnNumber()) return;
            session->head.last_turn = TurnNumber(session->head.last_turn.value() - 1);
          }}},
    {"a-replaced-history-is-extended",
     {.change = [](Stage&, Change& change) { change.replaces_history = false; }}},
    {"a-replaced-history-is-gone",
     {.committed =
          [](Stage& stage, const Change& change, CommitAnswer& answer) {
            StoredSession* const session = ChangedSession(stage, change, answer);
            if (session != nullptr) session->former.clear();
          }}},
    {"histories-end-with-the-process",
     {.closing =
          [](Stage& stage) {
            for (auto& [key, session] : stage.disk.sessions) session.former.clear();
          }}},
    {"drops-the-next-turn",
     {.change =
          [](Stage&, Change& change) {
            if (!change.end_turn || !change.begin_turn) return;
            change.begin_turn.reset();
            change.to = Lifecycle::kPersisted;
          }}},
    {"never-ends-a-turn-in-a-resume",
     {.change =
          [](Stage&, Change& change) {
            if (change.grant) change.end_turn.reset();
          }}},
    {"reports-no-abandoned-turn",
     {.committed =
          [](Stage&, const Change&, CommitAnswer& answer) {
            if (answer.ok()) answer->receipt.abandoned_turn = TurnNumber();
          }}},
    {"a-resume-keeps-the-state",
     {.change =
          [](Stage&, Change& change) {
            if (change.grant && !change.create && !change.end_turn) change.to.reset();
          }}},
    {"an-abandoned-turn-counts-as-committed",
     {.committed =
          [](Stage& stage, const Change& change, CommitAnswer& answer) {
            StoredSession* const session = ChangedSession(stage, change, answer);
            if (session == nullptr || answer->receipt.abandoned_turn == TurnNumber()) return;
            ++session->head.committed_turns;
          }}},
    {"reverses-messages",
     {.change = [](Stage&, Change& change) { std::ranges::reverse(change.messages); }}},
    {"cuts-messages-at-a-zero",
     {.change =
          [](Stage&, Change& change) {
            for (Message& message : change.messages) message.data = message.data.str().c_str();
          }}},
    {"takes-blanks-out-of-messages",
     {.change =
          [](Stage&, Change& change) {
            for (Message& message : change.messages) {
              std::string text = message.data.Take();
              std::erase(text, ' ');
              message.data = text;
            }
          }}},
    {"loses-the-first-messages",
     {.change =
          [](Stage&, Change& change) {
            if (change.create) change.messages.clear();
          }}},
    {"skips-a-message-number",
     {.committed =
          [](Stage& stage, const Change& change, CommitAnswer& answer) {
            StoredSession* const session = ChangedSession(stage, change, answer);
            if (session == nullptr || change.messages.empty()) return;
            session->messages.back().seq = session->messages.back().seq.Next();
            session->head.messages = session->head.messages.Next();
            session->head.snapshots.back().messages = session->head.messages;
          }}},
    {"hashes-the-last-message-only",
     {.committed =
          [](Stage& stage, const Change& change, CommitAnswer& answer) {
            StoredSession* const session = ChangedSession(stage, change, answer);
            if (session == nullptr || session->messages.empty()) return;
            session->head.history = ExtendHistory(Digest(), session->messages.back());
          }}},
    {"loses-the-state-machine-with-every-snapshot",
     {.committed =
          [](Stage& stage, const Change& change, CommitAnswer& answer) {
            StoredSession* const session = ChangedSession(stage, change, answer);
            if (session != nullptr && change.snapshot && !change.create) session->head.sm.reset();
          }}},
    {"hands-the-state-machines-slot-out-again",
     {.committed =
          [](Stage& stage, const Change& change, CommitAnswer& answer) {
            StoredSession* const session = ChangedSession(stage, change, answer);
            if (session != nullptr) session->head.sm_slot_pending = true;
          }}},
    {"appends-an-entry-again",
     {.committed =
          [](Stage& stage, const Change& change, CommitAnswer& answer) {
            StoredSession* const session = ChangedSession(stage, change, answer);
            const StoredSession* const before = Before(stage, change.key);
            if (session == nullptr || before == nullptr) return;
            for (const JournalEntry& entry : change.entries) {
              if (Kept(*before, entry) == nullptr) continue;
              session->head.journal = session->head.journal.Next();
              session->entries.push_back(entry);
              session->entries.back().journal_number = session->head.journal;
            }
          }}},
    {"forgets-entries-after-a-day",
     {.change =
          [](Stage& stage, Change& change) {
            StoredSession* const session = stage.Find(change.key);
            if (session == nullptr || !session->head.turn) return;
            if (stage.clock.Wall() < session->head.updated_at + absl::Hours(24)) return;
            session->head.turn->last_entry = EntryNumber();
          }}},
    {"forgets-the-entries-of-ended-turns",
     {.committed =
          [](Stage& stage, const Change& change, CommitAnswer& answer) {
            StoredSession* const session = ChangedSession(stage, change, answer);
            if (session != nullptr) session->head.ended.clear();
          }}},
    {"answers-a-rewritten-entry-as-done",
     {.change =
          [](Stage& stage, Change& change) {
            const StoredSession* const session = stage.Find(change.key);
            if (session == nullptr) return;
            for (JournalEntry& entry : change.entries) {
              const JournalEntry* const kept = Kept(*session, entry);
              if (kept != nullptr) entry = *kept;
            }
          }}},
    {"takes-nothing-of-an-overlapping-append",
     {.change =
          [](Stage& stage, Change& change) {
            const StoredSession* const session = stage.Find(change.key);
            if (session == nullptr || change.entries.empty()) return;
            if (Kept(*session, change.entries.front()) == nullptr) return;
            std::erase_if(change.entries,
                          [&](const JournalEntry& entry) { return !Kept(*session, entry); });
          }}},
    {"skips-an-event-number",
     {.committed =
          [](Stage& stage, const Change& change, CommitAnswer& answer) {
            StoredSession* const session = ChangedSession(stage, change, answer);
            if (session == nullptr || session->events.empty() || change.events.empty()) return;
            session->head.last_event = session->head.last_event.Next();
            session->events.back().seq = session->head.last_event;
          }}},
    {"reverses-events",
     {.change = [](Stage&, Change& change) { std::ranges::reverse(change.events); }}},
    {"has-a-turn-event-at-creation",
     {.change =
          [](Stage&, Change& change) {
            if (change.create) change.events.push_back({.name = "SessionTurnStart"});
          }}},
    {"repeats-the-event-of-a-snapshot",
     {.change =
          [](Stage&, Change& change) {
            if (change.snapshot && !change.events.empty()) {
              change.events.push_back(change.events.back());
            }
          }}},
    {"events-are-of-the-revision-before",
     {.committed =
          [](Stage& stage, const Change& change, CommitAnswer& answer) {
            StoredSession* const session = ChangedSession(stage, change, answer);
            if (session == nullptr) return;
            for (Event& event : session->events) {
              if (event.revision == answer->receipt.revision) {
                event.revision = answer->receipt.before;
              }
            }
          }}},
    {"numbers-events-by-the-clock",
     {.committed =
          [](Stage& stage, const Change& change, CommitAnswer& answer) {
            StoredSession* const session = ChangedSession(stage, change, answer);
            if (session != nullptr) std::ranges::stable_sort(session->events, {}, &Event::time);
          }}},
    {"loses-the-correlation",
     {.change = [](Stage&, Change& change) { change.correlation_id.clear(); }}},
    {"gives-events-no-numbers",
     {.change =
          [](Stage&, Change& change) {
            for (EventDraft& draft : change.events) draft.given.clear();
          }}},
    {"leaves-the-audit-out", {.change = [](Stage&, Change& change) { change.audit.reset(); }}},
    {"the-audit-chain-starts-again-when-opened",
     {.opened =
          [](Stage& stage) {
            for (auto& [key, session] : stage.disk.sessions) session.head.audit_chain = Digest();
          }}},
    {"the-audit-says-what-was-before",
     {.committed =
          [](Stage& stage, const Change& change, CommitAnswer& answer) {
            StoredSession* const session = ChangedSession(stage, change, answer);
            if (session == nullptr || session->audit.empty()) return;
            session->audit.back().revision = answer->receipt.before;
          }}},
    {"never-removes-an-attribute",
     {.change =
          [](Stage&, Change& change) {
            std::erase_if(change.attributes, [](const auto& entry) { return !entry.second; });
          }}},
};

}  // namespace

const std::vector<Mutant>& EffectMutants() { return kEffectMutants; }

}  // namespace holdfast::test

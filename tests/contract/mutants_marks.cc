// Mutants of cancel marks, of snapshots inside a turn, and of the store's check.
#include "session/refusal.h"
#include "tests/contract/mutants.h"

#include <algorithm>

namespace holdfast::test {
namespace {

StoredSession* Changed(Stage& stage, const Change& change, const CommitAnswer& answer) {
  if (!answer.ok() || answer->kind != CommitResult::Kind::kApplied) return nullptr;
  return stage.Find(change.key);
}

bool Informs(const CancelMark& mark) { return !mark.name.empty(); }

const std::vector<Mutant> kMutants = {
    {"a-mark-is-not-kept", {.change = [](Stage&, Change& change) { change.mark.reset(); }}},
    {"a-mark-moves-the-revision",
     {.change =
          [](Stage&, Change& change) {
            if (change.mark) change.moves_revision = true;
          }}},
    {"the-newest-mark-comes-first",
     {.committed =
          [](Stage& stage, const Change& change, CommitAnswer& answer) {
            StoredSession* const session = Changed(stage, change, answer);
            if (session != nullptr && change.mark) std::ranges::reverse(session->head.marks);
          }}},
    {"the-same-mark-is-added-again",
     {.committed =
          [](Stage& stage, const Change& change, CommitAnswer& answer) {
            StoredSession* const session = Changed(stage, change, answer);
            if (session == nullptr || !change.mark) return;
            auto& marks = session->head.marks;
            const auto before = stage.before.sessions.find(change.key);
            if (before->second.head.marks.size() == marks.size()) marks.push_back(*change.mark);
          }}},
    {"a-mark-outlives-its-turn",
     {.committed =
          [](Stage& stage, const Change& change, CommitAnswer& answer) {
            StoredSession* const session = Changed(stage, change, answer);
            if (session == nullptr || !change.end_turn) return;
            session->head.marks = stage.before.sessions.at(change.key).head.marks;
          }}},
    {"a-close-ends-every-mark",
     {.committed =
          [](Stage& stage, const Change& change, CommitAnswer& answer) {
            StoredSession* const session = Changed(stage, change, answer);
            if (session != nullptr && change.to == Lifecycle::kClosed) session->head.marks.clear();
          }}},
    {"a-resume-keeps-every-mark",
     {.committed =
          [](Stage& stage, const Change& change, CommitAnswer& answer) {
            StoredSession* const session = Changed(stage, change, answer);
            if (session == nullptr || !change.grant || change.create) return;
            session->head.marks = stage.before.sessions.at(change.key).head.marks;
          }}},
    {"opened-again-marks-are-gone",
     {.opened =
          [](Stage& stage) {
            for (auto& [key, session] : stage.disk.sessions) session.head.marks.clear();
          }}},
    {"a-cancelled-session-goes-on",
     {.change =
          [](Stage& stage, Change& change) {
            StoredSession* const session = stage.Find(change.key);
            if (session == nullptr || !change.begin_turn) return;
            std::erase_if(session->head.marks, [](const CancelMark& mark) {
              return mark.scope == CancelScope::kSession;
            });
          }}},
    {"marks-are-no-part-of-the-premise",
     {.change =
          [](Stage& stage, Change& change) {
            const StoredSession* const session = stage.Find(change.key);
            if (session != nullptr && change.premise) {
              change.premise->marks = session->head.marks.size();
            }
          }}},
    {"a-renewal-shows-no-marks",
     {.renewed =
          [](Stage&, std::vector<absl::StatusOr<Renewed>>& answers) {
            for (auto& answer : answers) {
              if (answer.ok()) answer->marks.clear();
            }
          }}},
    {"whoever-holds-a-lease-is-never-cancelled",
     {.due =
          [](Stage& stage, std::vector<SessionKey>& due) {
            std::erase_if(due, [&](const SessionKey& key) {
              const Head& head = stage.Find(key)->head;
              return head.lease.held && !head.marks.empty();
            });
          }}},
    {"a-mark-gives-no-time",
     {.due =
          [](Stage& stage, std::vector<SessionKey>& due) {
            for (const auto& [key, session] : stage.disk.sessions) {
              const bool there = std::ranges::find(due, key) != due.end();
              const bool ends = std::ranges::any_of(
                  session.head.marks, [](const CancelMark& mark) { return !Informs(mark); });
              if (!there && ends) due.push_back(key);
            }
          }}},
    {"a-mark-of-a-tool-ends-the-turn",
     {.due =
          [](Stage& stage, std::vector<SessionKey>& due) {
            for (const auto& [key, session] : stage.disk.sessions) {
              const auto& marks = session.head.marks;
              if (!marks.empty() && std::ranges::all_of(marks, Informs)) due.push_back(key);
            }
          }}},
    {"a-snapshot-inside-a-turn-ends-it",
     {.change =
          [](Stage&, Change& change) {
            if (!change.keeps_turn) return;
            change.keeps_turn = false;
            change.end_turn = EndTurn{.committed = true};
            change.to = Lifecycle::kPersisted;
          }}},
    {"folds-again-what-was-folded",
     {.committed =
          [](Stage& stage, const Change& change, CommitAnswer& answer) {
            StoredSession* const session = Changed(stage, change, answer);
            if (session == nullptr || !change.end_turn || !change.end_turn->committed) return;
            for (const JournalEntry& entry : session->entries) {
              if (!entry.slot || entry.turn != change.guard.turn) continue;
              session->slots[entry.slot->owner].push_back(
                  {.from = session->head.revision, .slot = entry.slot});
            }
          }}},
    {"an-abandoned-turn-takes-its-snapshot-with-it",
     {.committed =
          [](Stage& stage, const Change& change, CommitAnswer& answer) {
            StoredSession* const session = Changed(stage, change, answer);
            if (session == nullptr || answer->receipt.abandoned_turn == TurnNumber()) return;
            const Revision last = session->head.snapshots.back().at.revision;
            if (last == Revision(1)) return;
            for (auto& [owner, versions] : session->slots) {
              std::erase_if(versions, [&](const auto& version) { return version.from == last; });
            }
          }}},
    {"snapshots-inside-a-turn-hide-its-entries",
     {.committed =
          [](Stage& stage, const Change& change, CommitAnswer& answer) {
            StoredSession* const session = Changed(stage, change, answer);
            if (session == nullptr || !change.keeps_turn) return;
            session->head.turn->journal_before = session->head.journal;
          }}},
    {"a-check-touches-sessions",
     {.check =
          [](Stage& stage, absl::StatusOr<StoreCheck>&) {
            for (auto& [key, session] : stage.disk.sessions) {
              session.head.attributes["checked"] = "yes";
            }
          }}},
    {"a-check-finds-nothing-wrong",
     {.check = [](Stage&, absl::StatusOr<StoreCheck>& check) { check = StoreCheck(); }}},
    {"no-row-says-that-it-is-cancelled",
     {.list =
          [](Stage&, const ListQuery&, absl::StatusOr<ListPage>& page) {
            if (!page.ok()) return;
            for (SessionRow& row : page->rows) row.cancelling = false;
          }}},
};

}  // namespace

const std::vector<Mutant>& MarkMutants() { return kMutants; }

}  // namespace holdfast::test

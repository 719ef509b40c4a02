// Mutants of cancel requests, of snapshots inside a turn, and of the store's check.
#include "session/refusal.h"
#include "tests/contract/mutants.h"

#include <algorithm>

namespace holdfast::test {
namespace {

bool Informs(const CancelRequest& cancel_request) { return !cancel_request.name.empty(); }

const std::vector<Mutant> kCancelMutants = {
    {"a-cancel-request-is-not-kept",
     {.change = [](Stage&, Change& change) { change.cancel_request.reset(); }}},
    {"a-cancel-request-moves-the-revision",
     {.change =
          [](Stage&, Change& change) {
            if (change.cancel_request) change.moves_revision = true;
          }}},
    {"the-newest-cancel-request-comes-first",
     {.committed =
          [](Stage& stage, const Change& change, CommitAnswer& answer) {
            StoredSession* const session = ChangedSession(stage, change, answer);
            if (session != nullptr && change.cancel_request) {
              std::ranges::reverse(session->head.cancel_requests);
            }
          }}},
    {"the-same-cancel-request-is-added-again",
     {.committed =
          [](Stage& stage, const Change& change, CommitAnswer& answer) {
            StoredSession* const session = ChangedSession(stage, change, answer);
            if (session == nullptr || !change.cancel_request) return;
            auto& cancel_requests = session->head.cancel_requests;
            const auto before = stage.before.sessions.find(change.key);
            if (before->second.head.cancel_requests.size() == cancel_requests.size()) {
              cancel_requests.push_back(*change.cancel_request);
            }
          }}},
    {"a-cancel-request-outlives-its-turn",
     {.committed =
          [](Stage& stage, const Change& change, CommitAnswer& answer) {
            StoredSession* const session = ChangedSession(stage, change, answer);
            if (session == nullptr || !change.end_turn) return;
            session->head.cancel_requests =
                stage.before.sessions.at(change.key).head.cancel_requests;
          }}},
    {"a-close-ends-every-cancel-request",
     {.committed =
          [](Stage& stage, const Change& change, CommitAnswer& answer) {
            StoredSession* const session = ChangedSession(stage, change, answer);
            if (session != nullptr && change.to == Lifecycle::kClosed) {
              session->head.cancel_requests.clear();
            }
          }}},
    {"a-resume-keeps-every-cancel-request",
     {.committed =
          [](Stage& stage, const Change& change, CommitAnswer& answer) {
            StoredSession* const session = ChangedSession(stage, change, answer);
            if (session == nullptr || !change.grant || change.create) return;
            session->head.cancel_requests =
                stage.before.sessions.at(change.key).head.cancel_requests;
          }}},
    {"opened-again-cancel-requests-are-gone",
     {.opened =
          [](Stage& stage) {
            for (auto& [key, session] : stage.disk.sessions) session.head.cancel_requests.clear();
          }}},
    {"a-cancelled-session-goes-on",
     {.change =
          [](Stage& stage, Change& change) {
            StoredSession* const session = stage.Find(change.key);
            if (session == nullptr || !change.begin_turn) return;
            std::erase_if(session->head.cancel_requests, [](const CancelRequest& cancel_request) {
              return cancel_request.scope == CancelScope::kSession;
            });
          }}},
    {"cancel-requests-are-no-part-of-the-premise",
     {.change =
          [](Stage& stage, Change& change) {
            const StoredSession* const session = stage.Find(change.key);
            if (session != nullptr && change.premise) {
              change.premise->cancel_requests = session->head.cancel_requests.size();
            }
          }}},
    {"a-renewal-shows-no-cancel-requests",
     {.renewed =
          [](Stage&, std::vector<absl::StatusOr<Renewed>>& answers) {
            for (auto& answer : answers) {
              if (answer.ok()) answer->cancel_requests.clear();
            }
          }}},
    {"never-cancels-a-held-session",
     {.due =
          [](Stage& stage, std::vector<SessionKey>& due) {
            std::erase_if(due, [&](const SessionKey& key) {
              const Head& head = stage.Find(key)->head;
              return head.lease.held && !head.cancel_requests.empty();
            });
          }}},
    {"a-cancel-request-gives-no-time",
     {.due =
          [](Stage& stage, std::vector<SessionKey>& due) {
            for (const auto& [key, session] : stage.disk.sessions) {
              const bool there = std::ranges::find(due, key) != due.end();
              const bool ends = std::ranges::any_of(
                  session.head.cancel_requests,
                  [](const CancelRequest& cancel_request) { return !Informs(cancel_request); });
              if (!there && ends) due.push_back(key);
            }
          }}},
    {"a-cancel-request-of-a-tool-ends-the-turn",
     {.due =
          [](Stage& stage, std::vector<SessionKey>& due) {
            for (const auto& [key, session] : stage.disk.sessions) {
              const auto& cancel_requests = session.head.cancel_requests;
              if (!cancel_requests.empty() && std::ranges::all_of(cancel_requests, Informs)) {
                due.push_back(key);
              }
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
    {"applies-entries-again",
     {.committed =
          [](Stage& stage, const Change& change, CommitAnswer& answer) {
            StoredSession* const session = ChangedSession(stage, change, answer);
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
            StoredSession* const session = ChangedSession(stage, change, answer);
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
            StoredSession* const session = ChangedSession(stage, change, answer);
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

const std::vector<Mutant>& CancelMutants() { return kCancelMutants; }

}  // namespace holdfast::test

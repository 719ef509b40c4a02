// Mutants of cancel marks.
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

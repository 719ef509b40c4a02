// Mutants of sessions that replace a deleted one.
#include "tests/contract/mutants.h"

#include <utility>

namespace holdfast::test {
namespace {

// The session that `change` created in the place of another one, and that one; nullptr after any
// other answer.
StoredSession* ReplacingSession(Stage& stage, const Change& change, const CommitAnswer& answer) {
  if (!change.create || !change.create->replaces) return nullptr;
  return ChangedSession(stage, change, answer);
}

bool WasReplaced(const Stage& stage, const SessionKey& key) {
  const auto found = stage.disk.sessions.find(key);
  return found != stage.disk.sessions.end() && found->second.head.recreated;
}

const std::vector<Mutant> kRecreationMutants = {
    {"keeps-items-of-the-deleted-session",
     {.committed =
          [](Stage& stage, const Change& change, CommitAnswer& answer) {
            StoredSession* const session = ReplacingSession(stage, change, answer);
            if (session == nullptr) return;
            Item item;
            item.name = {.collection = "notes", .key = "k"};
            session->items[item.name] = item;
          }}},
    {"replaces-any-deleted-session",
     {.change =
          [](Stage& stage, Change& change) {
            const StoredSession* const session = stage.Find(change.key);
            if (change.create && change.create->replaces && session != nullptr) {
              change.create->replaces = session->head.uid;
            }
          }}},
    {"opens-without-replacing-sessions",
     {.opened =
          [](Stage& stage) {
            if (stage.openings < 2) return;
            for (auto& [key, session] : stage.disk.sessions) {
              if (session.head.recreated && !session.tombstone) session.messages.clear();
            }
          }}},
    {"begins-generations-anew",
     {.committed =
          [](Stage& stage, const Change& change, CommitAnswer& answer) {
            StoredSession* const session = ReplacingSession(stage, change, answer);
            if (session != nullptr) session->head.generation = Generation(1);
          }}},
    {"takes-any-uid", {.change = [](Stage&, Change& change) { change.guard.uid.reset(); }}},
    {"ignores-tokens-where-none-is-needed",
     {.change =
          [](Stage& stage, Change& change) {
            const StoredSession* const session = stage.Find(change.key);
            const bool needed = change.guard.lease == LeaseRule::kMustHold;
            if (needed || session == nullptr || change.create) return;
            change.guard.token.reset();
            if (!change.guard.uid) change.guard.uid = session->head.uid;
          }}},
    {"asks-for-no-uid",
     {.change =
          [](Stage& stage, Change& change) {
            const StoredSession* const session = stage.Find(change.key);
            if (session == nullptr || change.create || change.guard.token) return;
            if (!change.guard.uid) change.guard.uid = session->head.uid;
          }}},
    {"tombstones-the-first-session",
     {.committed =
          [](Stage& stage, const Change& change, CommitAnswer& answer) {
            StoredSession* const session = ChangedSession(stage, change, answer);
            if (session == nullptr || !change.tombstone || !session->head.recreated) return;
            session->head.uid = *SessionUid::Parse("00000000-0000-4000-8000-000000000000");
          }}},
    {"lets-another-creation-replace-what-replaced",
     {.committed =
          [](Stage&, const Change& change, CommitAnswer& answer) {
            const bool replaces = change.create && change.create->replaces.has_value();
            if (!replaces || answer.ok()) return;
            if (RefusalOf(answer.status()).reason() != Reason::kSessionExists) return;
            CommitResult applied;
            applied.kind = CommitResult::Kind::kApplied;
            answer = std::move(applied);
          }}},
    {"remembers-the-end-of-a-replaced-session",
     {.last_event =
          [](Stage& stage, const SessionKey& key, absl::StatusOr<Event>& event) {
            if (!event.ok() && WasReplaced(stage, key)) event = Event();
          }}},
    {"keeps-replies-of-the-deleted-session",
     {.committed =
          [](Stage& stage, const Change& change, CommitAnswer& answer) {
            StoredSession* const session = ChangedSession(stage, change, answer);
            if (session == nullptr || !change.request) return;
            const StoredSession& before = stage.before.sessions[change.key];
            if (change.tombstone)
              session->requests.insert(before.requests.begin(), before.requests.end());
            if (change.create && change.create->replaces) {
              session->requests.insert(before.requests.begin(), before.requests.end());
            }
          }}},
    {"replaces-once",
     {.change =
          [](Stage& stage, Change& change) {
            const StoredSession* const session = stage.Find(change.key);
            const bool again = session != nullptr && session->tombstone && session->head.recreated;
            if (again && change.create) change.create->replaces.reset();
          }}},
    {"replaces-what-never-was",
     {.change =
          [](Stage& stage, Change& change) {
            if (change.create && stage.Find(change.key) == nullptr) change.create->replaces.reset();
          }}},
    {"names-no-session-in-pages",
     {.messages =
          [](const ReadArgs&, absl::StatusOr<MessagePage>& page) {
            if (page.ok()) page->uid = SessionUid();
          }}},
};

}  // namespace

const std::vector<Mutant>& RecreationMutants() { return kRecreationMutants; }

}  // namespace holdfast::test

// Mutants of what happens before a guard is asked: requests, ids, tombstones, other stores and
// tenants.
#include "session/refusal.h"
#include "tests/contract/mutants.h"
#include "tests/contract/suite.h"

#include <algorithm>

namespace holdfast::test {
namespace {

using Kind = CommitResult::Kind;

// What is stored for the request of `change`; nullptr when nothing is.
RequestRow* RowOf(Stage& stage, const Change& change) {
  StoredSession* const session = stage.Find(change.key);
  if (session == nullptr || !change.request) return nullptr;
  const auto found = session->requests.find(change.request->id);
  return found == session->requests.end() ? nullptr : &found->second;
}

absl::Status Instead(Reason reason) { return Refusal(reason, "another word for it"); }

bool IsDone(const GroupedResult& result) { return result.kind == GroupedResult::Kind::kDone; }

const std::vector<Mutant> kRequestMutants = {
    {"answers-each-change-of-a-group-with-the-next-ones-result",
     {.grouped =
          [](std::vector<GroupedResult>& results) {
            std::rotate(results.begin(), results.begin() + 1, results.end());
          }}},
    {"says-of-what-it-has-applied-in-a-group-that-nothing-was-done",
     {.grouped =
          [](std::vector<GroupedResult>& results) {
            for (GroupedResult& result : results) result.kind = GroupedResult::Kind::kAlone;
          }}},
    {"says-of-what-it-could-not-write-in-a-group-that-it-is-done",
     {.grouped =
          [](std::vector<GroupedResult>& results) {
            for (GroupedResult& result : results) {
              if (!IsDone(result)) result = {.kind = GroupedResult::Kind::kDone};
            }
          }}},
    {"fails-a-whole-group-for-one-change-of-it",
     {.grouped =
          [](std::vector<GroupedResult>& results) {
            if (std::ranges::all_of(results, IsDone)) return;
            for (GroupedResult& result : results) {
              if (IsDone(result)) result.result = Instead(Reason::kStoreUnavailable);
            }
          }}},
    {"remembers-a-head-that-no-session-has-had",
     {.cached = [](Head& head) { head.revision = head.revision.Next(); }}},
    {"forgets-requests", {.change = [](Stage&, Change& change) { change.request.reset(); }}},
    {"says-of-everything-that-it-never-was",
     {.outcome =
          [](Stage&, const RequestId&, absl::StatusOr<LoadedSession>& answer) {
            if (answer.ok()) answer->request.reset();
          }}},
    {"reports-outcomes-that-it-cannot-keep",
     {.outcome =
          [](Stage& stage, const RequestId&, absl::StatusOr<LoadedSession>& answer) {
            if (stage.disk.fails_writes) answer = LoadedSession();
          }}},
    {"forgets-requests-when-opened-again",
     {.opened =
          [](Stage& stage) {
            for (auto& [key, session] : stage.disk.sessions) session.requests.clear();
          }}},
    {"keeps-requests-for-an-hour",
     {.change =
          [](Stage& stage, Change& change) {
            RequestRow* const row = RowOf(stage, change);
            const absl::Time now = absl::UnixEpoch() + stage.clock.SinceBoot();
            if (row != nullptr && row->at + absl::Hours(1) < now) {
              row->stamp.id = RequestId();
              stage.Find(change.key)->requests.clear();
            }
          }}},
    {"keeps-requests-by-the-clock-for-people",
     {.change =
          [](Stage& stage, Change& change) {
            StoredSession* const session = stage.Find(change.key);
            if (session == nullptr) return;
            const absl::Duration old = stage.clock.Wall() - session->head.updated_at;
            if (old > absl::Hours(24 * 30)) session->requests.clear();
          }}},
    {"ignores-the-fingerprint",
     {.change =
          [](Stage& stage, Change& change) {
            const RequestRow* const row = RowOf(stage, change);
            if (row != nullptr) change.request->fingerprint = row->stamp.fingerprint;
          }}},
    {"ignores-the-method",
     {.change =
          [](Stage& stage, Change& change) {
            const RequestRow* const row = RowOf(stage, change);
            if (row != nullptr) change.request->method = row->stamp.method;
          }}},
    {"stores-refusals",
     {.committed =
          [](Stage& stage, const Change& change, CommitAnswer& answer) {
            StoredSession* const session = stage.Find(change.key);
            if (session == nullptr || RefusalIn(answer).ok() || !change.request) return;
            session->requests[change.request->id] = {
                .stamp = *change.request, .at = absl::UnixEpoch() + stage.clock.SinceBoot()};
          }}},
    {"answers-a-repeat-with-what-is-true-now",
     {.committed =
          [](Stage&, const Change&, CommitAnswer& answer) {
            if (!answer.ok() || answer->kind != Kind::kRepeated) return;
            answer->receipt.revision = answer->head.revision;
            answer->receipt.messages = answer->head.messages;
          }}},
    {"creates-over-a-taken-id",
     {.change =
          [](Stage& stage, Change& change) {
            const StoredSession* const session = stage.Find(change.key);
            if (change.create && session != nullptr && !session->tombstone &&
                RowOf(stage, change) == nullptr) {
              stage.disk.sessions.erase(change.key);
            }
          }}},
    {"creates-what-it-does-not-find",
     {.change =
          [](Stage& stage, Change& change) {
            if (stage.Find(change.key) == nullptr && !change.create) {
              change.create.emplace();
              change.snapshot = true;
            }
          }}},
    {"ignores-the-premise", {.change = [](Stage&, Change& change) { change.premise.reset(); }}},
    {"refuses-a-moved-premise",
     {.committed =
          [](Stage&, const Change&, CommitAnswer& answer) {
            if (!answer.ok() || answer->kind != Kind::kMoved) return;
            answer->kind = Kind::kRefused;
            answer->refusal = Refusal(Reason::kStaleRevision, "moved on");
          }}},
    {"checks-the-revision-first",
     {.committed =
          [](Stage&, const Change& change, CommitAnswer& answer) {
            if (!answer.ok() || answer->kind != Kind::kRefused) return;
            const auto& expected = change.guard.expected_revision;
            if (!expected || *expected == answer->head.revision) return;
            answer->refusal = Refusal(Reason::kStaleRevision, "moved on");
          }}},
    {"a-refusal-takes-an-event-number",
     {.committed =
          [](Stage& stage, const Change& change, CommitAnswer& answer) {
            StoredSession* const session = stage.Find(change.key);
            if (session == nullptr || RefusalIn(answer).ok()) return;
            session->head.last_event = session->head.last_event.Next();
          }}},
    {"forgets-tombstones",
     {.committed =
          [](Stage& stage, const Change& change, CommitAnswer& answer) {
            if (answer.ok() && change.tombstone) stage.disk.sessions.erase(change.key);
          }}},
    {"a-deleted-id-is-free-again",
     {.change =
          [](Stage& stage, Change& change) {
            const StoredSession* const session = stage.Find(change.key);
            if (change.create && session != nullptr && session->tombstone) {
              stage.disk.sessions.erase(change.key);
            }
          }}},
    {"takes-foreign-sessions-over",
     {.opened =
          [](Stage& stage) {
            for (auto& [key, session] : stage.disk.sessions) session.head.store = stage.disk.store;
          }}},
    {"calls-a-foreign-session-damaged",
     {.error =
          [](absl::Status& status) {
            if (Is(status, Reason::kResumeMismatch)) status = Instead(Reason::kManifestDrift);
          }}},
    {"calls-an-unknown-session-damaged",
     {.error =
          [](absl::Status& status) {
            if (Is(status, Reason::kSessionNotFound)) status = Instead(Reason::kManifestDrift);
          }}},
    {"calls-a-damaged-session-unknown",
     {.error =
          [](absl::Status& status) {
            if (Is(status, Reason::kManifestDrift)) status = Instead(Reason::kSessionNotFound);
          }}},
    {"knows-one-tenant",
     {.key = [](SessionKey& key) { key.tenant = *TenantId::Parse("default"); }}},
    {"shows-no-replies",
     {.load = [](Stage&, const SessionKey&, LoadedSession& loaded) { loaded.request.reset(); }}},
    {"shows-a-reply-for-anything",
     {.load =
          [](Stage&, const SessionKey&, LoadedSession& loaded) {
            if (!loaded.request) loaded.request.emplace();
          }}},
    {"ignores-case-in-ids",
     {.key =
          [](SessionKey& key) {
            std::string name = key.session.value();
            for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
            key.session = *SessionId::Parse(name);
          }}},
};

}  // namespace

const std::vector<Mutant>& RequestMutants() { return kRequestMutants; }

}  // namespace holdfast::test

// Mutants of the guard and of leases.
#include "platform/digest.h"
#include "session/refusal.h"
#include "tests/contract/mutants.h"
#include "tests/contract/suite.h"

namespace holdfast::test {
namespace {

TurnNumber ActiveTurn(const StoredSession* session) {
  if (session == nullptr || !session->head.turn) return {};
  return session->head.turn->number;
}

bool HasExpired(Stage& stage, const SessionKey& key) {
  const auto loaded = stage.store.LoadForDecision(key, std::nullopt);
  return loaded.ok() && loaded->head.lease.state == LeaseState::kExpired;
}

// The journal entries get the numbers that the session would take.
void Renumber(const StoredSession& session, TurnNumber turn, Change& change) {
  EntryNumber last =
      turn == TurnNumber() ? session.head.last_entry_between : session.head.turn->last_entry;
  change.guard.turn = turn;
  for (JournalEntry& entry : change.entries) {
    last = last.Next();
    entry.turn = turn;
    entry.number = last;
  }
}

bool IsOpen(const StoredSession* session) {
  return session != nullptr && session->head.kind == SessionKind::kOpen;
}

const std::vector<Mutant> kGuardMutants = {
    {"needs-no-lease",
     {.change = [](Stage&, Change& change) { change.guard.lease = LeaseRule::kNone; }}},
    {"takes-any-secret",
     {.change =
          [](Stage& stage, Change& change) {
            StoredSession* const session = stage.Find(change.key);
            if (session == nullptr || !change.guard.token) return;
            if (change.guard.token->epoch != session->head.lease.epoch) return;
            session->head.lease.secret_hash = Sha256(change.guard.token->secret);
          }}},
    {"takes-tokens-of-any-creation",
     {.change =
          [](Stage& stage, Change& change) {
            const StoredSession* const session = stage.Find(change.key);
            if (session == nullptr || !change.guard.token) return;
            change.guard.token->uid = session->head.uid;
          }}},
    {"never-forces",
     {.change =
          [](Stage&, Change& change) {
            if (change.guard.lease == LeaseRule::kForce) {
              change.guard.lease = LeaseRule::kFreeOrExpired;
            }
          }}},
    {"always-forces",
     {.change =
          [](Stage&, Change& change) {
            if (change.guard.lease == LeaseRule::kFreeOrExpired) {
              change.guard.lease = LeaseRule::kForce;
            }
          }}},
    {"an-expired-lease-stays-in-the-way",
     {.change =
          [](Stage& stage, Change& change) {
            if (change.guard.lease == LeaseRule::kFreeOrExpired && HasExpired(stage, change.key)) {
              change.guard.lease = LeaseRule::kMustHold;
            }
          }}},
    {"expiry-refuses-the-holder",
     {.change =
          [](Stage& stage, Change& change) {
            if (change.guard.lease == LeaseRule::kMustHold && HasExpired(stage, change.key)) {
              change.guard.token.reset();
            }
          }}},
    {"takes-tokens-of-any-store",
     {.change =
          [](Stage& stage, Change& change) {
            change.guard.expected_store.reset();
            if (change.guard.token) change.guard.token->store = stage.disk.store;
          }}},
    {"ignores-later-known-revisions",
     {.change =
          [](Stage& stage, Change& change) {
            const StoredSession* const session = stage.Find(change.key);
            if (session == nullptr) return;
            Guard& guard = change.guard;
            guard.known_revision.reset();
            if (guard.expected_revision > session->head.revision) guard.expected_revision.reset();
            if (guard.token && guard.token->epoch > session->head.lease.epoch) {
              guard.token->epoch = session->head.lease.epoch;
            }
          }}},
    {"ignores-the-state",
     {.change = [](Stage&, Change& change) { change.guard.trigger = Trigger::kUpdate; }}},
    {"ignores-the-turn",
     {.change =
          [](Stage& stage, Change& change) {
            const TurnNumber active = ActiveTurn(stage.Find(change.key));
            if (change.entries.empty() && active > TurnNumber()) change.guard.turn = active;
          }}},
    {"puts-entries-into-whatever-turn-is-active",
     {.change =
          [](Stage& stage, Change& change) {
            const StoredSession* const session = stage.Find(change.key);
            if (change.entries.empty() || session == nullptr) return;
            const TurnNumber active = ActiveTurn(session);
            if (change.entries.front().turn != active) Renumber(*session, active, change);
          }}},
    {"ignores-the-last-entry",
     {.change = [](Stage&, Change& change) { change.guard.last_entry.reset(); }}},
    {"closes-gaps",
     {.change =
          [](Stage& stage, Change& change) {
            const StoredSession* const session = stage.Find(change.key);
            if (change.entries.empty() || session == nullptr) return;
            const TurnNumber active = ActiveTurn(session);
            if (change.entries.front().turn == active &&
                change.entries.front().number.value() > 2) {
              Renumber(*session, active, change);
            }
          }}},
    {"ignores-the-expected-revision",
     {.change = [](Stage&, Change& change) { change.guard.expected_revision.reset(); }}},
    {"creates-every-session-leased",
     {.change =
          [](Stage&, Change& change) {
            if (change.create) change.create->kind = SessionKind::kLeased;
          }}},
    {"forgets-the-group",
     {.change =
          [](Stage&, Change& change) {
            if (change.create) change.create->group.clear();
          }}},
    {"ignores-a-token-of-an-open-session",
     {.change =
          [](Stage& stage, Change& change) {
            if (IsOpen(stage.Find(change.key))) change.guard.token.reset();
          }}},
    {"an-open-session-is-resumed",
     {.change =
          [](Stage& stage, Change& change) {
            const bool resumes = change.guard.trigger == Trigger::kResume;
            if (resumes && IsOpen(stage.Find(change.key))) change.guard.trigger = Trigger::kUpdate;
          }}},
    {"ignores-expected-attributes",
     {.change = [](Stage&, Change& change) { change.guard.attributes.clear(); }}},
    {"takes-an-absent-attribute-for-another-value",
     {.committed =
          [](Stage& stage, const Change& change, CommitAnswer& answer) {
            const StoredSession& before = stage.before.sessions[change.key];
            for (const auto& [name, expected] : change.guard.attributes) {
              if (before.head.attributes.contains(name) || !answer.ok()) continue;
              answer->kind = CommitResult::Kind::kRefused;
              answer->refusal = Refusal(Reason::kStaleRevision, "absent");
            }
          }}},
    {"refuses-without-facts",
     {.committed =
          [](Stage&, const Change&, CommitAnswer& answer) {
            if (!answer.ok() || answer->kind != CommitResult::Kind::kRefused) return;
            answer->refusal = Refusal(RefusalOf(answer->refusal).reason(), "no");
          }}},
    {"a-grant-keeps-the-epoch",
     {.committed =
          [](Stage& stage, const Change& change, CommitAnswer& answer) {
            if (!answer.ok() || !change.grant || change.create) return;
            LeaseRecord& lease = stage.Find(change.key)->head.lease;
            lease.epoch = Epoch(lease.epoch.value() - 1);
          }}},
    {"drops-the-previous-holder",
     {.committed =
          [](Stage&, const Change&, CommitAnswer& answer) {
            if (answer.ok()) answer->receipt.previous_holder.clear();
          }}},
    {"shows-old-tokens",
     {.committed =
          [](Stage& stage, const Change& change, CommitAnswer&) {
            StoredSession* const session = stage.Find(change.key);
            if (session == nullptr) return;
            for (auto& [id, row] : session->requests) row.receipt.epoch = Epoch(1000);
          }}},
    {"stores-no-tokens",
     {.committed =
          [](Stage& stage, const Change& change, CommitAnswer&) {
            StoredSession* const session = stage.Find(change.key);
            if (session == nullptr) return;
            for (auto& [id, row] : session->requests) row.receipt.token.clear();
          }}},
    {"a-change-renews-nothing",
     {.change = [](Stage&, Change& change) { change.renews_lease = false; }}},
    {"everything-renews", {.change = [](Stage&, Change& change) { change.renews_lease = true; }}},
    {"a-release-raises-the-epoch",
     {.change = [](Stage&, Change& change) { change.raises_epoch = change.ends_lease; }}},
    {"a-lease-never-ends", {.change = [](Stage&, Change& change) { change.ends_lease = false; }}},
    {"recovery-does-not-fence",
     {.change = [](Stage&, Change& change) { change.raises_epoch = false; }}},
    {"a-lease-never-expires",
     {.load =
          [](Stage&, const SessionKey&, LoadedSession& loaded) {
            if (loaded.head.lease.held) loaded.head.lease.state = LeaseState::kLive;
          }}},
    {"leases-expire-by-the-clock-for-people",
     {.load =
          [](Stage& stage, const SessionKey&, LoadedSession& loaded) {
            LeaseRecord& lease = loaded.head.lease;
            if (loaded.head.grants.empty() || !lease.held) return;
            const bool over = loaded.head.updated_at + lease.ttl < stage.clock.Wall();
            lease.state = over ? LeaseState::kExpired : LeaseState::kLive;
          }}},
    {"shows-grants-by-the-clock-for-people",
     {.load =
          [](Stage& stage, const SessionKey&, LoadedSession& loaded) {
            const absl::Duration old = stage.clock.Wall() - loaded.head.updated_at;
            if (old > absl::Hours(24 * 30)) loaded.head.grants.clear();
          }}},
    {"shows-grants-for-ever",
     {.load = [](Stage& stage, const SessionKey& key,
                 LoadedSession& loaded) { loaded.head.grants = stage.Find(key)->head.grants; }}},
    {"opened-again-leases-are-over",
     {.opened =
          [](Stage& stage) {
            for (auto& [key, session] : stage.disk.sessions) {
              session.head.lease.ttl = absl::ZeroDuration();
            }
          }}},
    {"opened-again-leases-are-held",
     {.opened =
          [](Stage& stage) {
            for (auto& [key, session] : stage.disk.sessions) session.head.lease.held = true;
          }}},
    {"renews-with-any-token",
     {.renewed =
          [](Stage&, std::vector<absl::StatusOr<Renewed>>& answers) {
            for (auto& answer : answers) {
              if (!answer.ok()) answer = Renewed();
            }
          }}},
    {"one-bad-renewal-fails-all",
     {.renewed =
          [](Stage&, std::vector<absl::StatusOr<Renewed>>& answers) {
            for (const auto& answer : std::vector(answers)) {
              if (!answer.ok()) answers.assign(answers.size(), answer);
            }
          }}},
    {"a-renewal-has-the-grants-ttl",
     {.ask_renew =
          [](Stage&, std::vector<RenewRequest>& requests) {
            for (RenewRequest& request : requests) request.ttl.reset();
          }}},
    {"a-renewal-leaves-an-event",
     {.ask_renew =
          [](Stage& stage, std::vector<RenewRequest>& requests) {
            for (const RenewRequest& request : requests) {
              StoredSession* const session = stage.Find(request.key);
              if (session != nullptr) session->head.last_event = session->head.last_event.Next();
            }
          }}},
    {"an-expired-lease-is-not-renewed",
     {.ask_renew =
          [](Stage& stage, std::vector<RenewRequest>& requests) {
            for (RenewRequest& request : requests) {
              if (HasExpired(stage, request.key)) request.token.epoch = Epoch();
            }
          }}},
};

}  // namespace

const std::vector<Mutant>& GuardMutants() { return kGuardMutants; }

}  // namespace holdfast::test

// Audit records of acts outside of the store, and the walk over a chain.
#include "platform/status_macros.h"
#include "session/audit.h"
#include "session/check_command.h"
#include "session/fingerprint.h"
#include "session/guard.h"
#include "session/limits.h"
#include "session/refusal.h"
#include "session/sessions.h"

#include <utility>

namespace holdfast {
namespace {

// The next page behind `after`. Where a record cannot be read the page ends before it, and is empty
// when it is the first one; then the page says that it is of `uid`, which nothing contradicts.
absl::StatusOr<AuditPage> SoundPage(SessionStore& store, const SessionKey& key,
                                    const SessionUid& uid, AuditSeq after) {
  absl::StatusOr<AuditPage> page =
      store.ReadAudit(key, after, {.items = kPageMost, .bytes = kPageBytes});
  if (!Is(page.status(), Reason::kDamaged)) return page;
  AuditPage sound{.uid = uid, .records = {}};
  for (AuditSeq last = after; sound.records.size() < kPageMost; last = last.Next()) {
    page = store.ReadAudit(key, last, {.items = 1, .bytes = kPageBytes});
    if (Is(page.status(), Reason::kDamaged)) return sound;
    if (!page.ok()) return page.status();
    sound.uid = page->uid;
    if (page->records.empty()) return sound;
    sound.records.push_back(std::move(page->records.front()));
  }
  return sound;
}

// Takes the records up to the last one that `head` names.
absl::Status WalkTo(SessionStore& store, const SessionKey& key, const Head& head,
                    const std::function<absl::Status()>& go_on, AuditChain& chain) {
  while (chain.why().empty() && chain.records() < head.last_audit) {
    RETURN_IF_ERROR(go_on());
    ASSIGN_OR_RETURN(const AuditPage page, SoundPage(store, key, head.uid, chain.records()));
    RETURN_IF_ERROR(CheckSameSession(page.uid, head.uid));
    if (page.records.empty()) chain.Fail("it is missing, or cannot be read");
    for (const AuditRecord& record : page.records) {
      if (chain.records() == head.last_audit || !chain.Take(record)) break;
    }
  }
  chain.ExpectEnd(head.audit_chain);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<MutationResult> Sessions::AppendAudit(const Caller& caller,
                                                     const AppendAuditCommand& command) {
  RETURN_IF_ERROR(CheckCommand(secrets_, command));
  const Asked asked{.id = command.request, .stamp = [&] { return StampOf(command); }};
  return Execute({caller.tenant, command.session}, asked,
                 [&](const Head& head) { return Decide(head, caller, command); });
}

absl::StatusOr<AuditVerdict> Sessions::VerifyAudit(const Caller& caller,
                                                   const NamedSession& session,
                                                   const std::function<absl::Status()>& go_on) {
  const SessionKey key{caller.tenant, session.id};
  ASSIGN_OR_RETURN(LoadedSession loaded, store_.LoadForDecision(key, std::nullopt));
  RETURN_IF_ERROR(CheckSameSession(loaded.head.uid, session.uid));
  const SessionUid uid = loaded.head.uid;
  AuditChain chain;
  for (;;) {
    RETURN_IF_ERROR(WalkTo(store_, key, loaded.head, go_on, chain));
    if (!chain.why().empty()) break;
    const auto behind = store_.ReadAudit(key, chain.records(), {.items = 1, .bytes = kPageBytes});
    if (behind.ok() && behind->records.empty()) break;
    // There is a record behind: it was added meanwhile, or the head does not name it.
    ASSIGN_OR_RETURN(loaded, store_.LoadForDecision(key, std::nullopt));
    RETURN_IF_ERROR(CheckSameSession(loaded.head.uid, uid));
    if (loaded.head.last_audit == chain.records()) chain.Fail("the session's head names none");
  }
  return AuditVerdict{.records = chain.records().value(),
                      .last = chain.last(),
                      .why = chain.why(),
                      .revision = loaded.head.revision};
}

}  // namespace holdfast

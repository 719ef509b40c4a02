#include "session/sweep.h"

#include "platform/exceptions.h"
#include "platform/status_macros.h"
#include "session/refusal.h"

namespace holdfast {
namespace {

// Another call changed the session first, so that it is no candidate any more.
bool IsLostRace(const absl::Status& status) {
  switch (RefusalOf(status).reason()) {
    case Reason::kSessionNotFound:
    case Reason::kTombstoned:
    case Reason::kIllegalTransition:
    case Reason::kConcurrentTurn:
    case Reason::kStaleTurn:
    case Reason::kStaleRevision:
    case Reason::kLeaseRequired:
    case Reason::kFenced:
    case Reason::kLeaseHeld:
      return true;
    default:
      return false;
  }
}

}  // namespace

absl::StatusOr<std::vector<SessionKey>> Sweep::Candidates(absl::Duration quiet,
                                                          size_t limit) const {
  ASSIGN_OR_RETURN(std::vector<SessionKey> due, store_.ListDue(kind_, quiet, position_, limit));
  if (!position_ || due.size() >= limit) return due;
  ASSIGN_OR_RETURN(const std::vector<SessionKey> first,
                   store_.ListDue(kind_, quiet, std::nullopt, limit - due.size()));
  for (const SessionKey& key : first) {
    if (*position_ < key) break;
    due.push_back(key);
  }
  return due;
}

bool Sweep::IsStoreDown(const absl::Status& status) const {
  return Is(status, Reason::kStoreUnavailable) && !store_.CheckHealth().ok();
}

void Sweep::NoteFailure(const SessionKey& key, const absl::Status& status, const Report& report) {
  const Reason reason = RefusalOf(status).reason();
  const std::optional<Reported> known = reported_.Find(key);
  if (known && known->reason == reason) return;
  reported_.Put(key, {.reason = reason}, [](const Reported&) { return false; });
  if (report) report(key, status);
}

absl::StatusOr<size_t> Sweep::Run(absl::Duration quiet, size_t limit, const Act& act,
                                  const Report& report, const std::function<bool()>& stopping) {
  const absl::MutexLock lock(&mutex_);
  ASSIGN_OR_RETURN(const std::vector<SessionKey> due, Candidates(quiet, limit));
  size_t changed = 0;
  for (const SessionKey& key : due) {
    if (stopping()) break;
    absl::Status done;
    if (const auto what = CatchException([&] { done = act(key); })) {
      done = absl::InternalError(*what);
    }
    if (IsStoreDown(done)) break;
    position_ = key;
    if (done.ok()) {
      ++changed;
      reported_.Forget(key);
    } else if (!IsLostRace(done)) {
      NoteFailure(key, done, report);
    }
  }
  return changed;
}

}  // namespace holdfast

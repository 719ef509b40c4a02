#include "session/guard.h"

#include "platform/digest.h"
#include "session/cancel_requests.h"
#include "session/kept.h"
#include "session/lifecycle.h"

#include "absl/time/time.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace holdfast {
namespace {

using MaybeRefusal = std::optional<Refusal>;

Refusal Fenced(const Head& head, Epoch yours, std::string_view cause) {
  return Refusal(Reason::kFenced,
                 "this token is no longer valid: resume the session to write again")
      .With("your_epoch", yours.value())
      .With("current_epoch", head.lease.epoch.value())
      .With("cause", cause);
}

Refusal Deleted(std::string_view why) {
  return Refusal(Reason::kFenced, why).With("cause", "deleted");
}

Refusal LeaseRequired(std::string_view why) { return Refusal(Reason::kLeaseRequired, why); }

Refusal Mismatch(const StoreId& stored, const StoreId& active) {
  return Refusal(Reason::kResumeMismatch, "this session belongs to another store")
      .With("stored", stored.value())
      .With("active", active.value());
}

Refusal Ahead(uint64_t known, uint64_t stored, std::string_view what) {
  return Refusal(Reason::kRevisionAhead,
                 "you know a later state of this session than is stored here")
      .With("what", what)
      .With("known", known)
      .With("stored", stored);
}

Refusal LeaseHeld(const Head& head) {
  return Refusal(Reason::kLeaseHeld,
                 "another holder has a live lease: retry when it expires, or use force")
      .With("holder", head.lease.holder)
      .With("expires_in_ms",
            static_cast<uint64_t>(absl::ToInt64Milliseconds(head.lease.expires_in)))
      .RetryAfter(head.lease.expires_in);
}

MaybeRefusal CheckUid(const Head& head, const Guard& guard) {
  if (guard.uid && *guard.uid != head.uid) return AnotherSession();
  const LeaseToken* const token = guard.token ? &*guard.token : nullptr;
  // No token is right in an open session, unless its id had a session with a lease before.
  const bool had_leases = head.kind == SessionKind::kLeased || head.recreated;
  if (token != nullptr && had_leases && token->store == head.store && token->uid != head.uid) {
    return Deleted("this token is of another session than the one that has this id");
  }
  if (!head.recreated || guard.uid || token != nullptr) return std::nullopt;
  return Deleted("the id was created again: name the session_uid that is meant");
}

MaybeRefusal CheckStore(const Head& head, const Guard& guard) {
  if (guard.token && guard.token->store != head.store) {
    return Mismatch(guard.token->store, head.store);
  }
  if (guard.expected_store && *guard.expected_store != head.store) {
    return Mismatch(*guard.expected_store, head.store);
  }
  return std::nullopt;
}

MaybeRefusal CheckAhead(const Head& head, const Guard& guard) {
  for (const auto& known : {guard.known_revision, guard.expected_revision}) {
    if (known && *known > head.revision) {
      return Ahead(known->value(), head.revision.value(), "revision");
    }
  }
  const bool leased = head.kind == SessionKind::kLeased;
  if (leased && guard.token && guard.token->epoch > head.lease.epoch) {
    return Ahead(guard.token->epoch.value(), head.lease.epoch.value(), "epoch");
  }
  return std::nullopt;
}

// The checks of a token, in this order.
MaybeRefusal CheckHeld(const Head& head, const std::optional<LeaseToken>& token) {
  if (!token) return LeaseRequired("this call needs the lease: resume the session first");
  const Epoch epoch = token->epoch;
  if (token->incarnation != head.incarnation) return Fenced(head, epoch, "the store was restored");
  if (epoch < head.lease.epoch) return Fenced(head, epoch, "a later grant");
  if (!head.lease.held) return LeaseRequired("the lease was released: resume the session first");
  if (!IsCurrentToken(head, *token)) return Fenced(head, epoch, "not the token of this grant");
  return std::nullopt;
}

MaybeRefusal CheckLease(const Head& head, const Guard& guard, bool live) {
  switch (guard.lease) {
    case LeaseRule::kNone:
    case LeaseRule::kForce:
      return std::nullopt;
    case LeaseRule::kMustHold:
      return CheckHeld(head, guard.token);
    case LeaseRule::kFreeOrExpired:
      if (live) return LeaseHeld(head);
      return std::nullopt;
    case LeaseRule::kHeldOrFree:
      if (!live) return std::nullopt;
      return guard.token ? CheckHeld(head, guard.token) : MaybeRefusal(LeaseHeld(head));
  }
  return std::nullopt;
}

Refusal StaleTurn(const Head& head, TurnNumber named) {
  return Refusal(Reason::kStaleTurn, "this turn is not the active one")
      .With("turn", named.value())
      .With("active_turn", head.turn ? head.turn->number.value() : 0)
      .With("last_turn", head.last_turn.value());
}

// What of `head` decides, beside its state, which triggers are legal.
Condition ConditionOf(const Head& head) {
  const bool ends = SessionCancelRequest(head) != nullptr && head.lifecycle != Lifecycle::kClosed;
  return {.kind = head.kind, .requested_end = ends ? RequestedEnd::kSession : RequestedEnd::kNone};
}

std::string_view WhyIllegal(const Head& head, Trigger trigger) {
  if (head.kind == SessionKind::kOpen && NeedsLeasedSession(trigger)) {
    return "a session of kind OPEN has no lease and no turns";
  }
  const bool by_cancel_request = Next(head.lifecycle, trigger).verdict != Verdict::kIllegal;
  return by_cancel_request ? "a cancel request of the session is pending: no turn can begin"
                           : "this call is not possible in the session's state";
}

Refusal Illegal(const Head& head, Trigger trigger) {
  return Refusal(Reason::kIllegalTransition, WhyIllegal(head, trigger))
      .With("from", Name(head.lifecycle))
      .With("trigger", Name(trigger))
      .With("legal", LegalTriggers(head.lifecycle, ConditionOf(head)));
}

MaybeRefusal CheckState(const Head& head, const Guard& guard) {
  const Trigger trigger = guard.trigger;
  const Condition condition = ConditionOf(head);
  if (guard.begins_next && condition.requested_end == RequestedEnd::kSession &&
      Next(head.lifecycle, trigger).verdict == Verdict::kLegal) {
    return Illegal(head, Trigger::kBeginTurn);
  }
  switch (Next(head.lifecycle, trigger, condition).verdict) {
    case Verdict::kLegal:
      return std::nullopt;
    case Verdict::kConcurrentTurn:
      return Refusal(Reason::kConcurrentTurn, "a turn is active")
          .With("active_turn", head.turn ? head.turn->number.value() : 0)
          .With("from", Name(head.lifecycle))
          .With("trigger", Name(trigger));
    case Verdict::kIllegal:
      break;
  }
  return Illegal(head, trigger);
}

// What an open session, which has no lease, takes of what a leased one needs: nothing.
MaybeRefusal CheckOpen(const Head& head, const Guard& guard) {
  if (auto refusal = CheckState(head, guard)) return refusal;
  if (!guard.token) return std::nullopt;
  return InvalidField("lease_token", "a session of kind OPEN has no lease");
}

Refusal Unexpected(Refusal refusal, EntryNumber expected, EntryNumber got) {
  return std::move(refusal).With("expected", expected.value()).With("got", got.value());
}

MaybeRefusal CheckTurn(const Head& head, const Guard& guard,
                       const std::vector<JournalEntry>& entries) {
  if (!guard.turn) return std::nullopt;
  const TurnNumber active = head.turn ? head.turn->number : TurnNumber();
  if (*guard.turn != active) return StaleTurn(head, *guard.turn);
  const EntryNumber last = LastEntryOf(head, *guard.turn).value_or(EntryNumber());
  if (!entries.empty() && entries.front().number > last.Next()) {
    return Unexpected(InvalidField("entries[0].number", "entry numbers of a turn have no gap"),
                      last.Next(), entries.front().number);
  }
  if (guard.last_entry && *guard.last_entry > last) {
    return Unexpected(InvalidField("last_entry", "this entry of the turn is not stored"),
                      last.Next(), *guard.last_entry);
  }
  return std::nullopt;
}

MaybeRefusal CheckRevision(const Head& head, const Guard& guard) {
  if (!guard.expected_revision || *guard.expected_revision == head.revision) return std::nullopt;
  return Refusal(Reason::kStaleRevision, "the session has moved on")
      .With("expected", guard.expected_revision->value())
      .With("actual", head.revision.value())
      .With("writer", head.lease.holder);
}

MaybeRefusal CheckAttributes(const Head& head, const Guard& guard) {
  for (const auto& [name, expected] : guard.attributes) {
    const auto stored = head.attributes.find(name);
    const bool absent = stored == head.attributes.end();
    if (absent ? expected.empty() : stored->second == expected) continue;
    return Refusal(Reason::kStaleRevision, "an attribute has another value than expected")
        .With("what", "attributes")
        .With("attribute", name)
        .With("actual", head.revision.value());
  }
  return std::nullopt;
}

bool AllThere(const Head& head, const Guard& guard, const std::vector<JournalEntry>& entries) {
  if (entries.empty() || !guard.turn) return false;
  const auto last = LastEntryOf(head, *guard.turn);
  return last && entries.back().number <= *last;
}

}  // namespace

Refusal AnotherSession() { return Deleted("the session that is meant was deleted"); }

absl::Status CheckSameSession(const SessionUid& stored, const std::optional<SessionUid>& meant) {
  return !meant || *meant == stored ? absl::OkStatus() : AnotherSession().ToStatus();
}

std::optional<Refusal> CheckGuard(const Head& head, const Guard& guard,
                                  const std::vector<JournalEntry>& entries) {
  if (auto refusal = CheckUid(head, guard)) return refusal;
  if (auto refusal = CheckStore(head, guard)) return refusal;
  if (auto refusal = CheckAhead(head, guard)) return refusal;
  if (head.kind == SessionKind::kOpen) {
    if (auto refusal = CheckOpen(head, guard)) return refusal;
  } else {
    const bool live = head.lease.held && head.lease.state == LeaseState::kLive;
    if (auto refusal = CheckLease(head, guard, live)) return refusal;
    if (AllThere(head, guard, entries)) return std::nullopt;
    if (auto refusal = CheckState(head, guard)) return refusal;
  }
  if (auto refusal = CheckTurn(head, guard, entries)) return refusal;
  if (auto refusal = CheckRevision(head, guard)) return refusal;
  return CheckAttributes(head, guard);
}

bool NeedsFreeLease(const Head& head, const Guard& guard) {
  return head.lease.held && CheckLease(head, guard, /*live=*/true).has_value();
}

bool Holds(const Premise& premise, const Head& head) {
  const Premise now = PremiseOf(head);
  return premise.lifecycle == now.lifecycle && premise.active_turn == now.active_turn &&
         premise.epoch == now.epoch && premise.cancel_requests == now.cancel_requests &&
         (!premise.history || *premise.history == head.history) &&
         (!premise.at || *premise.at == PositionOf(head)) &&
         (!premise.checkpoints || *premise.checkpoints == head.checkpoints.version);
}

Premise PremiseOf(const Head& head) {
  return {.lifecycle = head.lifecycle,
          .active_turn = head.turn ? head.turn->number : TurnNumber(),
          .epoch = head.lease.epoch,
          .cancel_requests = head.cancel_requests.size()};
}

bool IsCurrentToken(const Head& head, const LeaseToken& token) {
  const Digest hash = Sha256(token.secret);
  return head.lease.held && token.store == head.store && token.uid == head.uid &&
         token.incarnation == head.incarnation && token.epoch == head.lease.epoch &&
         SameSecret(View(hash), View(head.lease.secret_hash));
}

std::optional<EntryNumber> LastEntryOf(const Head& head, TurnNumber turn) {
  if (turn == TurnNumber()) return head.last_entry_between;
  if (head.turn && head.turn->number == turn) return head.turn->last_entry;
  const auto found = std::ranges::find(head.ended, turn, &EndedTurn::turn);
  if (found == head.ended.end()) return std::nullopt;
  return found->last_entry;
}

}  // namespace holdfast

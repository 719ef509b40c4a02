#include "tests/support/reference_rules.h"

#include "platform/digest.h"
#include "session/lifecycle.h"
#include "session/token.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace holdfast::test {
namespace {

using MaybeRefused = std::optional<Refusal>;

// The lifecycle, written out a second time. Of each trigger, in the states IDLE, ACTIVE, PERSISTED,
// RESUMED and CLOSED: '+' is legal, '-' is not, 't' is not because a turn is active. `open`:
// whether an open session knows the trigger at all.
struct TriggerRow {
  Trigger trigger;
  std::string_view in_state;
  bool open = true;
};

constexpr std::array<TriggerRow, kTriggers> kLifecycleTable = {{
    {Trigger::kBeginTurn, "+t++-", false},
    {Trigger::kCommitTurn, "-+---", false},
    {Trigger::kAbandonTurn, "-+---", false},
    {Trigger::kAppendJournal, "+++++", false},
    {Trigger::kWrite, "+t++-"},
    {Trigger::kResume, "+++++", false},
    {Trigger::kClose, "+++++"},
    {Trigger::kRecover, "-+---", false},
    {Trigger::kDelete, "+++++"},
    {Trigger::kUpdate, "+++++"},
    {Trigger::kRenew, "+++++", false},
    {Trigger::kRelease, "+++++", false},
    {Trigger::kCancel, "++++-"},
    {Trigger::kEndCancelled, "++++-"},
    {Trigger::kAppendAudit, "+++++"},
    {Trigger::kPutItems, "+++++"},
    {Trigger::kRestore, "+t++-"},
    {Trigger::kPutCheckpoint, "+++++"},
    {Trigger::kDeleteCheckpoint, "+++++"},
}};

size_t ColumnOf(Lifecycle state) {
  switch (state) {
    case Lifecycle::kIdle:
      return 0;
    case Lifecycle::kActive:
      return 1;
    case Lifecycle::kPersisted:
      return 2;
    case Lifecycle::kResumed:
      return 3;
    case Lifecycle::kClosed:
      return 4;
  }
  return 4;
}

bool SessionEndIsRequested(const Head& head) {
  return std::ranges::count(head.cancel_requests, CancelScope::kSession, &CancelRequest::scope) > 0;
}

// The mark of `row` in the head's state. Under a cancel request of the session no turn begins
// (C165); of an open session see C244.
char MarkOf(const TriggerRow& row, const Head& head) {
  if (head.kind == SessionKind::kOpen && !row.open) return '-';
  if (row.trigger == Trigger::kBeginTurn && SessionEndIsRequested(head)) return '-';
  return row.in_state[ColumnOf(head.lifecycle)];
}

char MarkOf(Trigger trigger, const Head& head) {
  const auto row = std::ranges::find(kLifecycleTable, trigger, &TriggerRow::trigger);
  return MarkOf(*row, head);
}

Refusal Illegal(const Head& head, Trigger trigger) {
  std::string legal;
  for (const TriggerRow& row : kLifecycleTable) {
    if (MarkOf(row, head) != '+') continue;
    if (!legal.empty()) legal += ",";
    legal += Name(row.trigger);
  }
  return Refusal(Reason::kIllegalTransition, "the session's state does not allow this")
      .With("from", Name(head.lifecycle))
      .With("trigger", Name(trigger))
      .With("legal", legal);
}

TurnNumber ActiveTurn(const Head& head) { return head.turn ? head.turn->number : TurnNumber(); }

// C080.
MaybeRefused IsOfThisStore(const Demand& demand) {
  std::vector<StoreId> named;
  if (demand.guard.token) named.push_back(demand.guard.token->store);
  if (demand.guard.expected_store) named.push_back(*demand.guard.expected_store);
  for (const StoreId& store : named) {
    if (store == demand.head.store) continue;
    return Refusal(Reason::kResumeMismatch, "this names another store")
        .With("stored", store.value())
        .With("active", demand.head.store.value());
  }
  return std::nullopt;
}

Refusal OfADeletedSession(std::string_view why) {
  return Refusal(Reason::kFenced, why).With("cause", "deleted");
}

// C294 to C296.
MaybeRefused MeansThisSession(const Demand& demand) {
  const auto& [head, journal, guard, entries] = demand;
  if (guard.uid && *guard.uid != head.uid) return OfADeletedSession("another session was meant");
  const bool had_leases = head.kind == SessionKind::kLeased || head.recreated;  // C243
  const bool other =
      guard.token && guard.token->store == head.store && guard.token->uid != head.uid;
  if (had_leases && other) return OfADeletedSession("the token is of a deleted session");
  if (head.recreated && !guard.uid && !guard.token) {
    return OfADeletedSession("it is not said which session of the id is meant");
  }
  return std::nullopt;
}

// C081.
MaybeRefused KnowsNothingLater(const Demand& demand) {
  struct Known {
    uint64_t known;
    uint64_t stored;
    std::string_view what;
  };
  const uint64_t revision = demand.head.revision.value();
  const auto known_as_revision = [&](const std::optional<Revision>& known) {
    return Known{known.value_or(Revision()).value(), revision, "revision"};
  };
  const bool open = demand.head.kind == SessionKind::kOpen;  // C243: a token is never valid there
  const Epoch epoch = demand.guard.token && !open ? demand.guard.token->epoch : Epoch();
  for (const Known& each : {known_as_revision(demand.guard.known_revision),
                            known_as_revision(demand.guard.expected_revision),
                            Known{epoch.value(), demand.head.lease.epoch.value(), "epoch"}}) {
    if (each.known <= each.stored) continue;
    return Refusal(Reason::kRevisionAhead, "the caller knows a later state than is stored")
        .With("known", each.known)
        .With("stored", each.stored)
        .With("what", each.what);
  }
  return std::nullopt;
}

// What a token is worth.
enum class Worth : uint8_t { kNone, kFenced, kGivenBack, kCurrent };

// C032, C082, C092, C093.
Worth WorthOf(const std::optional<LeaseToken>& token, const Head& head) {
  if (!token) return Worth::kNone;
  const bool of_this_creation = token->uid == head.uid && token->incarnation == head.incarnation;
  if (!of_this_creation || token->epoch != head.lease.epoch) return Worth::kFenced;
  if (!head.lease.held) return Worth::kGivenBack;
  return Sha256(token->secret) == head.lease.secret_hash ? Worth::kCurrent : Worth::kFenced;
}

Refusal Fenced(const Demand& demand) {
  return Refusal(Reason::kFenced, "this token is not the one of the last grant")
      .With("your_epoch", demand.guard.token->epoch.value())
      .With("current_epoch", demand.head.lease.epoch.value());
}

// C083, C084: a live lease is in the way of everyone but its holder; an expired one of no client.
MaybeRefused NoLiveLeaseOfAnother(const Demand& demand, Worth worth) {
  const LeaseRecord& lease = demand.head.lease;
  if (worth == Worth::kCurrent || lease.state != LeaseState::kLive) return std::nullopt;
  return Refusal(Reason::kLeaseHeld, "another client holds the lease")
      .With("holder", lease.holder)
      .With("expires_in_ms", static_cast<uint64_t>(absl::ToInt64Milliseconds(lease.expires_in)))
      .RetryAfter(lease.expires_in);
}

// C082 to C085, C091. C242: an open session has no lease.
MaybeRefused MayWrite(const Demand& demand) {
  if (demand.head.kind == SessionKind::kOpen) return std::nullopt;
  const Worth worth = WorthOf(demand.guard.token, demand.head);
  switch (demand.guard.lease) {
    case LeaseRule::kNone:
    case LeaseRule::kForce:
      return std::nullopt;
    case LeaseRule::kFreeOrExpired:
      return NoLiveLeaseOfAnother(demand, worth);
    case LeaseRule::kHeldOrFree:
      if (demand.head.lease.state == LeaseState::kLive && worth == Worth::kFenced) {
        return Fenced(demand);
      }
      return NoLiveLeaseOfAnother(demand, worth);
    case LeaseRule::kMustHold:
      if (worth == Worth::kFenced) return Fenced(demand);
      if (worth == Worth::kCurrent) return std::nullopt;
      return Refusal(Reason::kLeaseRequired, "this needs the token of a lease that is held");
  }
  return std::nullopt;
}

// What a client gave of an entry, or of its slot.
JournalEntry WithoutNumbersOfTheStore(JournalEntry entry) {
  entry.journal_number = JournalNumber();
  if (entry.slot) entry.slot->revision = Revision();
  return entry;
}

// C042: an entry that is kept is not rewritten.
MaybeRefused RewritesNoEntry(const Demand& demand) {
  for (const JournalEntry& sent : demand.entries) {
    if (sent.number > LastKnownEntry(demand.head, sent.turn)) continue;
    for (const JournalEntry& stored : demand.journal) {
      const bool kept = stored.journal_number > JournalFloor(demand.head);
      if (!kept || stored.turn != sent.turn || stored.number != sent.number) continue;
      if (WithoutNumbersOfTheStore(stored) == WithoutNumbersOfTheStore(sent)) continue;
      return Refusal(Reason::kRequestIdReused, "another entry has this number")
          .With("turn", sent.turn.value())
          .With("number", sent.number.value());
    }
  }
  return std::nullopt;
}

// C041, C104, C105: such an append is answered as done, whatever state and turn are.
bool AddsNothing(const Demand& demand) {
  return !demand.entries.empty() &&
         std::ranges::all_of(demand.entries, [&](const JournalEntry& entry) {
           return entry.number <= LastKnownEntry(demand.head, entry.turn);
         });
}

// C086, C087, C165.
MaybeRefused IsLegalInThisState(const Demand& demand) {
  const Head& head = demand.head;
  const Trigger trigger = demand.guard.trigger;
  const char mark = MarkOf(trigger, head);
  if (mark == 't') {
    return Refusal(Reason::kConcurrentTurn, "a turn is active")
        .With("active_turn", ActiveTurn(head).value())
        .With("from", Name(head.lifecycle))
        .With("trigger", Name(trigger));
  }
  if (mark != '+') return Illegal(head, trigger);
  // The turn that the commit ends is no obstacle for the one that it begins (C112).
  if (demand.guard.begins_next && SessionEndIsRequested(head)) {
    return Illegal(head, Trigger::kBeginTurn);
  }
  return std::nullopt;
}

// C243.
MaybeRefused NamesNoTokenOfAnOpenSession(const Demand& demand) {
  if (demand.head.kind != SessionKind::kOpen || !demand.guard.token) return std::nullopt;
  return InvalidField("lease_token", "an open session knows no token");
}

// C088, C107: between turns the number is 0.
MaybeRefused NamesTheActiveTurn(const Demand& demand) {
  if (!demand.guard.turn || *demand.guard.turn == ActiveTurn(demand.head)) return std::nullopt;
  return Refusal(Reason::kStaleTurn, "this turn is not the active one")
      .With("turn", demand.guard.turn->value())
      .With("active_turn", ActiveTurn(demand.head).value())
      .With("last_turn", demand.head.last_turn.value());
}

Refusal Gap(std::string_view field, EntryNumber expected, EntryNumber got) {
  return InvalidField(field, "entries of a turn have no gap")
      .With("expected", expected.value())
      .With("got", got.value());
}

// C043.
MaybeRefused AppendLeavesNoGap(const Demand& demand) {
  if (demand.entries.empty()) return std::nullopt;
  EntryNumber last = LastKnownEntry(demand.head, demand.entries.front().turn);
  for (size_t at = 0; at < demand.entries.size(); ++at) {
    const EntryNumber number = demand.entries[at].number;
    if (number > last.Next())
      return Gap(absl::StrCat("entries[", at, "].number"), last.Next(), number);
    last = std::max(last, number);
  }
  return std::nullopt;
}

// C090.
MaybeRefused EveryEntryIsThere(const Demand& demand) {
  const auto& expected = demand.guard.last_entry;
  const EntryNumber last = LastKnownEntry(demand.head, ActiveTurn(demand.head));
  if (!expected || *expected <= last) return std::nullopt;
  return Gap("last_entry", last.Next(), *expected);
}

// C089.
MaybeRefused ExpectsThisRevision(const Demand& demand) {
  const auto& expected = demand.guard.expected_revision;
  if (!expected || *expected == demand.head.revision) return std::nullopt;
  return Refusal(Reason::kStaleRevision, "the session is at another revision")
      .With("expected", expected->value())
      .With("actual", demand.head.revision.value())
      .With("writer", demand.head.lease.holder);
}

// C239, C240.
MaybeRefused ExpectsTheseAttributes(const Demand& demand) {
  for (const auto& [name, expected] : demand.guard.attributes) {
    std::string stored;
    if (demand.head.attributes.contains(name)) stored = demand.head.attributes.at(name);
    if (stored == expected) continue;
    return Refusal(Reason::kStaleRevision, "the attribute is another")
        .With("what", "attributes")
        .With("attribute", name)
        .With("actual", demand.head.revision.value());
  }
  return std::nullopt;
}

using Rule = MaybeRefused (*)(const Demand&);

// In the order of checks of docs/api.md. An append that adds nothing is checked by the first ones
// alone.
constexpr std::array<Rule, 5> kOfEveryChange = {MeansThisSession, IsOfThisStore, KnowsNothingLater,
                                                MayWrite, RewritesNoEntry};
constexpr std::array<Rule, 7> kOfWhatActs = {
    IsLegalInThisState, NamesNoTokenOfAnOpenSession, NamesTheActiveTurn,    AppendLeavesNoGap,
    EveryEntryIsThere,  ExpectsThisRevision,         ExpectsTheseAttributes};

}  // namespace

EntryNumber LastKnownEntry(const Head& head, TurnNumber turn) {
  if (turn == TurnNumber()) return head.last_entry_between;
  if (turn == ActiveTurn(head)) return head.turn->last_entry;
  const auto ended = std::ranges::find(head.ended, turn, &EndedTurn::turn);
  return ended == head.ended.end() ? EntryNumber() : ended->last_entry;
}

MaybeRefused FirstBrokenRule(const Demand& demand) {
  for (const Rule rule : kOfEveryChange) {
    if (MaybeRefused refusal = rule(demand)) return refusal;
  }
  if (AddsNothing(demand)) return std::nullopt;
  for (const Rule rule : kOfWhatActs) {
    if (MaybeRefused refusal = rule(demand)) return refusal;
  }
  return std::nullopt;
}

bool IsStillTrue(const Premise& premise, const Head& head) {
  const bool same_history = !premise.history || *premise.history == head.history;
  const bool same_place =
      !premise.at || (premise.at->revision == head.revision && premise.at->journal == head.journal);
  return same_history && same_place && premise.lifecycle == head.lifecycle &&
         premise.active_turn == ActiveTurn(head) && premise.epoch == head.lease.epoch &&
         (!premise.checkpoints || *premise.checkpoints == head.checkpoints.version) &&
         premise.cancel_requests == head.cancel_requests.size();
}

bool EndIsRequested(const Head& head) {
  if (head.lifecycle == Lifecycle::kClosed) return false;
  return std::ranges::any_of(head.cancel_requests, [&](const CancelRequest& request) {
    return request.scope == CancelScope::kSession ||
           (request.scope == CancelScope::kTurn && head.turn && request.turn == head.turn->number);
  });
}

bool EndIsOverdue(const Head& head, absl::Duration requested_for, absl::Duration quiet) {
  return EndIsRequested(head) && (!head.turn || requested_for >= quiet);
}

}  // namespace holdfast::test

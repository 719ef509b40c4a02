// The order of checks, and each check alone.
#include "session/guard.h"

#include "platform/digest.h"
#include "session/refusal.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace holdfast {
namespace {

const StoreId kStore = *StoreId::Parse("11111111-1111-4111-8111-111111111111");
const StoreId kOtherStore = *StoreId::Parse("22222222-2222-4222-8222-222222222222");
const SessionUid kGuardedUid = *SessionUid::Parse("33333333-3333-4333-8333-333333333333");
constexpr char kLeaseSecret[] = "0123456789abcdef";

// ACTIVE in turn 4 with two entries, revision 9, epoch 3, held and live.
Head ActiveHead() {
  Head head;
  head.store = kStore;
  head.incarnation = Incarnation(1);
  head.uid = kGuardedUid;
  head.lifecycle = Lifecycle::kActive;
  head.revision = Revision(9);
  head.turn = TurnRecord{.number = TurnNumber(4), .last_entry = EntryNumber(2)};
  head.last_turn = TurnNumber(4);
  head.last_entry_between = EntryNumber(1);
  head.ended = {{.turn = TurnNumber(3), .last_entry = EntryNumber(5)}};
  head.lease.epoch = Epoch(3);
  head.lease.held = true;
  head.lease.holder = "ada";
  head.lease.secret_hash = Sha256(kLeaseSecret);
  head.lease.state = LeaseState::kLive;
  head.lease.expires_in = absl::Seconds(30);
  return head;
}

LeaseToken Token() {
  return {.store = kStore,
          .incarnation = Incarnation(1),
          .uid = kGuardedUid,
          .epoch = Epoch(3),
          .secret = kLeaseSecret};
}

// A commit of turn 4 that every check lets through.
Guard GoodCommit() {
  Guard guard;
  guard.trigger = Trigger::kCommitTurn;
  guard.lease = LeaseRule::kMustHold;
  guard.token = Token();
  guard.expected_revision = Revision(9);
  guard.turn = TurnNumber(4);
  return guard;
}

std::string Reasoned(const std::optional<Refusal>& refusal) {
  return refusal ? std::string(RowOf(refusal->reason()).name) : "OK";
}

std::string Check(const Head& head, const Guard& guard,
                  const std::vector<JournalEntry>& entries = {}) {
  return Reasoned(CheckGuard(head, guard, entries));
}

JournalEntry Entry(uint64_t turn, uint64_t number) {
  return {.turn = TurnNumber(turn), .number = EntryNumber(number)};
}

Guard Append(uint64_t turn) {
  Guard guard = GoodCommit();
  guard.trigger = Trigger::kAppendJournal;
  guard.expected_revision.reset();
  guard.turn = TurnNumber(turn);
  return guard;
}

TEST(Guard, LetsAGoodCommitThrough) { EXPECT_EQ(Check(ActiveHead(), GoodCommit()), "OK"); }

TEST(Guard, ChecksInOneOrder) {
  // Each step breaks one more check, from the last to the first: the earlier one must win.
  Head head = ActiveHead();
  Guard guard = GoodCommit();
  guard.expected_revision = Revision(8);
  EXPECT_EQ(Check(head, guard), "STALE_REVISION");
  guard.turn = TurnNumber(3);
  EXPECT_EQ(Check(head, guard), "STALE_TURN");
  head.lifecycle = Lifecycle::kClosed;
  EXPECT_EQ(Check(head, guard), "ILLEGAL_TRANSITION");
  guard.token->epoch = Epoch(2);
  EXPECT_EQ(Check(head, guard), "FENCED");
  guard.known_revision = Revision(10);
  EXPECT_EQ(Check(head, guard), "REVISION_AHEAD");
  guard.expected_store = kOtherStore;
  EXPECT_EQ(Check(head, guard), "RESUME_MISMATCH");
}

TEST(Guard, AMismatchComesBeforeWhatTheTokenSays) {
  Guard guard = GoodCommit();
  guard.token->store = kOtherStore;
  guard.token->epoch = Epoch(9);
  const auto refusal = CheckGuard(ActiveHead(), guard, {});
  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(refusal->reason(), Reason::kResumeMismatch);
  EXPECT_EQ(refusal->facts().at("stored"), kOtherStore.value());
  EXPECT_EQ(refusal->facts().at("active"), kStore.value());
}

TEST(Guard, AheadIsKnownExpectedOrEpoch) {
  for (const auto& invalidate : std::vector<std::function<void(Guard&)>>{
           [](Guard& guard) { guard.known_revision = Revision(10); },
           [](Guard& guard) { guard.expected_revision = Revision(10); },
           [](Guard& guard) { guard.token->epoch = Epoch(4); }}) {
    Guard guard = GoodCommit();
    invalidate(guard);
    EXPECT_EQ(Check(ActiveHead(), guard), "REVISION_AHEAD");
  }
  Guard guard = GoodCommit();
  guard.known_revision = Revision(9);
  EXPECT_EQ(Check(ActiveHead(), guard), "OK");
  guard.known_revision = Revision(1);
  EXPECT_EQ(Check(ActiveHead(), guard), "OK");
}

TEST(Guard, ChecksTokenInOrder) {
  const auto cause = [](const Head& head, const Guard& guard) {
    const auto refusal = CheckGuard(head, guard, {});
    if (!refusal) return std::string("OK");
    const auto found = refusal->facts().find("cause");
    return found == refusal->facts().end() ? Reasoned(refusal) : found->second;
  };
  Head head = ActiveHead();
  Guard guard = GoodCommit();
  guard.token->secret = "fedcba9876543210";
  EXPECT_EQ(cause(head, guard), "not the token of this grant");
  head.lease.held = false;
  EXPECT_EQ(cause(head, guard), "LEASE_REQUIRED");
  guard.token->epoch = Epoch(2);
  EXPECT_EQ(cause(head, guard), "a later grant");
  guard.token->incarnation = Incarnation(2);
  EXPECT_EQ(cause(head, guard), "the store was restored");
  guard.token->uid = *SessionUid::Parse(kOtherStore.value());
  EXPECT_EQ(cause(head, guard), "deleted");
  guard.token.reset();
  EXPECT_EQ(cause(head, guard), "LEASE_REQUIRED");
}

struct LeaseCase {
  LeaseRule rule;
  bool token;
  const char* live;
  const char* expired;
  const char* released;
};

TEST(Guard, EveryLeaseRuleInEveryLeaseState) {
  constexpr LeaseCase kCases[] = {
      {LeaseRule::kNone, false, "OK", "OK", "OK"},
      {LeaseRule::kNone, true, "OK", "OK", "OK"},
      {LeaseRule::kMustHold, false, "LEASE_REQUIRED", "LEASE_REQUIRED", "LEASE_REQUIRED"},
      {LeaseRule::kMustHold, true, "OK", "OK", "LEASE_REQUIRED"},
      {LeaseRule::kFreeOrExpired, false, "LEASE_HELD", "OK", "OK"},
      {LeaseRule::kFreeOrExpired, true, "LEASE_HELD", "OK", "OK"},
      {LeaseRule::kHeldOrFree, false, "LEASE_HELD", "OK", "OK"},
      {LeaseRule::kHeldOrFree, true, "OK", "OK", "OK"},
      {LeaseRule::kForce, false, "OK", "OK", "OK"},
      {LeaseRule::kForce, true, "OK", "OK", "OK"},
  };
  for (const LeaseCase& row : kCases) {
    Guard guard;
    guard.trigger = Trigger::kClose;
    guard.lease = row.rule;
    if (row.token) guard.token = Token();
    Head head = ActiveHead();
    const auto place = [&] { return std::to_string(static_cast<int>(row.rule)); };
    EXPECT_EQ(Check(head, guard), row.live) << place();
    head.lease.state = LeaseState::kExpired;
    head.lease.expires_in = absl::ZeroDuration();
    EXPECT_EQ(Check(head, guard), row.expired) << place();
    head.lease.state = LeaseState::kFree;
    head.lease.held = false;
    EXPECT_EQ(Check(head, guard), row.released) << place();
  }
}

TEST(Guard, ReportsHolderAndExpiryWhenLeaseIsHeld) {
  Guard guard;
  guard.trigger = Trigger::kResume;
  guard.lease = LeaseRule::kFreeOrExpired;
  const auto refusal = CheckGuard(ActiveHead(), guard, {});
  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(refusal->facts().at("holder"), "ada");
  EXPECT_EQ(refusal->facts().at("expires_in_ms"), "30000");
  EXPECT_EQ(refusal->retry_after(), absl::Seconds(30));
}

TEST(Guard, AnEntrysKeyComesAfterTheLeaseAndBeforeStateAndTurn) {
  Head head = ActiveHead();
  // There already: of the active turn, of an ended one, of turn 0 while a turn is active.
  EXPECT_EQ(Check(head, Append(4), {Entry(4, 1), Entry(4, 2)}), "OK");
  EXPECT_EQ(Check(head, Append(3), {Entry(3, 5)}), "OK");
  EXPECT_EQ(Check(head, Append(0), {Entry(0, 1)}), "OK");
  // Not there: the turn decides.
  EXPECT_EQ(Check(head, Append(3), {Entry(3, 6)}), "STALE_TURN");
  EXPECT_EQ(Check(head, Append(0), {Entry(0, 2)}), "STALE_TURN");
  EXPECT_EQ(Check(head, Append(5), {Entry(5, 1)}), "STALE_TURN");
  EXPECT_EQ(Check(head, Append(2), {Entry(2, 1)}), "STALE_TURN");
  // A fenced holder is refused even for entries that are already stored.
  Guard fenced = Append(4);
  fenced.token->epoch = Epoch(2);
  EXPECT_EQ(Check(head, fenced, {Entry(4, 1)}), "FENCED");
}

TEST(Guard, EntriesOfATurnHaveNoGap) {
  EXPECT_EQ(Check(ActiveHead(), Append(4), {Entry(4, 3)}), "OK");
  EXPECT_EQ(Check(ActiveHead(), Append(4), {Entry(4, 2), Entry(4, 3)}), "OK");
  const auto refusal = CheckGuard(ActiveHead(), Append(4), {Entry(4, 5)});
  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(refusal->reason(), Reason::kInvalidField);
  EXPECT_EQ(refusal->facts().at("expected"), "3");
  EXPECT_EQ(refusal->facts().at("got"), "5");
}

TEST(Guard, ALastEntryMustBeThere) {
  Guard guard = GoodCommit();
  guard.last_entry = EntryNumber(2);
  EXPECT_EQ(Check(ActiveHead(), guard), "OK");
  guard.last_entry = EntryNumber(1);
  EXPECT_EQ(Check(ActiveHead(), guard), "OK");
  guard.last_entry = EntryNumber(3);
  EXPECT_EQ(Check(ActiveHead(), guard), "INVALID_FIELD");
}

TEST(Guard, StateRefusalsSayFromTriggerAndLegal) {
  Guard guard = GoodCommit();
  guard.trigger = Trigger::kBeginTurn;
  guard.turn.reset();
  const auto busy = CheckGuard(ActiveHead(), guard, {});
  ASSERT_TRUE(busy.has_value());
  EXPECT_EQ(busy->reason(), Reason::kConcurrentTurn);
  EXPECT_EQ(busy->facts().at("active_turn"), "4");
  Head closed = ActiveHead();
  closed.lifecycle = Lifecycle::kClosed;
  const auto illegal = CheckGuard(closed, guard, {});
  ASSERT_TRUE(illegal.has_value());
  EXPECT_EQ(illegal->facts().at("from"), "CLOSED");
  EXPECT_EQ(illegal->facts().at("trigger"), "BeginTurn");
  EXPECT_EQ(illegal->facts().at("legal"), LegalTriggers(Lifecycle::kClosed, Condition()));
}

TEST(Guard, APremiseIsLifecycleTurnAndEpoch) {
  const Head head = ActiveHead();
  const Premise premise = PremiseOf(head);
  EXPECT_TRUE(Holds(premise, head));
  Head other = head;
  other.revision = Revision(10);
  other.lease.state = LeaseState::kExpired;
  EXPECT_TRUE(Holds(premise, other));
  other.lifecycle = Lifecycle::kResumed;
  EXPECT_FALSE(Holds(premise, other));
  other = head;
  other.turn->number = TurnNumber(5);
  EXPECT_FALSE(Holds(premise, other));
  other.turn.reset();
  EXPECT_FALSE(Holds(premise, other));
  other = head;
  other.lease.epoch = Epoch(4);
  EXPECT_FALSE(Holds(premise, other));
}

TEST(Guard, LastEntryOfATurn) {
  const Head head = ActiveHead();
  EXPECT_EQ(LastEntryOf(head, TurnNumber()), EntryNumber(1));
  EXPECT_EQ(LastEntryOf(head, TurnNumber(4)), EntryNumber(2));
  EXPECT_EQ(LastEntryOf(head, TurnNumber(3)), EntryNumber(5));
  EXPECT_EQ(LastEntryOf(head, TurnNumber(2)), std::nullopt);
  EXPECT_EQ(LastEntryOf(head, TurnNumber(5)), std::nullopt);
}

TEST(Guard, OnlyTheWholeTokenIsCurrent) {
  const Head head = ActiveHead();
  EXPECT_TRUE(IsCurrentToken(head, Token()));
  for (const auto& invalidate : std::vector<std::function<void(LeaseToken&)>>{
           [](LeaseToken& token) { token.store = kOtherStore; },
           [](LeaseToken& token) { token.uid = *SessionUid::Parse(kOtherStore.value()); },
           [](LeaseToken& token) { token.incarnation = Incarnation(2); },
           [](LeaseToken& token) { token.epoch = Epoch(2); },
           [](LeaseToken& token) { token.secret = ""; }}) {
    LeaseToken token = Token();
    invalidate(token);
    EXPECT_FALSE(IsCurrentToken(head, token));
  }
  Head released = head;
  released.lease.held = false;
  EXPECT_FALSE(IsCurrentToken(released, Token()));
}

}  // namespace
}  // namespace holdfast

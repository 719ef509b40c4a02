// What a change does to a head, effect by effect.
#include "session/apply.h"

#include "platform/digest.h"
#include "session/audit.h"
#include "session/limits.h"
#include "session/snapshot_description.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

namespace holdfast {
namespace {

const absl::Time kNow = absl::FromUnixSeconds(1'700'000'000);
const SessionUid kUid = *SessionUid::Parse("33333333-3333-4333-8333-333333333333");
constexpr char kGrantedSecret[] = "0123456789abcdef";

StoreFacts Facts(absl::Time now = kNow) {
  return {.store = *StoreId::Parse("11111111-1111-4111-8111-111111111111"),
          .incarnation = Incarnation(2),
          .now = now,
          .clock = now};
}

Change CreateChange() {
  Change change;
  change.create = Creation{.uid = kUid, .mode = Mode::kYolo, .project_root = "/p"};
  change.moves_revision = true;
  change.grant = Grant{.holder = "ada", .ttl = absl::Seconds(60), .secret = kGrantedSecret};
  change.to = Lifecycle::kIdle;
  change.snapshot = true;
  return change;
}

Head Created() { return Apply(EmptyHead(Facts()), CreateChange(), Facts()).head; }

Change BeginChange() {
  Change change;
  change.moves_revision = true;
  change.to = Lifecycle::kActive;
  change.begin_turn = BeginTurn{
      .source = TurnSource::kPlan, .trace = {.id = "t", .sampled = true}, .parent_span_id = "s"};
  return change;
}

Change EndChange(bool committed) {
  Change change;
  change.moves_revision = true;
  change.to = Lifecycle::kPersisted;
  change.end_turn = EndTurn{.outcome = TurnOutcome::kOk, .committed = committed};
  change.snapshot = committed;
  return change;
}

Change Entries(uint64_t turn, uint64_t first, uint64_t last) {
  Change change;
  for (uint64_t number = first; number <= last; ++number) {
    change.entries.push_back({.turn = TurnNumber(turn), .number = EntryNumber(number)});
  }
  return change;
}

Head After(const Head& head, const Change& change) { return Apply(head, change, Facts()).head; }

TEST(Apply, ACreationFillsTheHead) {
  const Applied applied = Apply(EmptyHead(Facts()), CreateChange(), Facts());
  const Head& head = applied.head;
  EXPECT_EQ(head.store, Facts().store);
  EXPECT_EQ(head.incarnation, Incarnation(2));
  EXPECT_EQ(head.uid, kUid);
  EXPECT_EQ(head.revision, Revision(1));
  EXPECT_EQ(head.mode, Mode::kYolo);
  EXPECT_EQ(head.project_root, "/p");
  EXPECT_EQ(head.created_at, kNow);
  EXPECT_EQ(head.updated_at, kNow);
  EXPECT_EQ(head.generation, Generation(1));
  ASSERT_EQ(head.snapshots.size(), 1U);
  EXPECT_EQ(head.snapshots[0].at.revision, Revision(1));
  EXPECT_FALSE(head.sm_slot_pending);
  EXPECT_TRUE(applied.receipt.created);
  EXPECT_EQ(applied.receipt.before, Revision());
  EXPECT_EQ(applied.receipt.snapshot, Revision(1));
}

TEST(Apply, AGrantMakesTheTokenAndKeepsItsHash) {
  const Applied applied = Apply(EmptyHead(Facts()), CreateChange(), Facts());
  const LeaseRecord& lease = applied.head.lease;
  EXPECT_EQ(lease.epoch, Epoch(1));
  EXPECT_TRUE(lease.held);
  EXPECT_EQ(lease.state, LeaseState::kLive);
  EXPECT_EQ(lease.expires_in, absl::Seconds(60));
  EXPECT_EQ(lease.secret_hash, Sha256(kGrantedSecret));
  const auto token = LeaseToken::Parse(applied.receipt.token);
  ASSERT_TRUE(token.has_value());
  EXPECT_EQ(token->store, Facts().store);
  EXPECT_EQ(token->incarnation, Incarnation(2));
  EXPECT_EQ(token->uid, kUid);
  EXPECT_EQ(token->epoch, Epoch(1));
  EXPECT_EQ(token->secret, kGrantedSecret);
}

TEST(Apply, GrantsAreRememberedForADayAndNeverTooMany) {
  Head head = Created();
  Change grant;
  grant.grant = Grant{.holder = "bob", .ttl = absl::Seconds(60), .secret = kGrantedSecret};
  head = Apply(head, grant, Facts(kNow + kRequestsKept)).head;
  EXPECT_EQ(head.grants.size(), 2U);
  head = Apply(head, grant, Facts(kNow + kRequestsKept + absl::Seconds(1))).head;
  ASSERT_EQ(head.grants.size(), 2U);
  EXPECT_EQ(head.grants[0].epoch, Epoch(2));
  for (size_t i = 0; i < kGrantsKept + 5; ++i) head = After(head, grant);
  EXPECT_EQ(head.grants.size(), kGrantsKept);
  EXPECT_EQ(head.grants.back().epoch, head.lease.epoch);
}

TEST(Apply, AResumeHandsOverHolderCutTailAndPendingSlot) {
  Head head = Created();
  head.sm = StateMachineRef{.ext_id = "planner", .slot_ref = "slot"};
  head.tail_bytes_truncated = 77;
  Change resume;
  resume.moves_revision = true;
  resume.grant = Grant{.holder = "bob", .ttl = absl::Seconds(5), .secret = kGrantedSecret};
  resume.to = Lifecycle::kResumed;
  const Applied applied = Apply(head, resume, Facts());
  EXPECT_EQ(applied.receipt.previous_holder, "ada");
  EXPECT_EQ(applied.receipt.tail_bytes_truncated, 77U);
  EXPECT_EQ(applied.head.tail_bytes_truncated, 0U);
  EXPECT_TRUE(applied.head.sm_slot_pending);
  EXPECT_EQ(applied.head.lease.epoch, Epoch(2));
  Change begin = BeginChange();
  begin.hands_out_sm_slot = true;
  const Applied begun = Apply(applied.head, begin, Facts());
  EXPECT_TRUE(begun.receipt.sm_slot_handed_out);
  EXPECT_FALSE(begun.head.sm_slot_pending);
}

TEST(Apply, EndingALeaseKeepsTheEpochAndRaisingItDoesNot) {
  Change release;
  release.ends_lease = true;
  const Head released = After(Created(), release);
  EXPECT_EQ(released.lease.epoch, Epoch(1));
  EXPECT_FALSE(released.lease.held);
  EXPECT_EQ(released.lease.secret_hash, Digest{});
  EXPECT_EQ(released.lease.state, LeaseState::kFree);
  EXPECT_EQ(released.revision, Revision(1));
  Change fence;
  fence.raises_epoch = true;
  const Head fenced = After(Created(), fence);
  EXPECT_EQ(fenced.lease.epoch, Epoch(2));
  EXPECT_FALSE(fenced.lease.held);
}

TEST(Apply, RenewingGivesTheWholeTtlToAHeldLeaseOnly) {
  Head head = Created();
  head.lease.state = LeaseState::kExpired;
  head.lease.expires_in = absl::ZeroDuration();
  Change renew;
  renew.renews_lease = true;
  EXPECT_EQ(After(head, renew).lease.expires_in, absl::Seconds(60));
  EXPECT_EQ(After(head, renew).lease.state, LeaseState::kLive);
  head.lease.held = false;
  head.lease.state = LeaseState::kFree;
  EXPECT_EQ(After(head, renew).lease.state, LeaseState::kFree);
}

TEST(Apply, ATurnBeginsAndEnds) {
  const Applied begun = Apply(Created(), BeginChange(), Facts());
  EXPECT_EQ(begun.receipt.turn, TurnNumber(1));
  ASSERT_TRUE(begun.head.turn.has_value());
  EXPECT_EQ(begun.head.turn->source, TurnSource::kPlan);
  EXPECT_EQ(begun.head.turn->trace, (TraceRef{.id = "t", .sampled = true}));
  EXPECT_EQ(begun.head.turn->parent_span_id, "s");
  EXPECT_EQ(begun.head.turn->started_at, kNow);
  const Applied grown = Apply(begun.head, Entries(1, 1, 3), Facts());
  EXPECT_EQ(grown.receipt.last_entry, EntryNumber(3));
  Change commit = EndChange(true);
  commit.request = RequestStamp{.id = *RequestId::Parse("55555555-5555-4555-8555-555555555555")};
  const Applied committed = Apply(grown.head, commit, Facts());
  EXPECT_EQ(committed.applied_turn, TurnNumber(1));
  EXPECT_FALSE(committed.dropped.has_value());
  EXPECT_EQ(committed.receipt.last_entry, EntryNumber(3));
  EXPECT_FALSE(committed.head.turn.has_value());
  EXPECT_EQ(committed.head.committed_turns, 1U);
  EXPECT_EQ(committed.head.last_committed_request, commit.request->id);
  ASSERT_EQ(committed.head.ended.size(), 1U);
  EXPECT_EQ(committed.head.ended[0].last_journal, JournalNumber(3));
  const Applied abandoned = Apply(grown.head, EndChange(false), Facts());
  EXPECT_EQ(abandoned.dropped, TurnNumber(1));
  EXPECT_FALSE(abandoned.applied_turn.has_value());
  EXPECT_EQ(abandoned.receipt.abandoned_turn, TurnNumber(1));
  EXPECT_EQ(abandoned.receipt.entries_dropped, 3U);
  EXPECT_EQ(abandoned.head.committed_turns, 0U);
  EXPECT_EQ(abandoned.head.last_committed_request, std::nullopt);
}

TEST(Apply, EndedTurnsAreKeptAsLongAsTheirJournalAndNeverTooMany) {
  Head head = Created();
  for (size_t i = 0; i < kSnapshotsKeptDefault + 3; ++i) {
    head = After(head, BeginChange());
    head = After(head, Entries(head.last_turn.value(), 1, 1));
    head = After(head, EndChange(true));
  }
  EXPECT_EQ(head.snapshots.size(), kSnapshotsKeptDefault);
  // The oldest snapshot applied its own turn's entry, which is not kept.
  EXPECT_EQ(head.ended.size(), kSnapshotsKeptDefault - 1);
  EXPECT_GT(head.ended.front().last_journal, OldestKept(head).journal);
  for (size_t i = 0; i < kEndedTurnsKept + 3; ++i) {
    head = After(head, BeginChange());
    head = After(head, Entries(head.last_turn.value(), 1, 1));
    head = After(head, EndChange(false));
  }
  EXPECT_EQ(head.ended.size(), kEndedTurnsKept);
  EXPECT_EQ(head.ended.back().turn, head.last_turn);
}

TEST(Apply, EntriesThatAreThereAreLeftOut) {
  Head head = After(Created(), BeginChange());
  head = After(head, Entries(1, 1, 2));
  const Applied overlap = Apply(head, Entries(1, 2, 4), Facts());
  ASSERT_EQ(overlap.entries.size(), 2U);
  EXPECT_EQ(overlap.entries[0].number, EntryNumber(3));
  EXPECT_EQ(overlap.entries[0].journal_number, JournalNumber(3));
  EXPECT_EQ(overlap.receipt.last_entry, EntryNumber(4));
  const Applied repeat = Apply(overlap.head, Entries(1, 1, 1), Facts());
  EXPECT_TRUE(repeat.entries.empty());
  EXPECT_EQ(repeat.receipt.last_entry, EntryNumber(4));
  EXPECT_EQ(repeat.head.turn->last_entry, EntryNumber(4));
  EXPECT_EQ(repeat.head.journal, JournalNumber(4));
}

TEST(Apply, EntriesBetweenTurnsHaveTheirOwnCount) {
  const Head head = After(Created(), Entries(0, 1, 2));
  EXPECT_EQ(head.last_entry_between, EntryNumber(2));
  EXPECT_EQ(head.journal, JournalNumber(2));
  EXPECT_EQ(After(head, BeginChange()).last_entry_between, EntryNumber(2));
}

TEST(Apply, ASnapshotWritesTheStoresSlotFirst) {
  Head head = After(Created(), BeginChange());
  Change commit = EndChange(true);
  commit.slots = {{.owner = "a", .version = "1.0.0", .data = "x"}};
  commit.deleted_slots = {"b"};
  commit.messages = {{.data = "one"}, {.data = "two"}};
  const Applied applied = Apply(head, commit, Facts());
  ASSERT_EQ(applied.slots.size(), 2U);
  EXPECT_EQ(applied.slots[0].owner, kStoreSlotOwner);
  EXPECT_EQ(applied.slots[0].data,
            EncodeSnapshotDescription(DescribeSnapshot(applied.head, TurnNumber(1))));
  EXPECT_EQ(applied.slots[1].revision, Revision(3));
  EXPECT_EQ(applied.deleted_slots, std::vector<std::string>{"b"});
  ASSERT_EQ(applied.messages.size(), 2U);
  EXPECT_EQ(applied.messages[1].seq, MessageSeq(2));
  EXPECT_EQ(applied.head.history,
            ExtendHistory(ExtendHistory(Digest{}, applied.messages[0]), applied.messages[1]));
  EXPECT_EQ(applied.head.snapshots.back().messages, MessageSeq(2));
}

TEST(Apply, EventsAndAuditCarryTheNumbersGiven) {
  Change change = BeginChange();
  change.correlation_id = "c";
  change.trace.id = "t";
  change.events = {{.name = "A", .payload = {{"x", "y"}}, .given = {Given::kTurn}},
                   {.name = "B", .given = {Given::kEpoch}}};
  change.audit = AuditDraft{.audit_class = "Turn", .code = "TurnStarted", .data = {{"k", "v"}}};
  const Applied applied = Apply(Created(), change, Facts());
  ASSERT_EQ(applied.events.size(), 2U);
  EXPECT_EQ(applied.events[0].seq, EventSeq(1));
  EXPECT_EQ(applied.events[0].payload,
            (std::map<std::string, std::string>{{"turn", "1"}, {"x", "y"}}));
  EXPECT_EQ(applied.events[1].payload.at("epoch"), "1");
  EXPECT_EQ(applied.events[1].revision, Revision(2));
  EXPECT_EQ(applied.events[1].time, kNow);
  ASSERT_TRUE(applied.audit.has_value());
  EXPECT_EQ(applied.audit->seq, AuditSeq(1));
  EXPECT_EQ(applied.audit->hash, AuditHash(*applied.audit));
  EXPECT_EQ(applied.head.audit_chain, applied.audit->hash);
  const Applied next = Apply(applied.head, change, Facts());
  EXPECT_EQ(next.audit->previous, applied.audit->hash);
  EXPECT_EQ(next.events[0].seq, EventSeq(3));
}

TEST(Apply, AnAuditRecordsHashCoversEverything) {
  const AuditRecord record{.seq = AuditSeq(1), .audit_class = "a", .code = "b"};
  std::vector<AuditRecord> others(8, record);
  others[0].seq = AuditSeq(2);
  others[1].audit_class = "x";
  others[2].code = "x";
  others[3].correlation_id = "x";
  others[4].revision = Revision(1);
  others[5].epoch = Epoch(1);
  others[6].time = kNow;
  others[7].data = {{"k", "v"}};
  for (const AuditRecord& other : others) EXPECT_NE(AuditHash(other), AuditHash(record));
  AuditRecord chained = record;
  chained.previous = Sha256("x");
  EXPECT_NE(AuditHash(chained), AuditHash(record));
}

TEST(Apply, WhatIsNotInTheChangeStays) {
  Head head = Created();
  head.attributes = {{"title", "x"}, {"agent", "y"}};
  Change change;
  change.attributes = {{"title", "z"}, {"agent", std::nullopt}, {"absent", std::nullopt}};
  const Applied applied = Apply(head, change, Facts(kNow + absl::Hours(1)));
  EXPECT_EQ(applied.head.attributes, (std::map<std::string, std::string>{{"title", "z"}}));
  EXPECT_EQ(applied.head.revision, head.revision);
  EXPECT_EQ(applied.head.updated_at, kNow);
  EXPECT_EQ(applied.head.lifecycle, head.lifecycle);
  EXPECT_FALSE(applied.audit.has_value());
  EXPECT_TRUE(applied.slots.empty());
  EXPECT_FALSE(applied.tombstone);
}

TEST(Apply, ACloseReasonGoesWithTheNextState) {
  Change close;
  close.to = Lifecycle::kClosed;
  close.close_reason = CloseReason::kCrash;
  const Head closed = After(Created(), close);
  EXPECT_EQ(closed.close_reason, CloseReason::kCrash);
  Change resume;
  resume.to = Lifecycle::kResumed;
  EXPECT_EQ(After(closed, resume).close_reason, CloseReason::kNone);
}

}  // namespace
}  // namespace holdfast

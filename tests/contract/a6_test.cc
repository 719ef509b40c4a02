// Tests carried over from the source systems, as far as a store can answer them
// (docs/conformance.md): round trips, typed failures, the snapshot writer, recovery and resume.
#include "tests/contract/suite.h"

#include <map>

namespace holdfast::test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

// Every field of a manifest, set.
Change FullCreate(Changes& changes) {
  Change create = changes.Create();
  create.create->mode = Mode::kAllowlist;
  create.create->project_root = "/projects/engine";
  create.sm = StateMachineRef{.ext_id = "planner", .slot_ref = "slot-1"};
  create.messages = {Text("message zero")};
  create.slots = {MakeSlot("planner", R"({"step":1})")};
  return create;
}

TEST_P(Contract, A6_ContractShape_KindVersionIdAndCapabilities) {
  const StoreDescription description = store().Describe();
  EXPECT_THAT(description.kind, ::testing::MatchesRegex("[a-z][a-z-]*"));
  EXPECT_THAT(description.contract_version, ::testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
  EXPECT_FALSE(description.store.empty());
  EXPECT_TRUE(description.journaling);
  EXPECT_TRUE(description.concurrent_readers);
}

TEST_P(Contract, A6_RoundTrip_Minimal) {
  Create();
  Reopen();
  const Head head = LoadHead();
  EXPECT_EQ(head.lifecycle, Lifecycle::kIdle);
  EXPECT_EQ(head.mode, Mode::kAsk);
  EXPECT_EQ(head.project_root, "/projects/engine");
  EXPECT_EQ(head.messages, MessageSeq());
  EXPECT_FALSE(head.sm.has_value());
  EXPECT_EQ(head.snapshots.size(), 1U);
  EXPECT_THAT(Messages(), IsEmpty());
}

TEST_P(Contract, A6_RoundTrip_OpaqueMessages) {
  Create();
  const std::string nested =
      R"({"role":"assistant","content":[{"type":"tool_use","input":{"a":[1,2.50,null]}}],)"
      R"("provider":{"cache_control":{"type":"ephemeral"},"__proto__":{"x":1}}, "id" : "m\u0030"})";
  RunTurn({{.role = "assistant", .content_type = "application/json", .data = nested}});
  Reopen();
  ASSERT_EQ(Messages().size(), 1U);
  EXPECT_EQ(Messages()[0].data, nested);
  EXPECT_EQ(Messages()[0].role, "assistant");
}

TEST_P(Contract, A6_RoundTrip_WithStateMachine) {
  Apply(FullCreate(changes()));
  Reopen();
  const Head head = LoadHead();
  ASSERT_TRUE(head.sm.has_value());
  EXPECT_EQ(head.sm->ext_id, "planner");
  EXPECT_EQ(head.sm->slot_ref, "slot-1");
  EXPECT_EQ(SlotData("planner"), R"({"step":1})");
}

TEST_P(Contract, A6_RoundTrip_SlotsUnchanged) {
  Create();
  Slot null = MakeSlot("null", "null", "0.0.1");
  null.policy = DriftPolicy::kReject;
  Slot binary = MakeSlot("binary", std::string("\0\xff\n", 3), "10.20.30");
  binary.policy = DriftPolicy::kMigrate;
  const Slot empty = MakeSlot("empty", "");
  RunTurn({}, {null, binary, empty});
  Reopen();
  for (const Slot& given : {null, binary, empty}) {
    const auto slots = Slots({.owners = {given.owner}});
    ASSERT_EQ(slots.size(), 1U) << given.owner;
    EXPECT_EQ(slots[0].slot.data, given.data);
    EXPECT_EQ(slots[0].slot.version, given.version);
    EXPECT_EQ(slots[0].slot.policy, given.policy);
  }
}

TEST_P(Contract, A6_RoundTrip_TheListShowsTheIdAfterTheWrite) {
  EXPECT_THAT(Ids(), Not(Contains("alpha")));
  Create();
  EXPECT_THAT(Ids(), Contains("alpha"));
}

TEST_P(Contract, A6_RoundTrip_TimesAndMessageZeroSurvive) {
  Apply(FullCreate(changes()));
  const Head created = LoadHead();
  clock().Advance(absl::Hours(1));
  TakeOver();
  RunTurn({Text("message one")});
  Reopen();
  EXPECT_EQ(LoadHead().created_at, created.created_at);
  EXPECT_EQ(LoadHead().updated_at, clock().Wall());
  EXPECT_EQ(LoadHead().mode, Mode::kAllowlist);
  EXPECT_THAT(MessageTexts(), ElementsAre("message zero", "message one"));
}

TEST_P(Contract, A6_TypedFailure_AnUnknownIdIsASessionError) {
  const auto loaded = store().LoadForDecision(Key("absent"), std::nullopt);
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(RowOf(RefusalOf(loaded.status()).reason()).code, "Session/NotFound");
}

TEST_P(Contract, A6_TypedFailure_AStoreIdChangedOnDiskIsAMismatch) {
  Create();
  RunTurn({Text("one")});
  under_test().Close();
  const StoreId other = under_test().Restamp(key());
  under_test().Open();
  const auto loaded = store().LoadForDecision(key(), std::nullopt);
  EXPECT_EQ(ReasonIn(loaded), "RESUME_MISMATCH");
  EXPECT_EQ(FactIn(loaded.status(), "stored"), other.value());
  EXPECT_EQ(ReasonIn(store().Commit(changes().Resume(LeaseRule::kForce))), "RESUME_MISMATCH");
  const auto rows = Rows({.tenant = key().tenant});
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].condition, SessionRow::Condition::kForeign);
}

TEST_P(Contract, A6_SnapshotWriter_NoEventOfAWriteThatFailed) {
  Create();
  const TurnNumber turn = Begin();
  const Change change = changes().CommitTurn(token(), turn);
  under_test().BreakWrites();
  EXPECT_EQ(ReasonIn(store().Commit(change)), "STORE_UNAVAILABLE");
  under_test().MendWrites();
  Reopen();
  const bool there = LoadRequest(change.request->id).has_value();
  EXPECT_EQ(LoadHead().lifecycle, there ? Lifecycle::kPersisted : Lifecycle::kActive);
  const auto names = EventNames();
  EXPECT_EQ(std::count(names.begin(), names.end(), "SessionPersisted"), there ? 1 : 0);
}

TEST_P(Contract, A6_SnapshotWriter_OneEventForEachSnapshot) {
  Create();
  RunTurn({Text("one")});
  Apply(changes().Write(token()));
  Apply(changes().Abandon(token(), Begin()));
  const auto names = EventNames();
  EXPECT_EQ(std::count(names.begin(), names.end(), "SessionPersisted"), 2);
}

TEST_P(Contract, A6_SnapshotWriter_TheEventIsOfTheSnapshotsRevision) {
  Create();
  const Receipt receipt = RunTurn({Text("one")});
  const auto events = Events();
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events.back().name, "SessionPersisted");
  EXPECT_EQ(events.back().revision, receipt.snapshot);
  EXPECT_EQ(events.back().time, LoadHead().updated_at);
  EXPECT_FALSE(events.back().correlation_id.empty());
}

TEST_P(Contract, A6_Recovery_AnEmptyStoreHasNothing) {
  const auto page = store().List({.tenant = key().tenant, .limit = 10});
  ASSERT_EQ(ReasonIn(page), "OK");
  EXPECT_THAT(page->rows, IsEmpty());
  EXPECT_TRUE(page->end);
  EXPECT_TRUE(page->complete);
  Reopen();
  EXPECT_THAT(Ids(), IsEmpty());
}

TEST_P(Contract, A6_Recovery_TheStoredManifestComesBack) {
  Apply(FullCreate(changes()));
  TakeOver();
  RunTurn({Text("message one")}, {MakeSlot("planner", R"({"step":2})")});
  const std::string before = Picture();
  Reopen();
  EXPECT_EQ(Picture(), before);
  const Receipt resumed = TakeOver();
  EXPECT_EQ(resumed.snapshot, Revision(4));
  EXPECT_THAT(MessageTexts(), ElementsAre("message zero", "message one"));
}

TEST_P(Contract, A6_Recovery_TheLastSnapshotAndTheJournal) {
  Create();
  RunTurn({}, {MakeSlot("memory", "snapshot")});
  const TurnNumber turn = Begin();
  Append(turn, {SlotUpdate(turn, 1, MakeSlot("memory", "journal")), Note(turn, 2, "x")});
  Reopen();
  // What was journaled before the end is applied by a commit after it.
  Append(turn, {Note(turn, 3, "y")});
  Change change = changes().CommitTurn(token(), turn);
  change.guard.last_entry = EntryNumber(3);
  EXPECT_EQ(Apply(change).last_entry, EntryNumber(3));
  EXPECT_EQ(SlotData("memory"), "journal");
}

TEST_P(Contract, A6_Recovery_ATurnThatWasCutOffIsReported) {
  Create();
  const Receipt snapshot = RunTurn({Text("one")});
  const TurnNumber turn = Begin();
  Append(turn, {Note(turn, 1, "a"), Note(turn, 2, "b")});
  Reopen();
  const Receipt resumed = TakeOver();
  EXPECT_EQ(resumed.abandoned_turn, turn);
  EXPECT_EQ(resumed.entries_dropped, 2U);
  EXPECT_EQ(resumed.snapshot, snapshot.revision);
  EXPECT_EQ(resumed.previous_holder, "holder");
  EXPECT_THAT(MessageTexts(), ElementsAre("one"));
}

TEST_P(Contract, A6_Recovery_CompatibleIdsPassSilently) {
  Create();
  Reopen();
  Change resume = changes().Resume(LeaseRule::kForce);
  resume.guard.expected_store = store().Describe().store;
  resume.guard.known_revision = Revision(1);
  EXPECT_EQ(Apply(resume).revision, Revision(2));
}

TEST_P(Contract, A6_Resume_FromEveryState) {
  Create();
  const auto lifecycle = [&] { return LoadHead().lifecycle; };
  EXPECT_EQ(lifecycle(), Lifecycle::kIdle);
  TakeOver();
  EXPECT_EQ(lifecycle(), Lifecycle::kResumed);
  TakeOver();
  EXPECT_EQ(lifecycle(), Lifecycle::kResumed);
  const TurnNumber turn = Begin();
  EXPECT_EQ(lifecycle(), Lifecycle::kActive);
  EXPECT_EQ(TakeOver().abandoned_turn, turn);
  EXPECT_EQ(lifecycle(), Lifecycle::kResumed);
  EXPECT_FALSE(LoadHead().turn.has_value());
  RunTurn();
  EXPECT_EQ(lifecycle(), Lifecycle::kPersisted);
  TakeOver();
  EXPECT_EQ(lifecycle(), Lifecycle::kResumed);
  Apply(changes().Close(token()));
  EXPECT_EQ(lifecycle(), Lifecycle::kClosed);
  TakeOver();
  EXPECT_EQ(lifecycle(), Lifecycle::kResumed);
  RunTurn({Text("still here")});
  EXPECT_THAT(MessageTexts(), ElementsAre("still here"));
}

TEST_P(Contract, A6_Resume_TheStateMachinesSlotIsHandedOutOncePerEpoch) {
  Apply(FullCreate(changes()));
  TakeOver();
  EXPECT_TRUE(LoadHead().sm_slot_pending);
  Reopen();
  EXPECT_TRUE(LoadHead().sm_slot_pending);
  Change begin = changes().Begin(token());
  begin.hands_out_sm_slot = true;
  const Receipt begun = Apply(begin);
  EXPECT_TRUE(begun.sm_slot_handed_out);
  EXPECT_FALSE(LoadHead().sm_slot_pending);
  CommitTurn(begun.turn);
  EXPECT_FALSE(LoadHead().sm_slot_pending);
  TakeOver();
  EXPECT_TRUE(LoadHead().sm_slot_pending);
}

TEST_P(Contract, A6_Resume_WithoutAStateMachineNothingIsPending) {
  Create();
  TakeOver();
  EXPECT_FALSE(LoadHead().sm_slot_pending);
  EXPECT_FALSE(Apply(changes().Begin(token())).sm_slot_handed_out);
}

TEST_P(Contract, A6_Resume_AMissingSlotKeepsTheReference) {
  Change create = FullCreate(changes());
  create.slots.clear();
  Apply(create);
  TakeOver();
  RunTurn();
  Reopen();
  ASSERT_TRUE(LoadHead().sm.has_value());
  EXPECT_EQ(LoadHead().sm->slot_ref, "slot-1");
  EXPECT_EQ(SlotData("planner"), std::nullopt);
}

TEST_P(Contract, A6_Resume_AMismatchLeavesTheSessionWhereItWas) {
  Create();
  const std::string before = Picture();
  Change resume = changes().Resume(LeaseRule::kForce);
  resume.guard.expected_store = *StoreId::Parse("00000000-0000-4000-8000-000000000000");
  EXPECT_EQ(ReasonIn(store().Commit(resume)), "RESUME_MISMATCH");
  EXPECT_EQ(Picture(), before);
  Begin();
}

}  // namespace
}  // namespace holdfast::test

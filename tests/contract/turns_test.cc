// Turns, revisions, messages, events, audit and attributes: what an applied change does.
#include "session/audit.h"
#include "session/limits.h"
#include "tests/contract/suite.h"

#include <map>
#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

using ::testing::ElementsAre;

TEST_P(Contract, C030_TheRevisionMovesByOneExactlyIfTheChangeSaysSo) {
  EXPECT_EQ(Create().revision, Revision(1));
  const Receipt begun = Apply(changes().Begin(token()));
  EXPECT_EQ(begun.before, Revision(1));
  EXPECT_EQ(begun.revision, Revision(2));
  EXPECT_EQ(Append(begun.turn, {Note(begun.turn, 1, "a")}).revision, Revision(2));
  EXPECT_EQ(Apply(changes().Update({{"title", "x"}})).revision, Revision(2));
  EXPECT_EQ(Apply(changes().Abandon(token(), begun.turn)).revision, Revision(3));
  EXPECT_EQ(Apply(changes().Write(token())).revision, Revision(4));
  EXPECT_EQ(Apply(changes().Release(token())).revision, Revision(4));
  EXPECT_EQ(Apply(changes().Resume()).revision, Revision(5));
  EXPECT_EQ(LoadHead().revision, Revision(5));
}

TEST_P(Contract, C094_UpdatedAtMovesWithTheRevision) {
  Create();
  const Head created = LoadHead();
  EXPECT_EQ(created.created_at, clock().Wall());
  EXPECT_EQ(created.updated_at, created.created_at);
  clock().Advance(absl::Seconds(5));
  Apply(changes().Update({{"title", "x"}}));
  EXPECT_EQ(LoadHead().updated_at, created.updated_at);
  Begin();
  EXPECT_EQ(LoadHead().updated_at, clock().Wall());
  EXPECT_EQ(LoadHead().created_at, created.created_at);
}

TEST_P(Contract, C111_ATurnIsNumberedBehindTheLastOneBegun) {
  Create();
  EXPECT_EQ(Begin(), TurnNumber(1));
  Apply(changes().Abandon(token(), TurnNumber(1)));
  EXPECT_EQ(Begin(), TurnNumber(2));
  TakeOver();
  Reopen();
  EXPECT_EQ(Begin(), TurnNumber(3));
  EXPECT_EQ(LoadHead().turn.value_or(TurnRecord()).number, TurnNumber(3));
}

TEST_P(Contract, C112_ACommitMayBeginTheNextTurnInOneRevision) {
  Create();
  const TurnNumber first = Begin();
  Change change = changes().CommitTurn(token(), first);
  change.messages = {Text("one")};
  change.begin_turn = BeginTurn{.source = TurnSource::kPlan};
  change.to = Lifecycle::kActive;
  const Receipt receipt = Apply(change);
  EXPECT_EQ(receipt.revision, Revision(3));
  EXPECT_EQ(receipt.turn, TurnNumber(2));
  EXPECT_EQ(receipt.snapshot, Revision(3));
  const Head head = LoadHead();
  EXPECT_EQ(head.lifecycle, Lifecycle::kActive);
  ASSERT_TRUE(head.turn.has_value());
  EXPECT_EQ(head.turn->number, TurnNumber(2));
  EXPECT_EQ(head.turn->source, TurnSource::kPlan);
  EXPECT_EQ(head.turn->last_entry, EntryNumber());
  EXPECT_EQ(head.committed_turns, 1U);
}

TEST_P(Contract, C034_MessagesAreNumberedFromTheNewestOnWithoutGaps) {
  Change create = changes().Create();
  create.messages = {Text("zero")};
  TakeToken(Apply(create));
  RunTurn({Text("one"), Text("two")});
  RunTurn();
  EXPECT_EQ(RunTurn({Text("three")}).messages, MessageSeq(4));
  std::vector<uint64_t> seqs;
  for (const Message& message : Messages()) seqs.push_back(message.seq.value());
  EXPECT_THAT(seqs, ::testing::ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(MessageTexts(), ::testing::ElementsAre("zero", "one", "two", "three"));
  EXPECT_EQ(LoadHead().messages, MessageSeq(4));
}

TEST_P(Contract, C098_MessagesAreKeptByteForByte) {
  Create();
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) bytes += static_cast<char>(byte);
  const Message binary{.role = "tool", .content_type = "application/octet-stream", .data = bytes};
  const Message large{
      .role = "assistant", .content_type = "text/plain", .data = std::string(1 << 20, 'x')};
  RunTurn({binary, Text(""), large});
  Reopen();
  const auto messages = Messages();
  ASSERT_EQ(messages.size(), 3U);
  EXPECT_EQ(messages[0].role, "tool");
  EXPECT_EQ(messages[0].content_type, "application/octet-stream");
  EXPECT_EQ(messages[0].data, bytes);
  EXPECT_EQ(messages[1].data, "");
  EXPECT_TRUE(messages[2].data == large.data);
}

TEST_P(Contract, C099_TheHistorysDigestCoversEveryMessageInOrder) {
  Create();
  RunTurn({Text("one"), Text("two")});
  RunTurn({Text("three")});
  Digest expected{};
  for (const Message& message : Messages()) expected = ExtendHistory(expected, message);
  EXPECT_EQ(LoadHead().history, expected);
  const auto page = store().ReadMessages(key(), std::nullopt, MessageSeq(), kWholePage);
  ASSERT_TRUE(page.ok());
  EXPECT_EQ(page->generation, LoadHead().generation);
}

TEST_P(Contract, C044_EventsAreNumberedWithoutGapsInTheOrderGiven) {
  Create();
  RunTurn();
  Apply(changes().Resume(LeaseRule::kForce));
  EXPECT_THAT(EventNames(), ::testing::ElementsAre("SessionStarted", "SessionTurnStart",
                                                   "SessionTurnEnd", "SessionPersisted",
                                                   "SessionResumeStarted", "SessionLeaseChanged"));
  uint64_t seq = 0;
  for (const Event& event : Events()) EXPECT_EQ(event.seq, EventSeq(++seq));
  EXPECT_EQ(LoadHead().last_event, EventSeq(seq));
}

TEST_P(Contract, C108_AnEventCarriesRevisionCorrelationTraceAndTime) {
  Create();
  clock().Advance(absl::Seconds(5));
  const CommitResult begun = ApplyWhole(changes().Begin(token()));
  const auto events = Events();
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[1].revision, Revision(2));
  EXPECT_EQ(events[1].correlation_id, "case-1");
  EXPECT_EQ(events[1].trace_id, "0123456789abcdef0123456789abcdef");
  EXPECT_EQ(events[1].time, clock().Wall());
  EXPECT_EQ(events[1].payload.at("from"), "a case");
  // The commit's own answer shows the same ones.
  ASSERT_EQ(begun.events.size(), 1U);
  EXPECT_EQ(begun.events[0], events[1]);
}

TEST_P(Contract, C109_AnEventCarriesTheNumbersThatOnlyAStoreCanGive) {
  Create();
  Begin();
  TakeOver();
  const auto events = Events();
  ASSERT_EQ(events.size(), 4U);
  EXPECT_EQ(events[0].payload.at("epoch"), "1");
  EXPECT_EQ(events[1].payload.at("turn"), "1");
  EXPECT_EQ(events[3].payload.at("epoch"), "2");
}

TEST_P(Contract, C045_AnAuditRecordCoversTheOneBefore) {
  Create();
  RunTurn();
  Reopen();
  RunTurn();
  const auto records = Audit();
  ASSERT_EQ(records.size(), 5U);
  Digest previous{};
  for (const AuditRecord& record : records) {
    EXPECT_EQ(record.previous, previous);
    EXPECT_EQ(record.hash, AuditHash(record));
    previous = record.hash;
  }
  EXPECT_EQ(LoadHead().audit_chain, previous);
  EXPECT_EQ(LoadHead().last_audit, AuditSeq(5));
}

TEST_P(Contract, C110_AnAuditRecordSaysWhatItsChangeLeft) {
  Create();
  Begin();
  TakeOver();
  const auto records = Audit();
  ASSERT_EQ(records.size(), 3U);
  EXPECT_EQ(records[0].code, "create");
  EXPECT_EQ(records[0].revision, Revision(1));
  EXPECT_EQ(records[0].epoch, Epoch(1));
  EXPECT_EQ(records[2].code, "resume");
  EXPECT_EQ(records[2].audit_class, "SessionLifecycle");
  EXPECT_EQ(records[2].revision, Revision(3));
  EXPECT_EQ(records[2].epoch, Epoch(2));
  EXPECT_EQ(records[2].correlation_id, "case-1");
  EXPECT_EQ(records[2].data.at("by"), "a case");
  EXPECT_EQ(records[2].time, clock().Wall());
}

TEST_P(Contract, C046_AttributesAreSetAndRemovedByKey) {
  Change create = changes().Create();
  create.attributes = {{"title", "first"}, {"agent", "ada"}};
  TakeToken(Apply(create));
  Apply(changes().Update({{"title", "second"}, {"agent", std::nullopt}, {"labels", ""}}));
  Reopen();
  using Map = std::map<std::string, std::string>;
  EXPECT_EQ(LoadHead().attributes, (Map{{"labels", ""}, {"title", "second"}}));
}

TEST_P(Contract, C117_TheStateMachinesReferenceIsSetLeftAndRemoved) {
  const StateMachineRef ref{.ext_id = "planner", .slot_ref = "slot-1"};
  Create();
  EXPECT_FALSE(LoadHead().sm.has_value());
  Change set = changes().Write(token());
  set.sm = ref;
  Apply(set);
  EXPECT_EQ(LoadHead().sm, ref);
  RunTurn();
  Reopen();
  EXPECT_EQ(LoadHead().sm, ref);
  Change remove = changes().Write(token());
  remove.sm.emplace(std::nullopt);
  Apply(remove);
  EXPECT_FALSE(LoadHead().sm.has_value());
}

// A snapshot whose history is `messages` and nothing before.
Change Replacing(Change change, std::vector<Message> messages) {
  change.replaces_history = true;
  change.messages = std::move(messages);
  return change;
}

TEST_P(Contract, C191_AReplacedHistoryIsANewGeneration) {
  Create();
  RunTurn({Text("a"), Text("b"), Text("c")});
  const Generation before = LoadHead().generation;
  const Receipt receipt = Apply(Replacing(changes().Write(token()), {Text("x"), Text("y")}));
  EXPECT_EQ(receipt.messages, MessageSeq(2));
  const Head head = LoadHead();
  EXPECT_EQ(head.generation, before.Next());
  EXPECT_EQ(head.history, ExtendHistory(ExtendHistory(Digest(), Text("x")), Text("y")));
  EXPECT_THAT(MessageTexts(), ElementsAre("x", "y"));
  ASSERT_FALSE(Messages().empty());
  EXPECT_EQ(Messages().front().seq, MessageSeq(1));
}

TEST_P(Contract, C192_AReplacedHistoryIsReadAtItsSnapshots) {
  Create();
  const Revision first = RunTurn({Text("a"), Text("b")}).revision;
  const Revision second = RunTurn({Text("c")}).revision;
  Apply(Replacing(changes().Write(token()), {Text("x")}));
  Apply(Replacing(changes().Write(token()), {}));
  EXPECT_THAT(MessageTexts(first), ElementsAre("a", "b"));
  EXPECT_THAT(MessageTexts(second), ElementsAre("a", "b", "c"));
  EXPECT_THAT(MessageTexts(), ElementsAre());
}

TEST_P(Contract, C193_ANewHistoryGoesOnWhileAnOldOneIsRead) {
  Create();
  const Revision old = RunTurn({Text("a"), Text("b")}).revision;
  const Revision replaced = Apply(Replacing(changes().Write(token()), {Text("x")})).revision;
  RunTurn({Text("y"), Text("z")});
  for (int opened = 0; opened < 2; ++opened) {
    EXPECT_THAT(MessageTexts(old), ElementsAre("a", "b"));
    EXPECT_THAT(MessageTexts(replaced), ElementsAre("x"));
    EXPECT_THAT(MessageTexts(), ElementsAre("x", "y", "z"));
    Reopen();
  }
  // Rotations and pruned snapshots take nothing away that is named.
  for (size_t turn = 0; turn < 3 * kSnapshotsKeptDefault; ++turn) RunTurn();
  EXPECT_EQ(ReasonIn(store().ReadMessages(key(), old, MessageSeq(), kWholePage)),
            "REVISION_PRUNED");
  Reopen();
  EXPECT_THAT(MessageTexts(), ElementsAre("x", "y", "z"));
}

}  // namespace
}  // namespace holdfast::test

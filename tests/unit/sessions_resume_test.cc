// Resume: always-core-works, the recovery report, and what comes inline.
#include "session/limits.h"
#include "tests/unit/sessions_world.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>

namespace holdfast::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> TextsOf(const ResumeResult& resumed) {
  std::vector<std::string> texts;
  for (const Message& message : resumed.messages) texts.push_back(message.data.str());
  return texts;
}

JournalEntry Tool(uint64_t number, JournalKind kind, const std::string& ref) {
  return {.turn = TurnNumber(1), .number = EntryNumber(number), .kind = kind, .ref = ref};
}

TEST(SessionsResume, AnothersLiveLeaseIsHeldUnlessForced) {
  World world;
  world.Create();
  ResumeCommand command = world.ToResume();
  const auto held = world.other().Resume(world.caller(), command);
  EXPECT_EQ(ReasonIn(held), "LEASE_HELD");
  EXPECT_EQ(FactIn(held.status(), "holder"), "ada");
  // The same request id, after the time that the refusal names.
  world.LetLeaseExpire();
  const auto resumed = world.other().Resume(world.caller(), command);
  ASSERT_EQ(ReasonIn(resumed), "OK");
  EXPECT_EQ(resumed->report.previous_holder, "ada");
  const auto forced = world.sessions().Resume(world.caller(), world.ToForce());
  ASSERT_EQ(ReasonIn(forced), "OK");
  EXPECT_EQ(forced->report.previous_holder, "bob");
  EXPECT_EQ(forced->result.receipt.epoch, Epoch(3));
}

TEST(SessionsResume, WithTheCurrentTokenNothingIsWritten) {
  World world;
  world.Create();
  world.RunTurn();
  const Head before = world.Stored();
  world.LetLeaseExpire();
  for (Sessions* server : {&world.sessions(), &world.other()}) {
    ResumeCommand command = world.ToResume();
    command.token = world.token();
    const auto resumed = server->Resume(world.caller(), command);
    ASSERT_EQ(ReasonIn(resumed), "OK");
    EXPECT_EQ(resumed->token, world.token().ToText());
    EXPECT_EQ(resumed->result.receipt.epoch, Epoch(1));
  }
  const Head after = world.Stored();
  EXPECT_EQ(after.revision, before.revision);
  EXPECT_EQ(after.lifecycle, Lifecycle::kPersisted);
  EXPECT_EQ(after.last_event, before.last_event);
  EXPECT_EQ(after.last_audit, before.last_audit);
  // It is a sign of life.
  EXPECT_EQ(after.lease.state, LeaseState::kLive);
}

TEST(SessionsResume, AnOldTokenResumesLikeAStranger) {
  World world;
  world.Create();
  ResumeCommand command = world.ToResume();
  command.token = world.token();
  world.TakeOver();
  EXPECT_EQ(ReasonIn(world.sessions().Resume(world.caller(), command)), "LEASE_HELD");
  world.LetLeaseExpire();
  const auto resumed = world.sessions().Resume(world.caller(), command);
  ASSERT_EQ(ReasonIn(resumed), "OK");
  EXPECT_EQ(resumed->result.receipt.epoch, Epoch(3));
}

TEST(SessionsResume, AnotherStoreOrALaterStateIsRefusedAndChangesNothing) {
  World world;
  world.Create();
  ResumeCommand command = world.ToForce();
  command.expected_store = *StoreId::Parse("00000000-0000-4000-8000-000000000000");
  command.known_revision = Revision(9);
  EXPECT_EQ(ReasonIn(world.sessions().Resume(world.caller(), command)), "RESUME_MISMATCH");
  command.expected_store.reset();
  EXPECT_EQ(ReasonIn(world.sessions().Resume(world.caller(), command)), "REVISION_AHEAD");
  EXPECT_EQ(world.Stored().lifecycle, Lifecycle::kIdle);
  EXPECT_EQ(world.Stored().lease.epoch, Epoch(1));
}

TEST(SessionsResume, CreatesWhatIsMissingIfAsked) {
  World world;
  ResumeCommand command = world.ToResume();
  EXPECT_EQ(ReasonIn(world.sessions().Resume(world.caller(), command)), "SESSION_NOT_FOUND");
  command.create_if_missing = world.ToCreate();
  command.create_if_missing->messages = {Said("zero")};
  command.tail_messages = 1;
  const auto created = world.sessions().Resume(world.caller(), command);
  ASSERT_EQ(ReasonIn(created), "OK");
  EXPECT_TRUE(created->result.receipt.created);
  EXPECT_FALSE(created->token.empty());
  EXPECT_EQ(world.Stored().lease.holder, "bob");
  EXPECT_THAT(TextsOf(*created), ElementsAre("zero"));
  const auto again = world.other().Resume(world.caller(), command);
  ASSERT_EQ(ReasonIn(again), "OK");
  EXPECT_TRUE(again->result.repeated);
  EXPECT_EQ(again->token, created->token);
}

TEST(SessionsResume, ACreationThatLostItsRaceResumes) {
  World world;
  ResumeCommand command = world.ToForce();
  command.create_if_missing = world.ToCreate();
  const auto held = world.store().Hold(FaultyCall::kCommit);
  absl::StatusOr<ResumeResult> resumed = absl::UnknownError("not yet");
  {
    std::jthread late([&] { resumed = world.other().Resume(world.caller(), command); });
    held->WaitUntilReached();
    world.Create();
    held->Open();
  }
  ASSERT_EQ(ReasonIn(resumed), "OK");
  EXPECT_FALSE(resumed->result.receipt.created);
  EXPECT_EQ(resumed->result.receipt.epoch, Epoch(2));
}

TEST(SessionsResume, TheReportSaysWhatWasLostAndWhatIsOpen) {
  World world;
  world.Create();
  const TurnNumber turn = world.Begin();
  world.Append(
      turn,
      {Tool(1, JournalKind::kToolIntent, "read-1"), Tool(2, JournalKind::kToolIntent, "write-1"),
       Tool(3, JournalKind::kToolOutcome, "read-1"), Tool(4, JournalKind::kToolIntent, "write-2")});
  world.LetLeaseExpire();
  const auto resumed = world.other().Resume(world.caller(), world.ToResume());
  ASSERT_EQ(ReasonIn(resumed), "OK");
  const RecoveryReport& report = resumed->report;
  EXPECT_EQ(report.abandoned_turn, turn);
  EXPECT_EQ(report.entries_after_snapshot, 4U);
  EXPECT_EQ(report.restored, Revision(2));
  EXPECT_EQ(report.snapshot, Revision(1));
  EXPECT_THAT(report.open_tool_uses, ElementsAre("write-1", "write-2"));
  EXPECT_EQ(report.previous_holder, "ada");
  EXPECT_EQ(report.last_committed_request, std::nullopt);
  EXPECT_THAT(world.EventNames(),
              ElementsAre("SessionStarted", "SessionTurnStart", "SessionTurnEnd",
                          "SessionResumeStarted", "SessionLeaseChanged"));
}

TEST(SessionsResume, ReadsABoundedPartOfTheAbandonedTurnAndSaysSo) {
  World world;
  world.Create();
  const TurnNumber turn = world.Begin();
  // Intents and no outcome, more than are read; the last of all has ended.
  constexpr uint64_t kAtOnce = 1024;
  constexpr uint64_t kEntries = kResumeJournalEntries + kAtOnce;
  for (uint64_t first = 1; first <= kEntries; first += kAtOnce) {
    std::vector<JournalEntry> entries;
    for (uint64_t i = first; i < first + kAtOnce; ++i) {
      const bool last = i == kEntries;
      entries.push_back(Tool(i, last ? JournalKind::kToolOutcome : JournalKind::kToolIntent,
                             "use-" + std::to_string(last ? i - 1 : i)));
    }
    world.Append(turn, std::move(entries));
  }
  world.LetLeaseExpire();
  const int reads = world.store().Calls(FaultyCall::kRead);
  const auto resumed = world.other().Resume(world.caller(), world.ToResume());
  ASSERT_EQ(ReasonIn(resumed), "OK");
  EXPECT_LE(world.store().Calls(FaultyCall::kRead) - reads, 8);
  const std::vector<std::string>& open = resumed->report.open_tool_uses;
  ASSERT_EQ(open.size(), kOpenToolUsesShown);
  EXPECT_EQ(open.back(), "use-" + std::to_string(kEntries - 2));
  EXPECT_EQ(open.front(), "use-" + std::to_string(kEntries - 1 - kOpenToolUsesShown));
  EXPECT_TRUE(resumed->report.open_tool_uses_truncated);
  EXPECT_EQ(resumed->report.entries_after_snapshot, kEntries);
}

TEST(SessionsResume, NamesNoToolUseWhoseOutcomeWasNotRead) {
  World world;
  world.Create();
  const TurnNumber turn = world.Begin();
  constexpr uint64_t kUses = 200;
  // The journal is larger than what is read, and every use but the very first has ended.
  for (uint64_t i = 0; i < kUses; ++i) {
    JournalEntry intent = Tool(2 * i + 1, JournalKind::kToolIntent, std::to_string(i));
    intent.data = std::string(kMiB / 32, 'x');
    JournalEntry outcome = Tool(2 * i + 2, JournalKind::kToolOutcome, std::to_string(i));
    if (i == 0) outcome.kind = JournalKind::kNote;
    world.Append(turn, {intent, outcome});
  }
  world.LetLeaseExpire();
  const auto resumed = world.other().Resume(world.caller(), world.ToResume());
  ASSERT_EQ(ReasonIn(resumed), "OK");
  EXPECT_THAT(resumed->report.open_tool_uses, IsEmpty());
  EXPECT_TRUE(resumed->report.open_tool_uses_truncated) << "the first one is open";
}

TEST(SessionsResume, NamesOpenToolUsesAmongLargeEntriesWhenNotAllCanBeRead) {
  World world;
  world.Create();
  const TurnNumber turn = world.Begin();
  // A first block of them holds more bytes than are read.
  constexpr uint64_t kEntries = 64;
  constexpr size_t kData = 100 * kKiB;
  for (uint64_t i = 1; i <= kEntries; ++i) {
    JournalEntry entry = Tool(i, JournalKind::kToolIntent, "use-" + std::to_string(i));
    if (i == kEntries) entry = Tool(i, JournalKind::kToolOutcome, "use-" + std::to_string(i - 1));
    entry.data = std::string(kData, 'x');
    world.Append(turn, {entry});
  }
  world.LetLeaseExpire();
  const int reads = world.store().Calls(FaultyCall::kRead);
  const auto resumed = world.other().Resume(world.caller(), world.ToResume());
  ASSERT_EQ(ReasonIn(resumed), "OK");
  const std::vector<std::string>& open = resumed->report.open_tool_uses;
  ASSERT_GE(open.size(), kResumeJournalBytes / kData * 3 / 4);
  EXPECT_EQ(open.back(), "use-" + std::to_string(kEntries - 2));
  EXPECT_TRUE(resumed->report.open_tool_uses_truncated);
  EXPECT_LE(world.store().Calls(FaultyCall::kRead) - reads, 12);
}

TEST(SessionsResume, AListThatIsWholeIsNotCalledCut) {
  World world;
  world.Create();
  world.Append(TurnNumber(), {{.number = EntryNumber(1), .kind = JournalKind::kNote}});
  const TurnNumber turn = world.Begin();
  std::vector<JournalEntry> entries;
  for (uint64_t i = 1; i <= kOpenToolUsesShown; ++i) {
    entries.push_back(Tool(i, JournalKind::kToolIntent, std::to_string(i)));
  }
  world.Append(turn, entries);
  world.LetLeaseExpire();
  const auto resumed = world.other().Resume(world.caller(), world.ToResume());
  ASSERT_EQ(ReasonIn(resumed), "OK");
  EXPECT_EQ(resumed->report.open_tool_uses.size(), kOpenToolUsesShown);
  EXPECT_FALSE(resumed->report.open_tool_uses_truncated);
  // Without entries there is nothing that could be left out.
  world.TakeOver();
  world.Begin();
  const ResumeResult empty = world.TakeOver();
  EXPECT_THAT(empty.report.open_tool_uses, IsEmpty());
  EXPECT_FALSE(empty.report.open_tool_uses_truncated);
}

TEST(SessionsResume, TheReportNamesTheLastRequestThatCommitted) {
  World world;
  world.Create();
  const CommitTurnCommand commit = world.ToCommit(world.Begin());
  ASSERT_EQ(ReasonIn(world.sessions().CommitTurn(world.caller(), commit)), "OK");
  const ResumeResult resumed = world.TakeOver();
  EXPECT_EQ(resumed.report.last_committed_request, commit.request);
  EXPECT_EQ(resumed.report.snapshot, Revision(3));
  EXPECT_EQ(resumed.report.abandoned_turn, TurnNumber());
  EXPECT_THAT(resumed.report.open_tool_uses, IsEmpty());
}

TEST(SessionsResume, EverySlotThatDriftedIsReportedAndNoneBlocks) {
  World world;
  CreateCommand create = world.ToCreate();
  create.slots = {SlotOf("same", "s"), SlotOf("old", "o", "0.9.0"), SlotOf("bad", "b", "0.9.0"),
                  SlotOf("loud", "l", "0.9.0")};
  ASSERT_EQ(ReasonIn(world.sessions().Create(world.caller(), create)), "OK");
  ResumeCommand command = world.ToForce();
  command.expected_slots = {
      {.owner = "same", .version = "1.0.0", .policy = DriftPolicy::kReject},
      {.owner = "old", .version = "1.0.0", .policy = DriftPolicy::kMigrate},
      {.owner = "bad", .version = "1.0.0", .policy = DriftPolicy::kReject},
      {.owner = "loud", .version = "1.0.0", .policy = DriftPolicy::kWarn},
      {.owner = "gone", .version = "1.0.0", .policy = DriftPolicy::kReject},
  };
  const auto resumed = world.sessions().Resume(world.caller(), command);
  ASSERT_EQ(ReasonIn(resumed), "OK");
  using Status = SlotReport::Status;
  std::vector<Status> statuses;
  for (const SlotReport& report : resumed->report.slots) statuses.push_back(report.status);
  EXPECT_THAT(statuses, ElementsAre(Status::kMatch, Status::kMigrate, Status::kReject,
                                    Status::kWarn, Status::kAbsent));
  EXPECT_EQ(resumed->report.slots[1].stored_version, "0.9.0");
  EXPECT_EQ(resumed->report.slots[1].expected_version, "1.0.0");
  std::vector<std::string> inlined;
  for (const Slot& slot : resumed->slots) inlined.push_back(slot.owner);
  EXPECT_THAT(inlined, ::testing::UnorderedElementsAre("same", "old", "loud"));
}

TEST(SessionsResume, TheNewestMessagesComeInlineAsFarAsTheyFit) {
  World world;
  world.Create();
  world.RunTurn({Said("one"), Said("two"), Said("three")});
  ResumeCommand command = world.ToForce();
  command.tail_messages = 2;
  const auto tail = world.sessions().Resume(world.caller(), command);
  ASSERT_EQ(ReasonIn(tail), "OK");
  EXPECT_THAT(TextsOf(*tail), ElementsAre("two", "three"));
  EXPECT_FALSE(tail->inline_omitted);
  command = world.ToForce();
  command.tail_messages = 100;
  const auto all = world.sessions().Resume(world.caller(), command);
  ASSERT_EQ(ReasonIn(all), "OK");
  EXPECT_EQ(all->messages.size(), 3U);
  EXPECT_FALSE(all->inline_omitted);
}

TEST(SessionsResume, WhatDoesNotFitIsLeftOutAndSaidSo) {
  World world;
  world.Create();
  world.TakeOver();
  world.RunTurn({Said(std::string(kInlineBytes / 2, 'a')), Said(std::string(kInlineBytes, 'b'))});
  ResumeCommand command = world.ToForce();
  command.tail_messages = 2;
  const auto resumed = world.sessions().Resume(world.caller(), command);
  ASSERT_EQ(ReasonIn(resumed), "OK");
  EXPECT_EQ(resumed->messages.size(), 1U);
  EXPECT_TRUE(resumed->inline_omitted);
}

TEST(SessionsResume, SlotsThatAreTooLargeTogetherAreReportedAndLeftOut) {
  World world;
  world.Create();
  world.TakeOver();
  ResumeCommand command = world.ToForce();
  const std::string large(kChangeBytes - kKiB, 'x');
  for (size_t bytes = 0; bytes <= kReadAtOnceBytes; bytes += large.size()) {
    const std::string owner = "owner" + std::to_string(bytes);
    CommitTurnCommand commit = world.ToCommit(world.Begin());
    commit.slots = {SlotOf(owner, large)};
    ASSERT_EQ(ReasonIn(world.sessions().CommitTurn(world.caller(), commit)), "OK");
    command.expected_slots.push_back({.owner = owner, .version = "2.0.0"});
  }
  const auto resumed = world.sessions().Resume(world.caller(), command);
  ASSERT_EQ(ReasonIn(resumed), "OK");
  EXPECT_TRUE(resumed->inline_omitted);
  EXPECT_EQ(resumed->report.slots.size(), command.expected_slots.size());
  EXPECT_TRUE(resumed->slots.empty());
}

TEST(SessionsResume, NothingThatCannotBeReadBlocksIt) {
  World world;
  CreateCommand create = world.ToCreate();
  create.sm = StateMachineRef{.ext_id = "planner", .slot_ref = "slot"};
  create.messages = {Said("zero")};
  ASSERT_EQ(ReasonIn(world.sessions().Create(world.caller(), create)), "OK");
  ResumeCommand command = world.ToForce();
  command.tail_messages = 1;
  // The slots' read fails, and then the messages'.
  world.store().Fail(FaultyCall::kRead, 1);
  world.store().Fail(FaultyCall::kRead, 2);
  const auto resumed = world.sessions().Resume(world.caller(), command);
  ASSERT_EQ(ReasonIn(resumed), "OK");
  EXPECT_TRUE(resumed->inline_omitted);
  EXPECT_FALSE(resumed->token.empty());
}

TEST(SessionsResume, TheStateMachinesSlotComesWithTheFirstTurnOfTheEpochOnce) {
  World world;
  CreateCommand create = world.ToCreate();
  create.sm = StateMachineRef{.ext_id = "planner", .slot_ref = "slot"};
  create.slots = {SlotOf("planner", "state")};
  ASSERT_EQ(ReasonIn(world.sessions().Create(world.caller(), create)), "OK");
  world.TakeOver();
  const BeginTurnCommand begin = world.ToBegin();
  const auto first = world.sessions().BeginTurn(world.caller(), begin);
  ASSERT_EQ(ReasonIn(first), "OK");
  ASSERT_TRUE(first->sm_slot.has_value());
  EXPECT_EQ(first->sm_slot->data, "state");
  EXPECT_EQ(world.EventNames().at(3), "SessionResumed");
  const auto again = world.sessions().BeginTurn(world.caller(), begin);
  ASSERT_EQ(ReasonIn(again), "OK");
  EXPECT_FALSE(again->sm_slot.has_value());
  EXPECT_TRUE(again->inline_omitted);
  world.Commit(first->result.receipt.turn);
  const auto next = world.sessions().BeginTurn(world.caller(), world.ToBegin());
  ASSERT_EQ(ReasonIn(next), "OK");
  EXPECT_FALSE(next->sm_slot.has_value());
  EXPECT_FALSE(next->inline_omitted);
}

TEST(SessionsResume, AMissingSlotOfTheStateMachineIsNoObstacle) {
  World world;
  CreateCommand create = world.ToCreate();
  create.sm = StateMachineRef{.ext_id = "planner", .slot_ref = "slot"};
  ASSERT_EQ(ReasonIn(world.sessions().Create(world.caller(), create)), "OK");
  world.TakeOver();
  const auto begun = world.sessions().BeginTurn(world.caller(), world.ToBegin());
  ASSERT_EQ(ReasonIn(begun), "OK");
  EXPECT_FALSE(begun->sm_slot.has_value());
}

TEST(SessionsResume, ReadSlotsGuardsOwnersAndVersions) {
  World world;
  CreateCommand create = world.ToCreate();
  create.slots = {SlotOf("mine", "m"), SlotOf("yours", "y", "2.0.0")};
  ASSERT_EQ(ReasonIn(world.sessions().Create(world.caller(), create)), "OK");
  Sessions& sessions = world.sessions();
  const auto read = [&](const SlotQuery& query, const std::string& acting,
                        const std::vector<ExpectedSlot>& expected) {
    return sessions.ReadSlots(world.caller(), world.id(), query, acting, expected);
  };
  const auto all = read({}, "", {});
  ASSERT_EQ(ReasonIn(all), "OK");
  EXPECT_EQ(all->page.slots.size(), 3U);
  const auto own = read({}, "mine", {});
  ASSERT_EQ(ReasonIn(own), "OK");
  ASSERT_EQ(own->page.slots.size(), 1U);
  EXPECT_EQ(own->page.slots[0].slot.owner, "mine");
  const auto denied = read({.owners = {"yours"}}, "mine", {});
  EXPECT_EQ(ReasonIn(denied), "SLOT_ACCESS_DENIED");
  EXPECT_EQ(FactIn(denied.status(), "owner"), "yours");
  const std::vector<ExpectedSlot> expected = {
      {.owner = "yours", .version = "1.0.0", .policy = DriftPolicy::kReject}};
  const auto rejected = read({.owners = {"yours"}}, "", expected);
  EXPECT_EQ(ReasonIn(rejected), "SLOT_DRIFT_REJECTED");
  EXPECT_EQ(FactIn(rejected.status(), "stored_version"), "2.0.0");
  // In a read of several slots a rejected one is reported without its bytes, and the others are
  // read.
  const auto some = read({}, "", expected);
  ASSERT_EQ(ReasonIn(some), "OK");
  EXPECT_EQ(some->page.slots.size(), 3U);
  EXPECT_EQ(some->page.slots[2].slot.data, "");
  EXPECT_EQ(some->page.slots[1].slot.data, "m");
}

}  // namespace
}  // namespace holdfast::test

// What a session may hold at most, and the audit record of slot updates between turns.
#include "session/audit.h"
#include "session/limits.h"
#include "session/names.h"
#include "tests/contract/suite.h"

#include "absl/strings/str_cat.h"

namespace holdfast::test {
namespace {

using ::testing::SizeIs;

// Attributes with these numbers and values of so many bytes each.
AttributePatch NumberedAttributes(size_t first, size_t last, size_t bytes = 0) {
  AttributePatch patch;
  for (size_t i = first; i < last; ++i) patch[absl::StrCat("key-", i)] = std::string(bytes, 'x');
  return patch;
}

std::vector<Slot> NumberedSlots(size_t first, size_t last) {
  std::vector<Slot> slots;
  for (size_t i = first; i < last; ++i) slots.push_back(MakeSlot(absl::StrCat("owner-", i), "s"));
  return slots;
}

std::vector<std::string> FactsOf(const absl::Status& refusal) {
  return {ReasonIn(refusal), FactIn(refusal, "field"), FactIn(refusal, "limit"),
          FactIn(refusal, "got")};
}

std::vector<std::string> TooMany(const char* field, size_t limit, size_t got) {
  return {"TOO_LARGE", field, absl::StrCat(limit), absl::StrCat(got)};
}

// Changes that write slots 0 to `count`, each as many as one may.
std::vector<Change> Filling(Changes& changes, const LeaseToken& token, size_t count) {
  std::vector<Change> all;
  for (size_t first = 0; first < count; first += kSlotsPerChange) {
    all.push_back(changes.Write(token));
    all.back().slots = NumberedSlots(first, first + kSlotsPerChange);
  }
  return all;
}

TEST_P(Contract, C198_AttributesAreBoundedInNumberOnTheResult) {
  Create();
  Apply(changes().Update(NumberedAttributes(0, kAttributesPerSession / 2)));
  Apply(changes().Update(NumberedAttributes(kAttributesPerSession / 2, kAttributesPerSession)));
  const std::string before = Picture();
  const auto refused = store().Commit(changes().Update({{"another", ""}}));
  EXPECT_EQ(FactsOf(RefusalIn(refused)),
            TooMany("attributes", kAttributesPerSession, kAttributesPerSession + 1));
  EXPECT_EQ(Picture(), before);
  Changes beta(Key("beta"), random());
  Change create = beta.Create();
  create.attributes = NumberedAttributes(0, kAttributesPerSession + 1);
  EXPECT_EQ(ReasonIn(store().Commit(create)), "TOO_LARGE");
  EXPECT_EQ(ReasonIn(store().LoadForDecision(beta.key(), std::nullopt)), "SESSION_NOT_FOUND");
}

TEST_P(Contract, C199_AttributesAreBoundedInBytesOnTheResult) {
  Create();
  constexpr size_t kEach = kAttributeValueBytes;
  // Their keys leave no room for the last one.
  constexpr size_t kFitting = kAttributeBytesPerSession / kEach - 1;
  for (size_t i = 0; i < kFitting; ++i)
    Apply(changes().Update(NumberedAttributes(i, i + 1, kEach)));
  const std::string before = Picture();
  const auto refused =
      store().Commit(changes().Update(NumberedAttributes(kFitting, kFitting + 1, kEach)));
  ASSERT_EQ(ReasonIn(refused), "TOO_LARGE");
  EXPECT_EQ(FactIn(RefusalIn(refused), "field"), "attributes");
  EXPECT_EQ(FactIn(RefusalIn(refused), "limit"), absl::StrCat(kAttributeBytesPerSession));
  EXPECT_EQ(Picture(), before);
}

TEST_P(Contract, C200_SlotsAreBoundedOnTheResult) {
  Create();
  for (const Change& fill : Filling(changes(), token(), kSlotsPerSession)) Apply(fill);
  EXPECT_THAT(Slots({.most_bytes = 0}), SizeIs(kSlotsPerSession + 1));
  Change write = changes().Write(token());
  write.slots = {MakeSlot("owner-0", "again"), MakeSlot("another", "s")};
  const Revision before = LoadHead().revision;
  const auto expected = TooMany("slots", kSlotsPerSession, kSlotsPerSession + 1);
  EXPECT_EQ(FactsOf(RefusalIn(store().Commit(write))), expected);
  EXPECT_EQ(LoadHead().revision, before);
  EXPECT_EQ(SlotData("owner-0"), "s");
  Reopen();
  write.request = Stamp(random(), Method::kWrite);
  EXPECT_EQ(FactsOf(RefusalIn(store().Commit(write))), expected);
  // What is deleted makes room, in the same change too.
  write.request = Stamp(random(), Method::kWrite);
  write.deleted_slots = {"owner-1"};
  Apply(write);
  EXPECT_EQ(SlotData("another"), "s");
}

TEST_P(Contract, C201_SlotUpdatesAreBoundedOnTheResult) {
  Create();
  for (const Change& fill : Filling(changes(), token(), kSlotsPerSession)) Apply(fill);
  const auto expected = TooMany("slots", kSlotsPerSession, kSlotsPerSession + 1);
  const auto refused = store().Commit(changes().Append(
      token(), TurnNumber(), {SlotUpdate(TurnNumber(), 1, MakeSlot("between", "s"))}));
  EXPECT_EQ(FactsOf(RefusalIn(refused)), expected);
  Append(TurnNumber(), {SlotUpdate(TurnNumber(), 1, MakeSlot("owner-0", "between"))});

  const TurnNumber turn = Begin();
  Append(turn, {SlotUpdate(turn, 1, MakeSlot("of the turn", "s")),
                SlotUpdate(turn, 2, MakeSlot("owner-1", "of the turn"))});
  EXPECT_EQ(FactsOf(RefusalIn(store().Commit(changes().CommitTurn(token(), turn)))), expected);
  Change commit = changes().CommitTurn(token(), turn);
  commit.deleted_slots = {"owner-2"};
  Apply(commit);
  EXPECT_EQ(SlotData("owner-0"), "between");
  EXPECT_EQ(SlotData("owner-1"), "of the turn");
  EXPECT_EQ(SlotData("of the turn"), "s");
}

TEST_P(Contract, C202_WhatLeavesNoMoreThanThereWasIsNeverRefusedForIt) {
  Create();
  Apply(changes().Update(NumberedAttributes(0, kAttributesPerSession)));
  Apply(changes().Update({{"key-0", "another value"}}));
  Apply(changes().Update({{"key-1", std::nullopt}, {"instead", ""}}));
  RunTurn();
  TakeOver();
  Apply(changes().Update({{"key-0", std::nullopt}}));
  Apply(changes().Update({{"key-0", "back"}}));
  Apply(changes().Close(token()));
  EXPECT_THAT(LoadHead().attributes, SizeIs(kAttributesPerSession));
}

TEST_P(Contract, C203_SlotUpdatesBetweenTurnsLeaveAnAuditRecord) {
  Create();
  RunTurn();
  const Head before = LoadHead();
  const size_t records = Audit().size();
  Append(TurnNumber(),
         {SlotUpdate(TurnNumber(), 1, MakeSlot("memory", "a", "2.1.0")),
          Note(TurnNumber(), 2, "no slot"), SlotUpdate(TurnNumber(), 3, MakeSlot("planner", "p"))});
  Reopen();
  const std::vector<AuditRecord> audit = Audit();
  ASSERT_THAT(audit, SizeIs(records + 1));
  const AuditRecord& record = audit.back();
  EXPECT_EQ(record.audit_class, kLifecycleClass);
  EXPECT_EQ(record.code, "slots");
  using Map = std::map<std::string, std::string>;
  EXPECT_EQ(record.data, (Map{{"first_entry", "1"},
                              {"last_entry", "3"},
                              {"slot.memory", "2.1.0"},
                              {"slot.planner", "1.0.0"},
                              {"updates", "2"}}));
  EXPECT_EQ(record.revision, before.revision);
  EXPECT_EQ(record.epoch, before.lease.epoch);
  EXPECT_EQ(record.previous, before.audit_chain);
  EXPECT_EQ(record.hash, AuditHash(record));
  EXPECT_EQ(LoadHead().audit_chain, record.hash);
  // What applies with its turn is covered by the turn's own record.
  const TurnNumber turn = Begin();
  const size_t begun = Audit().size();
  Append(turn, {SlotUpdate(turn, 1, MakeSlot("memory", "b"))});
  EXPECT_THAT(Audit(), SizeIs(begun));
}

TEST_P(Contract, C204_SlotUpdatesThatAreThereAlreadyLeaveNoRecord) {
  Create();
  const JournalEntry first = SlotUpdate(TurnNumber(), 1, MakeSlot("memory", "a"));
  const JournalEntry second = SlotUpdate(TurnNumber(), 2, MakeSlot("memory", "b"));
  Append(TurnNumber(), {first});
  const size_t records = Audit().size();
  Append(TurnNumber(), {first});
  EXPECT_THAT(Audit(), SizeIs(records));
  EXPECT_EQ(LoadHead().last_audit, AuditSeq(records));
  Append(TurnNumber(), {first, second});
  ASSERT_THAT(Audit(), SizeIs(records + 1));
  EXPECT_EQ(Audit().back().data.at("first_entry"), "2");
  EXPECT_EQ(Audit().back().data.at("updates"), "1");
}

}  // namespace
}  // namespace holdfast::test

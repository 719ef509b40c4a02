// Bad input gets a refusal that names the field; what is just within a bound is taken.
#include "session/validate.h"

#include "session/limits.h"
#include "tests/unit/sessions_world.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace holdfast::test {
namespace {

template <typename Command>
struct InvalidCase {
  const char* reason;
  const char* field;
  std::function<void(Command&)> invalidate;
};

template <typename Command>
void ExpectRefusals(const Command& good, const std::vector<InvalidCase<Command>>& table) {
  EXPECT_EQ(ReasonIn(Validate(good)), "OK");
  for (const InvalidCase<Command>& row : table) {
    Command command = good;
    row.invalidate(command);
    const absl::Status status = Validate(command);
    EXPECT_EQ(ReasonIn(status), row.reason) << row.field;
    EXPECT_EQ(FactIn(status, "field"), row.field);
  }
}

std::string Long(size_t limit) { return std::string(limit + 1, 'x'); }

TEST(Validate, Create) {
  World world;
  CreateCommand good = world.ToCreate();
  good.holder = std::string(kHolderBytes, 'x');
  good.slots = {SlotOf("memory", "m", "10.0.1")};
  good.messages = {Said("")};
  good.attributes = {{"title", std::string(kAttributeValueBytes, 'x')}};
  good.lease_ttl = kLeaseTtlLeast;
  using C = CreateCommand;
  ExpectRefusals<C>(
      good, {{"INVALID_FIELD", "manifest.project_root", [](C& c) { c.project_root = ""; }},
             {"INVALID_FIELD", "manifest.project_root", [](C& c) { c.project_root = "relative"; }},
             {"INVALID_FIELD", "manifest.project_root", [](C& c) { c.project_root = "/a\nb"; }},
             {"TOO_LARGE", "manifest.project_root",
              [](C& c) { c.project_root = "/" + Long(kProjectRootBytes); }},
             {"INVALID_FIELD", "state_machine.extension_id",
              [](C& c) { c.sm = StateMachineRef{.ext_id = " ", .slot_ref = "s"}; }},
             {"INVALID_FIELD", "state_machine.slot_ref",
              [](C& c) { c.sm = StateMachineRef{.ext_id = "e", .slot_ref = ""}; }},
             {"TOO_LARGE", "holder", [](C& c) { c.holder = Long(kHolderBytes); }},
             {"INVALID_FIELD", "lease_ttl", [](C& c) { c.lease_ttl = absl::Seconds(4); }},
             {"INVALID_FIELD", "lease_ttl", [](C& c) { c.lease_ttl = absl::Seconds(3601); }},
             {"TOO_LARGE", "attributes",
              [](C& c) {
                for (size_t i = 0; i <= kAttributesPerSession; ++i)
                  c.attributes[std::to_string(i)] = "";
              }},
             {"TOO_LARGE", "attributes.title",
              [](C& c) { c.attributes["title"] = Long(kAttributeValueBytes); }},
             {"TOO_LARGE", "messages", [](C& c) { c.messages.resize(kMessagesPerChange + 1); }},
             {"TOO_LARGE", "messages[0].role", [](C& c) { c.messages[0].role = Long(kRoleBytes); }},
             {"TOO_LARGE", "messages[0].content_type",
              [](C& c) { c.messages[0].content_type = Long(kContentTypeBytes); }},
             {"TOO_LARGE", "request", [](C& c) { c.messages[0].data = Long(kChangeBytes); }},
             {"INVALID_FIELD", "slots[0].owner", [](C& c) { c.slots[0].owner = ""; }},
             {"SLOT_VERSION_MISSING", "slots[0].version", [](C& c) { c.slots[0].version = ""; }},
             {"INVALID_FIELD", "slots[0].version", [](C& c) { c.slots[0].version = "1.0"; }},
             {"INVALID_FIELD", "slots[0].version", [](C& c) { c.slots[0].version = "1.02.3"; }},
             {"INVALID_FIELD", "slots[0].version", [](C& c) { c.slots[0].version = "1.2.3-rc"; }},
             {"INVALID_FIELD", "slots[1].owner", [](C& c) { c.slots.push_back(c.slots[0]); }},
             {"TOO_LARGE", "slots", [](C& c) { c.slots.resize(kSlotsPerChange + 1); }}});
}

TEST(Validate, RejectsWriteToSlotOfStoreOrOtherExtension) {
  World world;
  CreateCommand create = world.ToCreate();
  create.slots = {SlotOf(kStoreSlotOwner, "x")};
  EXPECT_EQ(ReasonIn(Validate(create)), "SLOT_ACCESS_DENIED");
  CommitTurnCommand commit = world.ToCommit(TurnNumber(1));
  commit.acting_owner = "mine";
  commit.slots = {SlotOf("mine", "x")};
  EXPECT_EQ(ReasonIn(Validate(commit)), "OK");
  commit.slots = {SlotOf("yours", "x")};
  EXPECT_EQ(ReasonIn(Validate(commit)), "SLOT_ACCESS_DENIED");
  EXPECT_EQ(FactIn(Validate(commit), "owner"), "yours");
  commit.slots.clear();
  commit.deleted_slots = {"yours"};
  EXPECT_EQ(ReasonIn(Validate(commit)), "SLOT_ACCESS_DENIED");
}

TEST(Validate, CommitTurn) {
  World world;
  using C = CommitTurnCommand;
  CommitTurnCommand good = world.ToCommit(TurnNumber(1));
  good.slots = {SlotOf("a", "x")};
  good.deleted_slots = {"b"};
  ExpectRefusals<C>(
      good, {{"INVALID_FIELD", "turn", [](C& c) { c.turn = TurnNumber(); }},
             {"INVALID_FIELD", "outcome", [](C& c) { c.outcome = TurnOutcome::kAbandoned; }},
             {"INVALID_FIELD", "deleted_slots[0]", [](C& c) { c.deleted_slots = {"a"}; }},
             {"INVALID_FIELD", "deleted_slots[0]", [](C& c) { c.deleted_slots = {" "}; }}});
}

TEST(Validate, AppendJournal) {
  World world;
  using C = AppendJournalCommand;
  ExpectRefusals<C>(
      world.ToAppend(TurnNumber(1), 1, 2),
      {{"INVALID_FIELD", "entries", [](C& c) { c.entries.clear(); }},
       {"TOO_LARGE", "entries", [](C& c) { c.entries.resize(kEntriesPerChange + 1); }},
       {"INVALID_FIELD", "entries[0].number", [](C& c) { c.entries[0].number = EntryNumber(); }},
       {"INVALID_FIELD", "entries[1].number", [](C& c) { c.entries[1].number = EntryNumber(3); }},
       {"INVALID_FIELD", "entries[1].turn", [](C& c) { c.entries[1].turn = TurnNumber(2); }},
       {"INVALID_FIELD", "entries[0].slot", [](C& c) { c.entries[0].slot = SlotOf("a", "x"); }},
       {"INVALID_FIELD", "entries[0].slot",
        [](C& c) { c.entries[0].kind = JournalKind::kSlotUpdate; }},
       {"INVALID_FIELD", "entries[0].data",
        [](C& c) {
          c.entries[0].kind = JournalKind::kSlotUpdate;
          c.entries[0].slot = SlotOf("a", "x");
        }},
       {"INVALID_FIELD", "entries[0].ref",
        [](C& c) { c.entries[0].kind = JournalKind::kToolIntent; }},
       {"TOO_LARGE", "entries[0].ref", [](C& c) { c.entries[0].ref = Long(kEntryRefBytes); }},
       {"TOO_LARGE", "request", [](C& c) { c.entries[0].data = Long(kChangeBytes); }}});
}

TEST(Validate, TheOthers) {
  World world;
  ExpectRefusals<ResumeCommand>(
      world.ToForce(),
      {{"INVALID_FIELD", "force.reason", [](ResumeCommand& c) { c.force_reason = " "; }},
       {"INVALID_FIELD", "lease_ttl",
        [](ResumeCommand& c) { c.lease_ttl = absl::InfiniteDuration(); }},
       {"TOO_LARGE", "tail_messages", [](ResumeCommand& c) { c.tail_messages = kPageMost + 1; }},
       {"INVALID_FIELD", "expected_slots[0].version",
        [](ResumeCommand& c) { c.expected_slots = {{.owner = "a", .version = "v1"}}; }},
       {"INVALID_FIELD", "expected_slots[0].owner",
        [](ResumeCommand& c) { c.expected_slots = {{.owner = "", .version = "1.0.0"}}; }}});
  ExpectRefusals<UpdateCommand>(
      world.ToUpdate("x"),
      {{"INVALID_FIELD", "update_mask", [](UpdateCommand& c) { c.attributes.clear(); }},
       {"INVALID_FIELD", "attributes",
        [](UpdateCommand& c) {
          c.attributes = {{"", "x"}};
        }},
       {"INVALID_FIELD", "expected_attributes",
        [](UpdateCommand& c) {
          c.expected = {{"", "x"}};
        }},
       {"TOO_LARGE", "expected_attributes.title",
        [](UpdateCommand& c) {
          c.expected = {{"title", std::string(kAttributeValueBytes + 1, 'x')}};
        }},
       {"TOO_LARGE", "expected_attributes", [](UpdateCommand& c) {
          for (size_t i = 0; i <= kAttributesPerSession; ++i) c.expected[std::to_string(i)] = "";
        }}});
  ExpectRefusals<AbandonTurnCommand>(
      world.ToAbandon(TurnNumber(1)),
      {{"INVALID_FIELD", "turn", [](AbandonTurnCommand& c) { c.turn = TurnNumber(); }},
       {"INVALID_FIELD", "outcome",
        [](AbandonTurnCommand& c) { c.outcome = TurnOutcome::kRecovered; }}});
  ExpectRefusals<CloseCommand>(
      world.ToClose(),
      {{"INVALID_FIELD", "reason", [](CloseCommand& c) { c.reason = CloseReason::kCrash; }},
       {"INVALID_FIELD", "reason", [](CloseCommand& c) { c.reason = CloseReason::kNone; }}});
}

}  // namespace
}  // namespace holdfast::test

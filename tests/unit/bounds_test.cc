// What a session may hold: growth beyond a bound alone is refused, and the largest session fits
// into any reply.
#include "session/bounds.h"

#include "holdfast/v1/session.pb.h"
#include "server/rpc/convert/session.h"
#include "session/codec/records.h"
#include "session/limits.h"
#include "session/refusal.h"
#include "tests/unit/sessions_world.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace holdfast::test {
namespace {

Head WithAttributes(size_t count, size_t bytes_each = 0) {
  Head head;
  for (size_t i = 0; i < count; ++i) {
    head.attributes["key-" + std::to_string(i)] = std::string(bytes_each, 'x');
  }
  return head;
}

std::string Classify(const Head& before, const Head& after) {
  const auto refusal = CheckAttributes(before, after);
  if (!refusal) return "OK";
  return ReasonIn(refusal->ToStatus()) + " " + refusal->facts().at("field") + " " +
         refusal->facts().at("limit") + " " + refusal->facts().at("got");
}

TEST(Bounds, RefuseGrowthOfAttributesAlone) {
  const Head full = WithAttributes(kAttributesPerSession);
  const Head over = WithAttributes(kAttributesPerSession + 36);
  EXPECT_EQ(Classify(Head(), full), "OK");
  EXPECT_EQ(Classify(full, WithAttributes(kAttributesPerSession + 1)),
            "TOO_LARGE attributes 64 65");
  // One that was written before there was a bound.
  EXPECT_EQ(Classify(over, over), "OK");
  EXPECT_EQ(Classify(over, WithAttributes(kAttributesPerSession + 35)), "OK");
  EXPECT_EQ(Classify(over, WithAttributes(kAttributesPerSession + 37)),
            "TOO_LARGE attributes 64 101");

  const Head wide = WithAttributes(20, kAttributeValueBytes);
  EXPECT_GT(AttributeBytes(wide), kAttributeBytesPerSession);
  EXPECT_EQ(Classify(wide, wide), "OK");
  EXPECT_EQ(Classify(wide, WithAttributes(19, kAttributeValueBytes)), "OK");
  EXPECT_EQ(Classify(Head(), WithAttributes(15, kAttributeValueBytes)), "OK");
  EXPECT_EQ(Classify(Head(), wide),
            "TOO_LARGE attributes 65536 " + std::to_string(AttributeBytes(wide)));
}

TEST(Bounds, RefuseGrowthOfSlotsAlone) {
  EXPECT_FALSE(CheckSlotCount(0, kSlotsPerSession));
  EXPECT_FALSE(CheckSlotCount(kSlotsPerSession + 9, kSlotsPerSession + 9));
  EXPECT_FALSE(CheckSlotCount(kSlotsPerSession + 9, kSlotsPerSession + 8));
  EXPECT_TRUE(CheckSlotCount(kSlotsPerSession, kSlotsPerSession + 1));
  EXPECT_TRUE(CheckSlotCount(kSlotsPerSession + 9, kSlotsPerSession + 10));
}

TEST(Bounds, SlotsAreCountedByOwner) {
  SlotOwners owners;
  owners.Add("memory");
  owners.Add(kStoreSlotOwner);
  EXPECT_EQ(owners.size(), 1U);
  Applied turn;
  turn.entries = {{.turn = TurnNumber(1), .slot = SlotOf("of the turn", "")}};
  owners.Take(turn);
  EXPECT_EQ(owners.size(), 1U);
  Applied dropped;
  dropped.dropped = TurnNumber(1);
  owners.Take(dropped);
  owners.Take(turn);
  Applied committed;
  committed.applied_turn = TurnNumber(1);
  committed.slots = {SlotOf(kStoreSlotOwner, ""), SlotOf("memory", "again"), SlotOf("new", "")};
  owners.Take(committed);
  EXPECT_EQ(owners.size(), 3U);
  Applied between;
  between.deleted_slots = {"memory", "never there"};
  between.entries = {{.slot = SlotOf("between", "")}};
  owners.Take(between);
  EXPECT_EQ(owners.size(), 3U);
}

TEST(Bounds, SlotsWhoseOwnersAreNotNamedCountToo) {
  SlotOwners owners(10);
  EXPECT_EQ(owners.size(), 10U);
  for (const char* owner : {"memory", "planner", kStoreSlotOwner}) owners.Name(owner);
  EXPECT_EQ(owners.size(), 10U);
  Applied change;
  change.deleted_slots = {"planner", "never there"};
  change.slots = {SlotOf("memory", "again"), SlotOf("new", "")};
  owners.Take(change);
  EXPECT_EQ(owners.size(), 10U);
}

// Every part of a head at its bound.
Head Largest() {
  constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
  Head head;
  head.store = *StoreId::Parse("11111111-1111-4111-8111-111111111111");
  head.uid = *SessionUid::Parse("33333333-3333-4333-8333-333333333333");
  head.lifecycle = Lifecycle::kActive;
  head.revision = Revision(kMost);
  head.lease = {.epoch = Epoch(kMost),
                .held = true,
                .holder = std::string(kHolderBytes, 'x'),
                .ttl = kLeaseTtlMost,
                .state = LeaseState::kLive,
                .expires_in = kLeaseTtlMost};
  head.grants.resize(kGrantsKept, {.epoch = Epoch(kMost), .at = absl::Now()});
  head.turn = TurnRecord{.number = TurnNumber(kMost),
                         .started_at = absl::Now(),
                         .last_entry = EntryNumber(kMost),
                         .journal_before = JournalNumber(kMost),
                         .trace = {.id = std::string(32, 'f'), .sampled = true},
                         .parent_span_id = std::string(16, 'f')};
  head.last_turn = TurnNumber(kMost);
  head.last_committed_request = *RequestId::Parse("33333333-3333-4333-8333-333333333333");
  head.ended.resize(kEndedTurnsKept, {.turn = TurnNumber(kMost),
                                      .last_entry = EntryNumber(kMost),
                                      .last_journal = JournalNumber(kMost)});
  head.project_root = std::string(kProjectRootBytes, 'x');
  head.sm = StateMachineRef{.ext_id = std::string(kSlotOwnerBytes, 'x'),
                            .slot_ref = std::string(kSlotOwnerBytes, 'x')};
  head.created_at = head.updated_at = absl::Now();
  head.messages = MessageSeq(kMost);
  head.snapshots.resize(kSnapshotsKeptMost,
                        {.at = {.revision = Revision(kMost), .journal = JournalNumber(kMost)},
                         .generation = Generation(kMost),
                         .messages = MessageSeq(kMost)});
  constexpr size_t kEach = kAttributeBytesPerSession / kAttributesPerSession;
  for (size_t i = 0; i < kAttributesPerSession; ++i) {
    const std::string key = std::to_string(i) + std::string(kAttributeKeyBytes - 2, 'k');
    head.attributes[key.substr(0, kAttributeKeyBytes)] =
        std::string(kEach - kAttributeKeyBytes, 'v');
  }
  for (size_t i = 0; i < kCancelRequestsPerSession; ++i) {
    head.cancel_requests.push_back({.scope = CancelScope::kTool,
                                    .turn = TurnNumber(kMost),
                                    .name = std::string(kCancelNameBytes, 'x'),
                                    .at = absl::Now()});
  }
  return head;
}

TEST(Bounds, TheLargestSessionFitsIntoAnyReply) {
  const Head head = Largest();
  EXPECT_EQ(Classify(Head(), head), "OK");
  pb::Session session;
  Write(*SessionId::Parse(std::string(kSessionIdBytes, 'x')), head, session);
  // Beside it a resume brings messages and slots of 1 MiB, and its report.
  EXPECT_LT(session.ByteSizeLong(), kUnaryRequestBytes / 16);
  EXPECT_LT(EncodeHead(head).size(), kUnaryRequestBytes / 16);
  EXPECT_TRUE(DecodeHead(EncodeHead(head)).has_value());
}

TEST(Bounds, AHeadWithMoreThanIsEverWrittenIsNotRead) {
  const auto refused = [](auto invalidate) {
    Head head = Largest();
    invalidate(head);
    return !DecodeHead(EncodeHead(head)).has_value();
  };
  EXPECT_TRUE(refused([](Head& head) { head.grants.push_back(head.grants.back()); }));
  EXPECT_TRUE(refused([](Head& head) { head.ended.push_back(head.ended.back()); }));
  EXPECT_TRUE(refused([](Head& head) { head.snapshots.push_back(head.snapshots.back()); }));
  EXPECT_TRUE(
      refused([](Head& head) { head.cancel_requests.push_back(head.cancel_requests.back()); }));
  // Attributes had no bound once.
  EXPECT_FALSE(refused([](Head& head) {
    for (int i = 0; i < 1000; ++i) head.attributes["more-" + std::to_string(i)] = "x";
  }));
}

}  // namespace
}  // namespace holdfast::test

// The table of session/lifecycle.h, written a second time: every state, every trigger.
#include "session/lifecycle.h"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>
#include <string_view>

namespace holdfast {
namespace {

struct ExpectedRow {
  Trigger trigger;
  std::string_view name;
  // From IDLE, ACTIVE, PERSISTED, RESUMED, CLOSED.
  std::array<std::string_view, kLifecycles> to;
};

constexpr std::array<ExpectedRow, kTriggers> kExpected = {{
    {Trigger::kBeginTurn, "BeginTurn", {"ACTIVE", "busy", "ACTIVE", "ACTIVE", "no"}},
    {Trigger::kCommitTurn, "CommitTurn", {"no", "PERSISTED", "no", "no", "no"}},
    {Trigger::kAbandonTurn, "AbandonTurn", {"no", "PERSISTED", "no", "no", "no"}},
    {Trigger::kAppendJournal,
     "AppendJournal",
     {"IDLE", "ACTIVE", "PERSISTED", "RESUMED", "CLOSED"}},
    {Trigger::kWrite, "Write", {"PERSISTED", "busy", "PERSISTED", "PERSISTED", "no"}},
    {Trigger::kResume, "Resume", {"RESUMED", "RESUMED", "RESUMED", "RESUMED", "RESUMED"}},
    {Trigger::kClose, "Close", {"CLOSED", "CLOSED", "CLOSED", "CLOSED", "CLOSED"}},
    {Trigger::kRecover, "Recover", {"no", "CLOSED", "no", "no", "no"}},
    {Trigger::kDelete, "Delete", {"IDLE", "ACTIVE", "PERSISTED", "RESUMED", "CLOSED"}},
    {Trigger::kUpdate, "Update", {"IDLE", "ACTIVE", "PERSISTED", "RESUMED", "CLOSED"}},
    {Trigger::kRenew, "Renew", {"IDLE", "ACTIVE", "PERSISTED", "RESUMED", "CLOSED"}},
    {Trigger::kRelease, "Release", {"IDLE", "ACTIVE", "PERSISTED", "RESUMED", "CLOSED"}},
    {Trigger::kCancel, "Cancel", {"IDLE", "ACTIVE", "PERSISTED", "RESUMED", "no"}},
    {Trigger::kEndCancelled, "EndCancelled", {"CLOSED", "PERSISTED", "CLOSED", "CLOSED", "no"}},
    {Trigger::kAppendAudit, "AppendAudit", {"IDLE", "ACTIVE", "PERSISTED", "RESUMED", "CLOSED"}},
    {Trigger::kPutItems, "PutItems", {"IDLE", "ACTIVE", "PERSISTED", "RESUMED", "CLOSED"}},
    {Trigger::kRestore, "Restore", {"PERSISTED", "busy", "PERSISTED", "PERSISTED", "no"}},
    {Trigger::kPutCheckpoint,
     "PutCheckpoint",
     {"IDLE", "ACTIVE", "PERSISTED", "RESUMED", "CLOSED"}},
    {Trigger::kDeleteCheckpoint,
     "DeleteCheckpoint",
     {"IDLE", "ACTIVE", "PERSISTED", "RESUMED", "CLOSED"}},
}};

std::string_view Said(Transition transition) {
  switch (transition.verdict) {
    case Verdict::kLegal:
      return Name(transition.to);
    case Verdict::kConcurrentTurn:
      return "busy";
    case Verdict::kIllegal:
      return "no";
  }
  return "?";
}

TEST(Lifecycle, EveryStateAndTrigger) {
  for (const ExpectedRow& row : kExpected) {
    EXPECT_EQ(Name(row.trigger), row.name);
    for (size_t from = 0; from < kLifecycles; ++from) {
      const auto state = static_cast<Lifecycle>(from);
      EXPECT_EQ(Said(Next(state, row.trigger)), row.to.at(from))
          << row.name << " from " << Name(state);
    }
  }
}

constexpr Condition kEnding = {.requested_end = RequestedEnd::kSession};
constexpr Condition kOpen = {.kind = SessionKind::kOpen};

TEST(Lifecycle, AnOpenSessionHasTheSameTableWithoutLeaseAndTurns) {
  const std::set<Trigger> of_leases = {
      Trigger::kBeginTurn, Trigger::kCommitTurn, Trigger::kAbandonTurn, Trigger::kAppendJournal,
      Trigger::kResume,    Trigger::kRecover,    Trigger::kRenew,       Trigger::kRelease};
  for (const ExpectedRow& row : kExpected) {
    for (size_t from = 0; from < kLifecycles; ++from) {
      const auto state = static_cast<Lifecycle>(from);
      EXPECT_EQ(Said(Next(state, row.trigger, kOpen)),
                of_leases.contains(row.trigger) ? "no" : row.to.at(from))
          << row.name << " from " << Name(state);
    }
  }
  EXPECT_EQ(LegalTriggers(Lifecycle::kClosed, kOpen),
            "Close,Delete,Update,AppendAudit,PutItems,PutCheckpoint,DeleteCheckpoint");
}

TEST(Lifecycle, ForbidsOnlyTheBeginningOfATurnUnderACancelRequest) {
  for (const ExpectedRow& row : kExpected) {
    for (size_t from = 0; from < kLifecycles; ++from) {
      const auto state = static_cast<Lifecycle>(from);
      EXPECT_EQ(Said(Next(state, row.trigger, Condition())), row.to.at(from));
      EXPECT_EQ(Said(Next(state, row.trigger, kEnding)),
                row.trigger == Trigger::kBeginTurn ? "no" : row.to.at(from))
          << row.name << " from " << Name(state);
    }
  }
  EXPECT_EQ(LegalTriggers(Lifecycle::kIdle, Condition()).find("BeginTurn,"), 0);
  EXPECT_EQ(LegalTriggers(Lifecycle::kIdle, kEnding).find("BeginTurn"), std::string::npos);
}

TEST(Lifecycle, SaysWhatIsLegal) {
  for (size_t from = 0; from < kLifecycles; ++from) {
    std::string expected;
    for (const ExpectedRow& row : kExpected) {
      if (row.to.at(from) == "no" || row.to.at(from) == "busy") continue;
      expected += (expected.empty() ? "" : ",") + std::string(row.name);
    }
    EXPECT_EQ(LegalTriggers(static_cast<Lifecycle>(from), Condition()), expected);
  }
}

}  // namespace
}  // namespace holdfast

#include "session/lifecycle.h"

namespace holdfast {
namespace {

constexpr bool Reachable(Lifecycle state) {
  if (state == Lifecycle::kIdle) return true;  // by Create
  for (const auto& row : internal::kTable) {
    for (size_t from = 0; from < kLifecycles; ++from) {
      if (row[from].verdict == Verdict::kLegal && row[from].to == state &&
          static_cast<Lifecycle>(from) != state) {
        return true;
      }
    }
  }
  return false;
}

constexpr bool AllReachable() {
  for (size_t state = 0; state < kLifecycles; ++state) {
    if (!Reachable(static_cast<Lifecycle>(state))) return false;
  }
  return true;
}

static_assert(AllReachable(), "a state that nothing leads to");
static_assert(Next(Lifecycle::kClosed, Trigger::kResume).to == Lifecycle::kResumed);
static_assert(Next(Lifecycle::kClosed, Trigger::kBeginTurn).verdict == Verdict::kIllegal);
static_assert(Next(Lifecycle::kActive, Trigger::kBeginTurn).verdict == Verdict::kConcurrentTurn);
static_assert(Next(Lifecycle::kClosed, Trigger::kCancel).verdict == Verdict::kIllegal);

}  // namespace

std::string_view Name(Lifecycle lifecycle) {
  static constexpr std::array<std::string_view, kLifecycles> kNames = {
      "IDLE", "ACTIVE", "PERSISTED", "RESUMED", "CLOSED"};
  return kNames.at(static_cast<size_t>(lifecycle));
}

std::string_view Name(Trigger trigger) {
  static constexpr std::array<std::string_view, kTriggers> kNames = {
      "BeginTurn", "CommitTurn", "AbandonTurn",   "AppendJournal",   "Write",
      "Resume",    "Close",      "Recover",       "Delete",          "Update",
      "Renew",     "Release",    "Cancel",        "EndCancelled",    "AppendAudit",
      "PutItems",  "Restore",    "PutCheckpoint", "DeleteCheckpoint"};
  return kNames.at(static_cast<size_t>(trigger));
}

std::string LegalTriggers(Lifecycle from, const Condition& condition) {
  std::string names;
  for (size_t index = 0; index < kTriggers; ++index) {
    const auto trigger = static_cast<Trigger>(index);
    if (Next(from, trigger, condition).verdict != Verdict::kLegal) continue;
    if (!names.empty()) names += ',';
    names += Name(trigger);
  }
  return names;
}

}  // namespace holdfast

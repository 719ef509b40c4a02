#include "session/names.h"

#include <array>
#include <cstddef>

namespace holdfast {
namespace {

template <typename E, size_t N>
std::string Pick(const std::array<const char*, N>& names, E value) {
  const auto index = static_cast<size_t>(value);
  return index < N ? names[index] : "";
}

}  // namespace

std::string Name(TurnOutcome outcome) {
  static constexpr std::array<const char*, 6> kNames = {"",          "ok",        "error",
                                                        "cancelled", "abandoned", "recovered"};
  return Pick(kNames, outcome);
}

std::string Name(TurnSource source) {
  static constexpr std::array<const char*, 6> kNames = {"",        "user",   "state_machine",
                                                        "fan_out", "system", "plan"};
  return Pick(kNames, source);
}

std::string Name(CloseReason reason) {
  static constexpr std::array<const char*, 7> kNames = {
      "", "explicit", "sigterm", "crash", "stale_recovery", "parent_cancel", "halted"};
  return Pick(kNames, reason);
}

std::string Name(Mode mode) {
  static constexpr std::array<const char*, 4> kNames = {"", "ask", "yolo", "allowlist"};
  return Pick(kNames, mode);
}

std::string Name(SessionKind kind) {
  static constexpr std::array<const char*, 3> kNames = {"", "leased", "open"};
  return Pick(kNames, kind);
}

std::string Name(Method method) {
  static constexpr std::array<const char*, 17> kNames = {"",
                                                         "CreateSession",
                                                         "UpdateSession",
                                                         "ResumeSession",
                                                         "BeginTurn",
                                                         "CommitTurn",
                                                         "AbandonTurn",
                                                         "CloseSession",
                                                         "DeleteSession",
                                                         "ReleaseLease",
                                                         "Write",
                                                         "CancelSession",
                                                         "AppendAudit",
                                                         "PutItems",
                                                         "RestoreSession",
                                                         "PutCheckpoint",
                                                         "DeleteCheckpoint"};
  return Pick(kNames, method);
}

std::string Name(CancelScope scope) {
  static constexpr std::array<const char*, 5> kNames = {"", "session", "turn", "stage", "tool"};
  return Pick(kNames, scope);
}

std::string Name(CheckpointKind kind) {
  static constexpr std::array<const char*, kCheckpointKinds + 1> kNames = {
      "", "manual", "pre_compaction", "before_restore", "interrupted"};
  return Pick(kNames, kind);
}

std::string Name(CheckpointStatus status) {
  static constexpr std::array<const char*, kCheckpointStatuses + 1> kNames = {"", "valid",
                                                                              "rejected"};
  return Pick(kNames, status);
}

std::string Name(CompactionTrigger trigger) {
  static constexpr std::array<const char*, kCompactionTriggers + 1> kNames = {"", "auto", "manual"};
  return Pick(kNames, trigger);
}

std::string Name(CancelReason reason) {
  static constexpr std::array<const char*, 4> kNames = {"", "user", "parent", "cap"};
  return Pick(kNames, reason);
}

}  // namespace holdfast

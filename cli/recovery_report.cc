#include "cli/recovery_report.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <cstdint>

namespace holdfast::cli {
namespace {

std::string Count(uint64_t number, const char* one, const char* many) {
  return absl::StrCat(number, " ", number == 1 ? one : many);
}

std::string Start(const v1::RecoveryReport& report) {
  return absl::StrCat("found at revision ", report.restored_revision(),
                      "; goes on from the snapshot of revision ", report.snapshot_revision());
}

std::string AbandonedTurn(const v1::RecoveryReport& report) {
  return absl::StrCat("turn ", report.abandoned_turn(), " was unfinished and has been abandoned; ",
                      Count(report.entries_after_snapshot(), "journal entry", "journal entries"),
                      " of it can be read and are part of no snapshot");
}

std::string SlotSentence(const v1::SlotReport& slot) {
  const std::string versions =
      absl::StrCat(" (stored ", slot.stored_version(), ", expected ", slot.expected_version(), ")");
  const std::string start = absl::StrCat("slot ", slot.owner(), " ");
  switch (slot.status()) {
    case v1::SlotReport::STATUS_MATCH:
      return start + "is as expected";
    case v1::SlotReport::STATUS_MIGRATE:
      return start + "is to be migrated by its owner" + versions;
    case v1::SlotReport::STATUS_WARN:
      return start + "has another version and is delivered unchanged" + versions;
    case v1::SlotReport::STATUS_REJECT:
      return start + "has another version, so that reading it alone is refused" + versions;
    case v1::SlotReport::STATUS_ABSENT:
      return start + "is not there";
    default:
      return start + "has a state that this version does not know";
  }
}

}  // namespace

std::vector<std::string> InWords(const v1::RecoveryReport& report) {
  std::vector<std::string> words = {Start(report)};
  if (report.abandoned_turn() != 0) {
    words.push_back(AbandonedTurn(report));
  } else {
    words.emplace_back("no turn was running; nothing had to be given up");
  }
  if (report.tail_bytes_truncated() != 0) {
    words.push_back(absl::StrCat(Count(report.tail_bytes_truncated(), "byte", "bytes"),
                                 " of an unfinished write were cut; no reply had acknowledged it"));
  }
  if (report.open_tool_uses_size() != 0) {
    words.push_back(absl::StrCat("tool uses that began and have no outcome: ",
                                 absl::StrJoin(report.open_tool_uses(), ", ")));
  }
  if (report.open_tool_uses_truncated()) {
    words.emplace_back("the turn's journal is too long to say whether older tool uses are open");
  }
  if (!report.previous_holder().empty()) {
    words.push_back("held before by " + report.previous_holder());
  }
  if (!report.last_committed_request_id().empty()) {
    words.push_back("last commit: request " + report.last_committed_request_id());
  }
  for (const v1::SlotReport& slot : report.slots()) words.push_back(SlotSentence(slot));
  if (report.damaged_slots_size() != 0) {
    words.push_back("slots that cannot be read: " + absl::StrJoin(report.damaged_slots(), ", "));
  }
  return words;
}

}  // namespace holdfast::cli

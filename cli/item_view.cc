#include "cli/item_view.h"

#include "cli/chat_message.h"
#include "cli/enum_text.h"
#include "cli/text.h"
#include "cli/times.h"

#include "absl/strings/str_cat.h"

#include <map>
#include <optional>
#include <string>

namespace holdfast::cli {
namespace {

// Of data in a row; as JSON it is whole.
constexpr size_t kDataColumns = 80;
constexpr size_t kFactsColumns = 120;
constexpr size_t kRefColumns = 40;

// The text that says most about the data of an entry: a tool call's name and arguments, a chat
// message's text, else the data itself.
std::string SummaryOf(const std::string& data) {
  if (const std::optional<ChatToolCall> call = ParseToolCall(data)) {
    return absl::StrCat(call->name, " ", call->arguments);
  }
  const std::optional<ChatMessage> message = ParseChatMessage(data);
  if (message && !message->parts.empty()) return message->parts.front().text;
  return IsPlainText(data) ? data : "";
}

std::string DataText(const v1::JournalEntry& entry) {
  if (entry.has_slot()) return absl::StrCat(entry.slot().owner(), " ", entry.slot().version());
  return Cut(Printable(SummaryOf(entry.data())), kDataColumns);
}

}  // namespace

Row JournalHeading() { return {"JOURNAL", "TURN", "ENTRY", "KIND", "REF", "BYTES", "DATA"}; }

Row JournalRow(const v1::JournalEntry& entry) {
  const size_t bytes = entry.has_slot() ? entry.slot().data().size() : entry.data().size();
  return {absl::StrCat(entry.journal_number()),
          absl::StrCat(entry.turn()),
          absl::StrCat(entry.number()),
          EnumText(v1::JournalKind_Name(entry.kind()), "JOURNAL_KIND_"),
          Cut(Printable(entry.ref()), kRefColumns),
          absl::StrCat(bytes),
          DataText(entry)};
}

Row AuditHeading() { return {"SEQ", "TIME", "REVISION", "EPOCH", "CLASS", "CODE", "DATA"}; }

Row AuditRow(const v1::AuditRecord& record) {
  std::string facts;
  const std::map<std::string, std::string> sorted(record.data().begin(), record.data().end());
  for (const auto& [name, value] : sorted) {
    absl::StrAppend(&facts, facts.empty() ? "" : " ", name, "=", value);
  }
  return {absl::StrCat(record.seq()),
          ShortTime(record.create_time()),
          absl::StrCat(record.revision()),
          absl::StrCat(record.epoch()),
          record.audit_class(),
          record.code(),
          Cut(Printable(facts), kFactsColumns)};
}

Row SlotHeading() { return {"OWNER", "VERSION", "DRIFT", "REVISION", "BYTES"}; }

Row SlotRow(const v1::Slot& slot, int64_t size) {
  return {slot.owner(), slot.version(),
          EnumText(v1::DriftPolicy_Name(slot.drift_policy()), "DRIFT_POLICY_"),
          absl::StrCat(slot.revision()), absl::StrCat(size)};
}

}  // namespace holdfast::cli

#include "tests/history/complaint.h"

#include "absl/strings/str_cat.h"

#include <array>
#include <cstddef>

namespace holdfast::history {
namespace {

constexpr std::array<std::string_view, 21> kRules = {
    "lost",     "acted twice", "unrequested", "refused and acted",
    "revision", "order",       "illegal",     "old epoch",
    "grant",    "lease",       "turn",        "count",
    "digest",   "entries",     "report",      "repeat",
    "stale",    "early",       "unwritten",   "refusal",
    "ending"};

}  // namespace

std::string_view Name(Rule rule) { return kRules[static_cast<size_t>(rule)]; }

std::string ToText(const Complaints& complaints, size_t most) {
  std::string text;
  for (size_t i = 0; i < complaints.size() && i < most; ++i) {
    const Complaint& complaint = complaints[i];
    absl::StrAppend(&text, "session ", complaint.session, ": ", std::string(Name(complaint.rule)),
                    ": ", complaint.text, "\n");
  }
  if (complaints.size() > most) {
    absl::StrAppend(&text, "and ", complaints.size() - most, " more\n");
  }
  return text;
}

}  // namespace holdfast::history

#include "server/rpc/call/trace.h"

#include "session/limits.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <set>

namespace holdfast {
namespace {

// 00-<trace id>-<span id>-<flags>; a later version may carry on behind a dash.
constexpr size_t kTraceAt = 3;
constexpr size_t kTraceDigits = 32;
constexpr size_t kSpanAt = 36;
constexpr size_t kSpanDigits = 16;
constexpr size_t kFlagsAt = 53;
constexpr size_t kBytes = 55;

constexpr size_t kStateKeyBytes = 256;
constexpr size_t kStateValueBytes = 256;

bool IsHex(std::string_view text) {
  return std::ranges::all_of(
      text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool IsZero(std::string_view text) { return text.find_first_not_of('0') == std::string_view::npos; }

bool IsLowerOrDigit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

bool IsStateKey(std::string_view key) {
  if (key.empty() || key.size() > kStateKeyBytes || !IsLowerOrDigit(key.front())) return false;
  if (std::ranges::count(key, '@') > 1 || key.back() == '@') return false;
  return std::ranges::all_of(key, [](char c) {
    return IsLowerOrDigit(c) || std::string_view("_-*/@").find(c) != std::string_view::npos;
  });
}

bool IsStateValue(std::string_view value) {
  if (value.empty() || value.size() > kStateValueBytes || value.back() == ' ') return false;
  return std::ranges::all_of(value,
                             [](char c) { return c >= ' ' && c <= '~' && c != ',' && c != '='; });
}

std::string_view WithoutBlanks(std::string_view text) {
  constexpr std::string_view kBlank = " \t";
  const size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) + 1 - first);
}

}  // namespace

std::optional<TraceParent> ParseTraceParent(std::string_view text) {
  if (text.size() < kBytes || (text.size() > kBytes && text[kBytes] != '-')) return std::nullopt;
  const std::string_view version = text.substr(0, 2);
  if (!IsHex(version) || version == "ff" || (version == "00" && text.size() != kBytes)) {
    return std::nullopt;
  }
  if (text[2] != '-' || text[kSpanAt - 1] != '-' || text[kFlagsAt - 1] != '-') return std::nullopt;
  const std::string_view trace = text.substr(kTraceAt, kTraceDigits);
  const std::string_view span = text.substr(kSpanAt, kSpanDigits);
  if (!IsHex(trace) || !IsHex(span) || !IsHex(text.substr(kFlagsAt, 2))) return std::nullopt;
  if (IsZero(trace) || IsZero(span)) return std::nullopt;
  uint8_t flags = 0;
  std::from_chars(text.data() + kFlagsAt, text.data() + kFlagsAt + 2, flags, 16);
  return TraceParent{.trace_id = std::string(trace), .span_id = std::string(span), .flags = flags};
}

std::string ParseTraceState(std::string_view text) {
  if (text.size() > kTraceStateBytes) return "";
  std::string state;
  std::set<std::string_view> keys;
  for (size_t at = 0; at <= text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    const std::string_view member = WithoutBlanks(text.substr(at, comma - at));
    at = comma + 1;
    if (member.empty()) continue;
    const size_t equals = member.find('=');
    if (equals == std::string_view::npos || !IsStateKey(member.substr(0, equals)) ||
        !IsStateValue(member.substr(equals + 1)) || keys.size() == kTraceStateMembers ||
        !keys.insert(member.substr(0, equals)).second) {
      return "";
    }
    if (!state.empty()) state += ',';
    state += member;
  }
  return state;
}

}  // namespace holdfast

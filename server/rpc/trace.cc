#include "server/rpc/trace.h"

#include <algorithm>
#include <cstddef>

namespace holdfast {
namespace {

// 00-<trace id>-<span id>-<flags>; a later version may carry on behind a dash.
constexpr size_t kTraceAt = 3;
constexpr size_t kTraceDigits = 32;
constexpr size_t kSpanAt = 36;
constexpr size_t kSpanDigits = 16;
constexpr size_t kFlagsAt = 53;
constexpr size_t kBytes = 55;

bool IsHex(std::string_view text) {
  return std::ranges::all_of(
      text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool IsZero(std::string_view text) { return text.find_first_not_of('0') == std::string_view::npos; }

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
  return TraceParent{.trace_id = std::string(trace), .span_id = std::string(span)};
}

}  // namespace holdfast

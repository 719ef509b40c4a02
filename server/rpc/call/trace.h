// The caller's place in a trace, as W3C Trace Context states it.
#ifndef HOLDFAST_SERVER_RPC_CALL_TRACE_H_
#define HOLDFAST_SERVER_RPC_CALL_TRACE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast {

struct TraceParent {
  std::string trace_id;  // 32 lower-case hexadecimal digits, not all zero
  std::string span_id;   // 16, likewise
  uint8_t flags = 0;     // bit 0: the caller records its span
};

// The value of the metadata `traceparent`, or nullopt when it is not valid: a bad one is ignored,
// as the standard wants it.
std::optional<TraceParent> ParseTraceParent(std::string_view text);

// The value of the metadata `tracestate`, several of them joined by commas, without white space and
// empty members. Empty when it is not valid, has a key twice, or has more than kTraceStateBytes or
// kTraceStateMembers.
std::string ParseTraceState(std::string_view text);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_CALL_TRACE_H_

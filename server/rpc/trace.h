// The caller's place in a trace, as W3C Trace Context states it.
#ifndef HOLDFAST_SERVER_RPC_TRACE_H_
#define HOLDFAST_SERVER_RPC_TRACE_H_

#include <optional>
#include <string>
#include <string_view>

namespace holdfast {

struct TraceParent {
  std::string trace_id;  // 32 lower-case hexadecimal digits, not all zero
  std::string span_id;   // 16, likewise
};

// The value of the metadata `traceparent`, or nullopt when it is not valid: a bad one is ignored,
// as the standard wants it.
std::optional<TraceParent> ParseTraceParent(std::string_view text);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_TRACE_H_

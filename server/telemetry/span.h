// A finished operation of a trace, as it is exported: the data model of OpenTelemetry, with ids as
// the header traceparent writes them. It carries no payload and no secret.
#ifndef HOLDFAST_SERVER_TELEMETRY_SPAN_H_
#define HOLDFAST_SERVER_TELEMETRY_SPAN_H_

#include "absl/time/time.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace holdfast {

inline constexpr size_t kTraceIdBytes = 16;
inline constexpr size_t kSpanIdBytes = 8;

// The bit of the trace flags that says that the caller records its spans.
inline constexpr uint8_t kSampledFlag = 0x01;

// The numbers are those of the protocol.
enum class SpanKind : uint8_t { kInternal = 1, kServer = 2, kClient = 3 };

struct SpanAttribute {
  std::string_view key;  // a literal
  std::variant<std::string, int64_t> value;
};

struct SpanEvent {
  std::string_view name;  // a literal
  absl::Time time;
  std::vector<SpanAttribute> attributes;
};

struct SpanLink {
  std::string trace_id;  // 32 lower-case hexadecimal digits
  std::string span_id;   // 16, likewise
  std::string relation;  // the attribute holdfast.link; empty: none
};

struct SpanStatus {
  bool failed = false;
  std::string message;  // only of one that failed
};

struct Span {
  std::string trace_id;        // 32 lower-case hexadecimal digits
  std::string span_id;         // 16, likewise
  std::string parent_span_id;  // 16, likewise; empty: the first of its trace
  bool remote_parent = false;  // the parent is a span of another process
  uint8_t flags = kSampledFlag;
  std::string trace_state;  // the value of the header tracestate
  std::string name;
  SpanKind kind = SpanKind::kInternal;
  absl::Time start;
  absl::Time end;
  std::vector<SpanAttribute> attributes;
  std::vector<SpanEvent> events;
  std::vector<SpanLink> links;
  SpanStatus status;
};

// What exports: attributes of the process, by name.
using TraceResource = std::vector<std::pair<std::string, std::string>>;

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TELEMETRY_SPAN_H_

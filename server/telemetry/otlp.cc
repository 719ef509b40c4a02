#include "server/telemetry/otlp.h"

#include "holdfast/version.h"

#include "absl/strings/escaping.h"

#include <string>
#include <variant>

namespace holdfast {
namespace {

namespace common = opentelemetry::proto::common::v1;
namespace trace = opentelemetry::proto::trace::v1;

// The conventions that names and values of attributes follow.
constexpr char kSchema[] = "https://opentelemetry.io/schemas/1.37.0";
constexpr char kScope[] = "holdfast";
constexpr uint32_t kHasRemoteFlag = 0x100;
constexpr uint32_t kRemoteFlag = 0x200;

uint64_t Nanoseconds(absl::Time time) { return static_cast<uint64_t>(absl::ToUnixNanos(time)); }

template <typename Attributes>
void Write(const std::vector<SpanAttribute>& attributes, Attributes& out) {
  for (const SpanAttribute& attribute : attributes) {
    common::KeyValue& added = *out.Add();
    added.set_key(std::string(attribute.key));
    if (const auto* text = std::get_if<std::string>(&attribute.value)) {
      added.mutable_value()->set_string_value(*text);
    } else {
      added.mutable_value()->set_int_value(std::get<int64_t>(attribute.value));
    }
  }
}

void Write(const Span& span, trace::Span& out) {
  out.set_trace_id(absl::HexStringToBytes(span.trace_id));
  out.set_span_id(absl::HexStringToBytes(span.span_id));
  out.set_parent_span_id(absl::HexStringToBytes(span.parent_span_id));
  out.set_trace_state(span.trace_state);
  out.set_flags(span.flags | kHasRemoteFlag | (span.remote_parent ? kRemoteFlag : 0));
  out.set_name(span.name);
  out.set_kind(static_cast<trace::Span::SpanKind>(span.kind));
  out.set_start_time_unix_nano(Nanoseconds(span.start));
  out.set_end_time_unix_nano(Nanoseconds(span.end));
  Write(span.attributes, *out.mutable_attributes());
  for (const SpanEvent& event : span.events) {
    trace::Span::Event& added = *out.add_events();
    added.set_name(std::string(event.name));
    added.set_time_unix_nano(Nanoseconds(event.time));
    Write(event.attributes, *added.mutable_attributes());
  }
  for (const SpanLink& link : span.links) {
    trace::Span::Link& added = *out.add_links();
    added.set_trace_id(absl::HexStringToBytes(link.trace_id));
    added.set_span_id(absl::HexStringToBytes(link.span_id));
    if (link.relation.empty()) continue;
    Write({{"holdfast.link", link.relation}}, *added.mutable_attributes());
  }
  if (!span.status.failed) return;
  out.mutable_status()->set_code(trace::Status::STATUS_CODE_ERROR);
  out.mutable_status()->set_message(span.status.message);
}

}  // namespace

opentelemetry::proto::collector::trace::v1::ExportTraceServiceRequest ToRequest(
    const std::vector<Span>& spans, const TraceResource& resource) {
  opentelemetry::proto::collector::trace::v1::ExportTraceServiceRequest request;
  trace::ResourceSpans& of_process = *request.add_resource_spans();
  of_process.set_schema_url(kSchema);
  for (const auto& [key, value] : resource) {
    common::KeyValue& added = *of_process.mutable_resource()->add_attributes();
    added.set_key(key);
    added.mutable_value()->set_string_value(value);
  }
  trace::ScopeSpans& of_scope = *of_process.add_scope_spans();
  of_scope.set_schema_url(kSchema);
  of_scope.mutable_scope()->set_name(kScope);
  of_scope.mutable_scope()->set_version(kVersion);
  for (const Span& span : spans) Write(span, *of_scope.add_spans());
  return request;
}

}  // namespace holdfast

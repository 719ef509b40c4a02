// The span of a call that is recorded, by the conventions of OpenTelemetry for gRPC servers.
#ifndef HOLDFAST_SERVER_RPC_CALL_CALL_SPAN_H_
#define HOLDFAST_SERVER_RPC_CALL_CALL_SPAN_H_

#include "server/rpc/call/status.h"
#include "server/rpc/call/trace.h"
#include "server/telemetry/span.h"
#include "server/telemetry/tracer.h"

#include "absl/status/status.h"
#include "absl/time/time.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast {

// A call's place in its trace.
struct CallTrace {
  std::string_view method;            // a literal, for example "CommitTurn"
  std::string trace_id;               // 32 lower-case hexadecimal digits
  std::optional<TraceParent> parent;  // the caller's span, where the call names one
  std::string state;                  // of the caller; empty: none
};

// Used by one thread at a time.
class CallSpan final {
 public:
  // The span of a call, or null when it is not recorded. `tracer` must outlive it.
  static std::unique_ptr<CallSpan> Begin(Tracer& tracer, const CallTrace& call);

  CallSpan(Tracer& tracer, const CallTrace& call);
  // Hands the span over. `session` is the one that the call was about, and left out unless it is a
  // session's id.
  void End(const absl::Status& status, const std::string& session) &&;

  [[nodiscard]] const Span& span() const { return span_; }

 private:
  Tracer& tracer_;
  absl::Duration begun_;  // since boot
  Span span_;
};

// "holdfast.v1.SessionService" for "CommitTurn"; empty for a method of none of our services.
std::string_view ServiceOf(std::string_view method);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_CALL_CALL_SPAN_H_

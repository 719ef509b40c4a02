#include "server/rpc/call/call_span.h"

#include "holdfast/v1/admin_service.pb.h"
#include "holdfast/v1/session_service.pb.h"
#include "holdfast/v1/store_service.pb.h"
#include "server/telemetry/span_failure.h"
#include "session/ids.h"

#include <google/protobuf/descriptor.h>

#include <map>
#include <utility>

namespace holdfast {
namespace {

using google::protobuf::DescriptorPool;
using google::protobuf::ServiceDescriptor;

// A method's name is that of one service alone.
std::map<std::string, std::string, std::less<>> ServicesByMethod() {
  std::map<std::string, std::string, std::less<>> services;
  for (const char* name : {"holdfast.v1.SessionService", "holdfast.v1.StoreService",
                           "holdfast.v1.ItemService", "holdfast.v1.AdminService"}) {
    const ServiceDescriptor* service = DescriptorPool::generated_pool()->FindServiceByName(name);
    for (int i = 0; i < service->method_count(); ++i) services[service->method(i)->name()] = name;
  }
  return services;
}

}  // namespace

std::string_view ServiceOf(std::string_view method) {
  static const auto kServices = ServicesByMethod();
  const auto found = kServices.find(method);
  return found == kServices.end() ? std::string_view() : std::string_view(found->second);
}

std::unique_ptr<CallSpan> CallSpan::Begin(Tracer& tracer, const CallTrace& call) {
  const auto flags = call.parent ? std::optional(call.parent->flags) : std::nullopt;
  if (!tracer.Sample(call.trace_id, flags)) return nullptr;
  return std::make_unique<CallSpan>(tracer, call);
}

CallSpan::CallSpan(Tracer& tracer, const CallTrace& call)
    : tracer_(tracer), begun_(tracer.clock().SinceBoot()) {
  const std::string service(ServiceOf(call.method));
  const std::string method(call.method);
  span_ = {.trace_id = call.trace_id,
           .span_id = tracer.NewSpanId(),
           .remote_parent = call.parent.has_value(),
           .trace_state = call.state,
           .name = service + "/" + method,
           .kind = SpanKind::kServer,
           .start = tracer.clock().Wall()};
  if (call.parent) {
    span_.parent_span_id = call.parent->span_id;
    span_.flags = call.parent->flags | kSampledFlag;
  }
  span_.attributes = {{"rpc.system", "grpc"},
                      {"rpc.service", service},
                      {"rpc.method", method},
                      {"server.address", tracer.served_at().address}};
  if (tracer.served_at().port) {
    span_.attributes.push_back({"server.port", int64_t{*tracer.served_at().port}});
  }
}

void CallSpan::End(const absl::Status& status, const std::string& session) && {
  span_.end = span_.start + (tracer_.clock().SinceBoot() - begun_);
  if (SessionId::Parse(session)) {
    span_.attributes.push_back({"session.id", session});
    span_.attributes.push_back({"gen_ai.conversation.id", session});
  }
  const auto code = status.ok() ? absl::StatusCode::kOk : AddFailure(status, span_);
  span_.attributes.push_back({"rpc.grpc.status_code", static_cast<int64_t>(code)});
  tracer_.Add(std::move(span_));
}

}  // namespace holdfast

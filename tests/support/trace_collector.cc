#include "tests/support/trace_collector.h"

#include "tests/support/wait.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server_builder.h"
#include "grpcpp/server_context.h"

#include <google/rpc/error_details.pb.h>
#include <google/rpc/status.pb.h>
#include <utility>

namespace holdfast::testing {
namespace {

namespace trace = opentelemetry::proto::collector::trace::v1;

template <typename Attributes>
std::map<std::string, std::string> Collected(const Attributes& attributes) {
  std::map<std::string, std::string> values;
  for (const auto& attribute : attributes) {
    values[attribute.key()] = attribute.value().has_int_value()
                                  ? absl::StrCat(attribute.value().int_value())
                                  : attribute.value().string_value();
  }
  return values;
}

}  // namespace

std::map<std::string, std::string> AttributesOf(const ExportedSpan& span) {
  return Collected(span.attributes());
}

std::string Hex(const std::string& bytes) { return absl::BytesToHexString(bytes); }

grpc::Status RetryAfter(grpc::StatusCode code, absl::Duration delay) {
  google::rpc::RetryInfo info;
  info.mutable_retry_delay()->set_seconds(absl::ToInt64Seconds(delay));
  info.mutable_retry_delay()->set_nanos(
      static_cast<int32_t>((delay - absl::Floor(delay, absl::Seconds(1))) / absl::Nanoseconds(1)));
  google::rpc::Status details;
  details.set_code(code);
  details.add_details()->PackFrom(info);
  return {code, "later", details.SerializeAsString()};
}

class TraceCollector::Service final : public trace::TraceService::Service {
 public:
  explicit Service(TraceCollector& owner) : owner_(owner) {}

  grpc::Status Export(grpc::ServerContext* context, const trace::ExportTraceServiceRequest* request,
                      trace::ExportTraceServiceResponse* response) override {
    {
      const absl::MutexLock lock(&owner_.mutex_);
      ++owner_.exports_;
    }
    const auto released = [&] {
      const absl::MutexLock lock(&owner_.mutex_);
      return !owner_.held_ || context->IsCancelled();
    };
    if (!WaitUntil(released) || context->IsCancelled()) return grpc::Status::CANCELLED;
    const absl::MutexLock lock(&owner_.mutex_);
    Planned planned;
    if (!owner_.planned_.empty()) {
      planned = std::move(owner_.planned_.front());
      owner_.planned_.pop_front();
    }
    if (!planned.status.ok()) return planned.status;
    int64_t left_out = 0;
    for (const auto& of_process : request->resource_spans()) {
      owner_.resource_ = Collected(of_process.resource().attributes());
      for (const auto& of_scope : of_process.scope_spans()) {
        for (const ExportedSpan& span : of_scope.spans()) {
          if (left_out++ >= planned.rejected) owner_.spans_.push_back(span);
        }
      }
    }
    if (planned.rejected > 0) {
      response->mutable_partial_success()->set_rejected_spans(planned.rejected);
      response->mutable_partial_success()->set_error_message("too many");
    }
    return grpc::Status::OK;
  }

 private:
  TraceCollector& owner_;
};

TraceCollector::TraceCollector() : service_(std::make_unique<Service>(*this)) {
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(service_.get());
  server_ = builder.BuildAndStart();
  address_ = absl::StrCat("127.0.0.1:", port);
}

TraceCollector::~TraceCollector() {
  Release();
  server_->Shutdown();
  server_->Wait();
}

void TraceCollector::AnswerNext(const grpc::Status& status) {
  const absl::MutexLock lock(&mutex_);
  planned_.push_back({.status = status});
}

void TraceCollector::RejectNext(int64_t rejected) {
  const absl::MutexLock lock(&mutex_);
  planned_.push_back({.rejected = rejected});
}

void TraceCollector::Hold() {
  const absl::MutexLock lock(&mutex_);
  held_ = true;
}

void TraceCollector::Release() {
  const absl::MutexLock lock(&mutex_);
  held_ = false;
}

std::vector<ExportedSpan> TraceCollector::Spans() {
  const absl::MutexLock lock(&mutex_);
  return spans_;
}

std::map<std::string, std::string> TraceCollector::Resource() {
  const absl::MutexLock lock(&mutex_);
  return resource_;
}

size_t TraceCollector::Exports() {
  const absl::MutexLock lock(&mutex_);
  return exports_;
}

bool TraceCollector::AwaitSpans(size_t count) {
  return WaitUntil([&] { return Spans().size() >= count; });
}

}  // namespace holdfast::testing

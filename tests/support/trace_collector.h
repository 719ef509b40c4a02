// A receiver of spans for tests: the OpenTelemetry protocol over gRPC, on a port of its own, which
// answers as a test says.
#ifndef HOLDFAST_TESTS_SUPPORT_TRACE_COLLECTOR_H_
#define HOLDFAST_TESTS_SUPPORT_TRACE_COLLECTOR_H_

#include "opentelemetry/proto/collector/trace/v1/trace_service.grpc.pb.h"

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "grpcpp/server.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::testing {

using ExportedSpan = opentelemetry::proto::trace::v1::Span;

// The values of attributes by their names, numbers as texts.
std::map<std::string, std::string> AttributesOf(const ExportedSpan& span);
// Bytes as hexadecimal digits.
std::string Hex(const std::string& bytes);
// UNAVAILABLE or another code with RetryInfo.
grpc::Status RetryAfter(grpc::StatusCode code, absl::Duration delay);

// Any thread may call.
class TraceCollector final {
 public:
  TraceCollector();
  TraceCollector(const TraceCollector&) = delete;
  TraceCollector& operator=(const TraceCollector&) = delete;
  ~TraceCollector();

  [[nodiscard]] const std::string& address() const { return address_; }
  // Answers the next export with `status`, and the ones after it with what is added behind it; what
  // comes after the last one is taken.
  void AnswerNext(const grpc::Status& status);
  // Takes the next export but for the first `rejected` spans of it.
  void RejectNext(int64_t rejected);
  // Exports wait from now on, until Release or until their callers give up.
  void Hold();
  void Release();

  // What was taken, in the order of its arrival.
  std::vector<ExportedSpan> Spans();
  // The attributes of the process that exported last.
  std::map<std::string, std::string> Resource();
  // Exports that arrived, whatever they were answered.
  size_t Exports();
  // Waits until so many spans were taken. False when that takes longer than a test waits.
  bool AwaitSpans(size_t count);

 private:
  class Service;
  struct Planned {
    grpc::Status status;
    int64_t rejected = 0;
  };

  absl::Mutex mutex_;
  std::deque<Planned> planned_ ABSL_GUARDED_BY(mutex_);
  bool held_ ABSL_GUARDED_BY(mutex_) = false;
  size_t exports_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<ExportedSpan> spans_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::string> resource_ ABSL_GUARDED_BY(mutex_);
  std::string address_;
  std::unique_ptr<Service> service_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace holdfast::testing

#endif  // HOLDFAST_TESTS_SUPPORT_TRACE_COLLECTOR_H_

// A client that sends bytes to any method and says how it was answered.
#ifndef HOLDFAST_TESTS_SUPPORT_RAW_CLIENT_H_
#define HOLDFAST_TESTS_SUPPORT_RAW_CLIENT_H_

#include "absl/time/time.h"
#include "google/protobuf/descriptor.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/grpcpp.h"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::testing {

// The answer of a call: its first message, or the status that ended it.
struct RawAnswer {
  bool message = false;  // a reply came; `status` is then OK
  std::string reply;
  grpc::Status status;
  absl::Duration took;
};

// What differs from a plain call.
struct RawCall {
  std::string metadata;     // the value of a header that no server knows
  size_t replies_past = 0;  // messages of a stream that are no answer yet
};

// One connection. For one thread.
class RawClient final {
 public:
  explicit RawClient(const std::string& address);

  // Sends `requests` as those of one call of `method`, and waits for the answer. A stream that
  // goes on is cancelled then.
  RawAnswer Send(const google::protobuf::MethodDescriptor& method,
                 const std::vector<std::string>& requests, const RawCall& how = {});

 private:
  std::unique_ptr<grpc::GenericStub> stub_;
};

}  // namespace holdfast::testing

#endif  // HOLDFAST_TESTS_SUPPORT_RAW_CLIENT_H_

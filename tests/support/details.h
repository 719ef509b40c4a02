// A refusal as a client reads it, as one line of text.
#ifndef HOLDFAST_TESTS_SUPPORT_DETAILS_H_
#define HOLDFAST_TESTS_SUPPORT_DETAILS_H_

#include <grpcpp/grpcpp.h>

#include <google/rpc/error_details.pb.h>
#include <google/rpc/status.pb.h>
#include <string>

namespace holdfast::test {

// The status in the trailer; empty when there is none.
google::rpc::Status DetailsOf(const grpc::Status& status);

// ErrorInfo.reason; empty when there is none.
std::string ReasonOf(const grpc::Status& status);
google::rpc::ErrorInfo ErrorInfoOf(const google::rpc::Status& details);

// Code, reason, message and every detail in order. What differs from run to run (ids, times left)
// is masked.
std::string Describe(const grpc::Status& status);

}  // namespace holdfast::test

#endif  // HOLDFAST_TESTS_SUPPORT_DETAILS_H_

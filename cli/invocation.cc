#include "cli/invocation.h"

#include "cli/errors.h"
#include "cli/reasons.h"

namespace holdfast::cli {

ExitCode Refuse(const Invocation& invocation, const grpc::Status& status) {
  Failure failure = FailureOf(status);
  if (failure.reason == kUnreachableReason || failure.reason == kNotHoldfastReason) {
    failure.metadata["address"] = invocation.address;
  }
  if (invocation.json()) {
    invocation.out << ToJson(failure).dump(2) << '\n';
  } else {
    invocation.err << "holdfast: " << Line(failure) << '\n';
  }
  return ExitCodeOf(failure);
}

}  // namespace holdfast::cli

#include "cli/invocation.h"

#include "cli/json.h"
#include "cli/reasons.h"

namespace holdfast::cli {

void WriteJson(const Invocation& invocation, const nlohmann::ordered_json& object) {
  const bool pretty = invocation.output == Output::kJson;
  invocation.out << JsonText(object, pretty ? JsonLayout::kPretty : JsonLayout::kLine) << '\n';
}

void WriteNote(const Invocation& invocation, std::string_view note) {
  if (invocation.quiet || invocation.output == Output::kJson) return;
  invocation.out << std::flush;
  invocation.err << note << '\n' << std::flush;
}

Failure FailureOf(const Invocation& invocation, const grpc::Status& status) {
  Failure failure = FailureOf(status);
  if (failure.reason == kUnreachableReason || failure.reason == kNotHoldfastReason) {
    failure.metadata["address"] = invocation.address;
  }
  return failure;
}

ExitCode Refuse(const Invocation& invocation, const Failure& failure) {
  if (invocation.json()) {
    WriteJson(invocation, ToJson(failure));
  } else {
    invocation.err << "holdfast: " << Line(failure) << '\n';
  }
  return ExitCodeOf(failure);
}

ExitCode Refuse(const Invocation& invocation, const grpc::Status& status) {
  return Refuse(invocation, FailureOf(invocation, status));
}

}  // namespace holdfast::cli

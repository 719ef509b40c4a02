// Where an exception stops: the project reports errors by value, so one that arrives is a defect of
// this program or the lack of a resource, and ends one piece of work instead of the process.
#ifndef HOLDFAST_SESSION_EXCEPTIONS_H_
#define HOLDFAST_SESSION_EXCEPTIONS_H_

#include "absl/functional/function_ref.h"

#include <optional>
#include <string>

namespace holdfast {

// Runs `work`. The text of the exception that it throws, for the log alone; nullopt when it
// returns.
std::optional<std::string> CatchException(absl::FunctionRef<void()> work);

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_EXCEPTIONS_H_

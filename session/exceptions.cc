#include "session/exceptions.h"

#include <exception>

namespace holdfast {

std::optional<std::string> CatchException(absl::FunctionRef<void()> work) {
  try {
    work();
    return std::nullopt;
  } catch (const std::exception& exception) {
    return exception.what();
  } catch (...) {
    return "an exception of an unknown type";
  }
}

}  // namespace holdfast

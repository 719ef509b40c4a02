#include "platform/exceptions.h"

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

std::exception_ptr TakeException(absl::FunctionRef<void()> work) {
  try {
    work();
    return nullptr;
  } catch (...) {
    return std::current_exception();
  }
}

bool LoopGuard::Run(absl::FunctionRef<void()> item) {
  const std::optional<std::string> what = CatchException(item);
  if (!what) return true;
  {
    const absl::MutexLock lock(&mutex_);
    ++exceptions_;
    if (exceptions_ > 1 && last_ == *what) return false;
    last_ = *what;
  }
  if (report_) report_("an exception ended one item of the " + loop_ + ": " + *what);
  return false;
}

uint64_t LoopGuard::Exceptions() {
  const absl::MutexLock lock(&mutex_);
  return exceptions_;
}

}  // namespace holdfast

// Where an exception stops: the project reports errors by value, so one that arrives is a defect of
// this program or the lack of a resource, and ends one piece of work instead of the process.
#ifndef HOLDFAST_PLATFORM_EXCEPTIONS_H_
#define HOLDFAST_PLATFORM_EXCEPTIONS_H_

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/synchronization/mutex.h"

#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <utility>

namespace holdfast {

// Runs `work`. The text of the exception that it throws, for the log alone; nullopt when it
// returns.
std::optional<std::string> CatchException(absl::FunctionRef<void()> work);

// The same, to be thrown again on another thread; null when `work` returns.
std::exception_ptr TakeException(absl::FunctionRef<void()> work);

// Keeps a background loop alive: an exception ends one item of it. Any thread may call.
//
//   while (const auto item = Next()) guard_.Run([&] { Handle(*item); });
class LoopGuard {
 public:
  using Report = std::function<void(const std::string& what)>;

  // `loop` names the loop in the report, which may be unset.
  explicit LoopGuard(std::string loop, Report report = nullptr)
      : loop_(std::move(loop)), report_(std::move(report)) {}

  // Runs `item`. False after an exception: it is counted, and reported unless the last one reported
  // had the same text.
  bool Run(absl::FunctionRef<void()> item);

  // Exceptions so far; each is a defect.
  [[nodiscard]] uint64_t Exceptions();

 private:
  const std::string loop_;
  const Report report_;
  absl::Mutex mutex_;
  uint64_t exceptions_ ABSL_GUARDED_BY(mutex_) = 0;
  std::string last_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast

#endif  // HOLDFAST_PLATFORM_EXCEPTIONS_H_
